#include "app/spawner/spawner.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "app/spawner/protocol.h"
#include "app/spawner/request_writer.h"
#include "app/spawner/server.h"

namespace freshet {
namespace {

using spawner::Answer;

constexpr const char* kLost = "the spawner process has ended: no program can be run";

// Loop thread only; shared with what is still in the mailbox when the spawner goes.
struct Waiting {
  std::map<uint64_t, Promise<Answer>> runs;  // Who waits for which answer.
  bool lost = false;                         // Nobody will answer any more.
};

void resolve(Waiting& waiting, const Answer& answer) {
  const auto it = waiting.runs.find(answer.id);
  if (it == waiting.runs.end()) return;
  const Promise<Answer> promise = it->second;
  waiting.runs.erase(it);
  promise.set(answer);
}

class SocketSpawner final : public Spawner {
 public:
  SocketSpawner(int socket, Scheduler& scheduler, Mailbox& mailbox, SpawnerOptions options)
      : socket_(socket),
        scheduler_(scheduler),
        mailbox_(mailbox),
        on_lost_(std::move(options.on_lost)),
        writer_(socket, options.max_waiting_bytes),
        reader_([this] { read_answers(); }) {}

  ~SocketSpawner() override {
    stopping_ = true;
    shutdown(socket_, SHUT_RDWR);  // Wakes reader and writer; also tells the spawner to end everything.
    reader_.join();
  }

  Async<Result<ProcessResult>> run(ProcessSpec spec) override {
    if (spec.argv.empty()) return Result<ProcessResult>(invalid("a program to run needs a name"));
    return start(std::move(spec));
  }

 private:
  // While the run is awaited its answer is looked up here; leaving early kills the run.
  struct Running {
    SocketSpawner& owner;
    uint64_t id;
    Running(SocketSpawner& o, uint64_t i) : owner(o), id(i) {}
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
      if (owner.waiting_->runs.erase(id) > 0) owner.writer_.push(spawner::KillRequest{id});
    }
  };

  Async<Result<ProcessResult>> start(ProcessSpec spec) {
    const uint64_t id = ++last_id_;
    if (waiting_->lost) co_return fail(ErrorCode::kUnavailable, kLost);
    if (!writer_.push(spawner::StartRequest{id, std::move(spec)})) {
      co_return fail(ErrorCode::kUnavailable, "too many programs wait to be started");
    }
    Promise<Answer> promise(scheduler_);
    waiting_->runs.emplace(id, promise);
    Running running(*this, id);
    Answer answer = co_await promise.future();
    if (!answer.start_error.empty()) {
      co_return fail(answer.try_again ? ErrorCode::kUnavailable : ErrorCode::kIo, answer.start_error);
    }
    co_return std::move(answer.result);
  }

  // Reader thread.
  void read_answers() {
    std::string received;
    char buffer[65536];
    for (;;) {
      const ssize_t n = recv(socket_, buffer, sizeof buffer, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      received.append(buffer, static_cast<size_t>(n));
      while (auto frame = spawner::take_frame(received)) {
        auto answer = spawner::decode_answer(*frame);
        if (!answer) continue;
        hand_over([waiting = std::weak_ptr(waiting_), answer = std::move(*answer)] {
          if (const auto alive = waiting.lock()) resolve(*alive, answer);
        });
      }
    }
    // Nobody answers any more: who still waits gets an error.
    hand_over([waiting = std::weak_ptr(waiting_), on_lost = on_lost_] {
      const auto alive = waiting.lock();
      if (!alive) return;
      alive->lost = true;
      if (on_lost) on_lost();
      while (!alive->runs.empty()) resolve(*alive, Answer{alive->runs.begin()->first, kLost, true, {}});
    });
  }

  // An answer must not be lost while the mailbox is full; it is being drained.
  template <class Callable>
  void hand_over(const Callable& work) {
    while (!stopping_ && !mailbox_.deliver(Work(work))) std::this_thread::yield();
  }

  const int socket_;
  Scheduler& scheduler_;
  Mailbox& mailbox_;
  const std::function<void()> on_lost_;
  std::atomic<bool> stopping_{false};
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
  uint64_t last_id_ = 0;  // Loop thread only.
  spawner::RequestWriter writer_;
  std::thread reader_;  // Last: it uses what stands above.
};

}  // namespace

Result<SpawnerProcess> SpawnerProcess::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(ErrorCode::kIo, std::string("socketpair: ") + std::strerror(errno));
  }
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    return fail(ErrorCode::kIo, std::string("fork: ") + std::strerror(errno));
  }
  if (pid == 0) {
    // Nothing of the daemon's is needed here, least of all its end of the socket.
    dup2(ends[1], 3);
    syscall(SYS_close_range, 4U, ~0U, 0U);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    _exit(spawner::serve(3));
  }
  close(ends[1]);
  return SpawnerProcess(ends[0], pid);
}

SpawnerProcess::SpawnerProcess(SpawnerProcess&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), pid_(std::exchange(other.pid_, 0)) {}

SpawnerProcess::~SpawnerProcess() {
  if (socket_ >= 0) close(socket_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

std::unique_ptr<Spawner> make_spawner(SpawnerProcess& process, Scheduler& scheduler, Mailbox& mailbox,
                                      SpawnerOptions options) {
  return std::make_unique<SocketSpawner>(process.socket(), scheduler, mailbox, std::move(options));
}

}  // namespace freshet
