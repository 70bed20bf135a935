#include "app/spawner/spawner.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
#include "base/mutex.h"

namespace freshet {
namespace {

using spawner::Answer;
using spawner::Reply;

constexpr milliseconds kAgain{10};
constexpr const char* kTooMany = "too many programs wait to be started";
constexpr const char* kLost = "the spawner process has ended: no program can be run";

// Loop thread only; shared with what is still in the mailbox when the spawner goes.
struct Waiting {
  std::map<uint64_t, Promise<Answer>> runs;      // The waiters by the id of their answer.
  std::map<uint64_t, ProgramWatcher*> programs;  // Those that stay, until they have ended.
  bool lost = false;                             // Nobody will answer any more.
};

Result<ProcessResult> result_of(const Answer& answer) {
  if (answer.start_error.empty()) return answer.result;
  return fail(answer.try_again ? ErrorCode::kUnavailable : ErrorCode::kIo, answer.start_error);
}

// A watcher may end its own program, or another one, while it is called.
void take(Waiting& waiting, const Answer& answer) {
  if (const auto run = waiting.runs.find(answer.id); run != waiting.runs.end()) {
    const Promise<Answer> promise = run->second;
    waiting.runs.erase(run);
    promise.set(answer);
  } else if (const auto program = waiting.programs.find(answer.id); program != waiting.programs.end()) {
    ProgramWatcher* watcher = program->second;
    waiting.programs.erase(program);
    watcher->on_end(result_of(answer));
  }
}

void take(Waiting& waiting, Reply& reply) {
  if (const auto* answer = std::get_if<Answer>(&reply)) return take(waiting, *answer);
  auto* output = std::get_if<spawner::Output>(&reply);
  const auto program = waiting.programs.find(output ? output->id : std::get<spawner::Flushed>(reply).id);
  if (program == waiting.programs.end()) return;
  if (output == nullptr) return program->second->on_flushed();
  program->second->on_output(output->stream, std::move(output->bytes), output->dropped);
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
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    stopped_.notify_all();
    shutdown(socket_, SHUT_RDWR);  // Wakes reader and writer; also tells the spawner to end everything.
    reader_.join();
  }

  Async<Result<ProcessResult>> run(ProcessSpec spec) override {
    if (spec.argv.empty()) return Result<ProcessResult>(invalid("a program to run needs a name"));
    return run_to_end(std::move(spec));
  }

  std::unique_ptr<Program> start(ProcessSpec spec, ProgramWatcher& watcher) override {
    const uint64_t id = ++last_id_;
    waiting_->programs.emplace(id, &watcher);
    Answer refused{id, "", true, {}};
    if (spec.argv.empty()) {
      refused.start_error = "a program to run needs a name";
    } else if (waiting_->lost) {
      refused.start_error = kLost;
    } else if (!writer_.push(spawner::StartRequest{id, std::move(spec), true})) {
      refused.start_error = kTooMany;
    }
    if (!refused.start_error.empty()) {
      scheduler_.post([waiting = std::weak_ptr(waiting_), refused = std::move(refused)] {
        if (const auto alive = waiting.lock()) take(*alive, refused);
      });
    }
    return std::make_unique<StayingProgram>(*this, id);
  }

 private:
  struct StayingProgram final : Program {
    SocketSpawner& owner;
    const uint64_t id;
    StayingProgram(SocketSpawner& o, uint64_t i) : owner(o), id(i) {}
    ~StayingProgram() override {
      if (owner.waiting_->programs.erase(id) > 0) owner.writer_.push(spawner::KillRequest{id});
    }
    // One that has ended says so instead.
    void flush() override { owner.writer_.push(spawner::FlushRequest{id}); }
  };

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

  Async<Result<ProcessResult>> run_to_end(ProcessSpec spec) {
    const uint64_t id = ++last_id_;
    if (waiting_->lost) co_return fail(ErrorCode::kUnavailable, kLost);
    if (!writer_.push(spawner::StartRequest{id, std::move(spec), false})) {
      co_return fail(ErrorCode::kUnavailable, kTooMany);
    }
    Promise<Answer> promise(scheduler_);
    waiting_->runs.emplace(id, promise);
    Running running(*this, id);
    Answer answer = co_await promise.future();
    co_return result_of(answer);
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
        auto reply = spawner::decode_reply(*frame);
        if (!reply) continue;
        hand_over([waiting = std::weak_ptr(waiting_), reply = std::move(*reply)]() mutable {
          if (const auto alive = waiting.lock()) take(*alive, reply);
        });
      }
    }
    // Nobody answers any more: who still waits gets an error.
    hand_over([waiting = std::weak_ptr(waiting_), on_lost = on_lost_] {
      const auto alive = waiting.lock();
      if (!alive) return;
      alive->lost = true;
      if (on_lost) on_lost();
      while (!alive->runs.empty()) take(*alive, Answer{alive->runs.begin()->first, kLost, true, {}});
      while (!alive->programs.empty()) take(*alive, Answer{alive->programs.begin()->first, kLost, true, {}});
    });
  }

  // An answer must not be lost while the mailbox is full. The mailbox is being drained, and nothing else is to be done.
  template <class Callable>
  void hand_over(const Callable& work) {
    MutexLock lock(mutex_);
    while (!stopping_ && !mailbox_.deliver(Work(work))) {
      const auto again = Condition::after(kAgain);
      while (!stopping_ && stopped_.wait_until(lock, again)) {
      }
    }
  }

  const int socket_;
  Scheduler& scheduler_;
  Mailbox& mailbox_;
  const std::function<void()> on_lost_;
  Mutex mutex_;
  Condition stopped_;
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
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
