#include "app/spawner/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/spawner/child.h"
#include "app/spawner/descendants.h"
#include "app/spawner/keeper.h"
#include "app/spawner/protocol.h"

namespace freshet::spawner {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A keeper gives up on what it cannot kill long before.
constexpr auto kKeeperPatience = std::chrono::seconds(10);
constexpr int kStrayRounds = 20;
constexpr auto kStrayInterval = std::chrono::milliseconds(50);
constexpr auto kMemoryInterval = std::chrono::milliseconds(100);

struct Run {
  Child child;
  SteadyClock::time_point deadline;
  bool is_ending = false;  // The keeper is to end it; at the deadline the keeper itself is ended.
};

class Server {
 public:
  explicit Server(int socket) : socket_(socket) {}

  // Until the daemon's end closes.
  void run() {
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigset_t blocked = child_ended;
    sigaddset(&blocked, kEndSignal);  // For the keepers, from their first moment.
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
    signals_ = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
    while (open_) {
      wait();
      reap();
      end_overdue();
      end_too_large();
      if (stray_rounds_ > 0) end_strays();
    }
  }

 private:
  void wait() {
    std::vector<pollfd> fds{{socket_, POLLIN, 0}, {signals_, POLLIN, 0}};
    std::vector<Run*> ready;  // The run that each further pipe belongs to.
    const auto watch = [&](Run& run, int fd, short events) {
      if (fd < 0) return;
      fds.push_back({fd, events, 0});
      ready.push_back(&run);
    };
    auto next = stray_rounds_ > 0 ? SteadyClock::now() + kStrayInterval : SteadyClock::time_point::max();
    for (auto& [id, run] : runs_) {
      watch(run, run.child.input(), POLLOUT);
      watch(run, run.child.output(), POLLIN);
      watch(run, run.child.error_output(), POLLIN);
      next = std::min(next, run.deadline);
      if (run.child.watched()) next = std::min(next, memory_look_);
    }
    int timeout = -1;
    if (next != SteadyClock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - SteadyClock::now()).count();
      timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
    }
    poll(fds.data(), fds.size(), timeout);
    signalfd_siginfo drained;
    while (read(signals_, &drained, sizeof drained) > 0) {
    }
    for (size_t i = 0; i < ready.size(); ++i) {
      if (fds[i + 2].revents != 0) move_bytes(*ready[i]);
    }
    if (fds[0].revents != 0) read_requests();
  }

  void move_bytes(Run& run) {
    run.child.feed_input();
    run.child.read_output();
    pass_on_output(run, false);
  }

  void pass_on_output(Run& run, bool all) {
    if (!run.child.follows()) return;
    for (auto& output : run.child.take_output(SteadyClock::now(), all)) send(std::move(output));
  }

  void read_requests() {
    char buffer[65536];
    const ssize_t n = recv(socket_, buffer, sizeof buffer, 0);
    if (n == 0 || (n < 0 && errno != EINTR)) open_ = false;
    if (n > 0) received_.append(buffer, static_cast<size_t>(n));
    while (auto frame = take_frame(received_)) {
      auto request = decode_request(*frame);
      if (!request) {
        open_ = false;  // Not our daemon any more.
      } else if (auto* start_request = std::get_if<StartRequest>(&*request)) {
        start(std::move(*start_request));
      } else if (const auto* flush = std::get_if<FlushRequest>(&*request)) {
        const auto run = runs_.find(flush->id);
        if (run == runs_.end()) continue;  // Its answer is on the way.
        move_bytes(run->second);
        pass_on_output(run->second, true);
        send(Flushed{flush->id});
      } else {
        const auto run = runs_.find(std::get<KillRequest>(*request).id);
        if (run != runs_.end() && !run->second.is_ending) end(run->second);
      }
    }
  }

  void start(StartRequest request) {
    const uint64_t id = request.id;
    Answer refused{id, "", false, {}};
    auto child = Child::start(std::move(request), refused);
    if (!child) return send(refused);
    const auto deadline =
        child->timeout().count() > 0 ? SteadyClock::now() + child->timeout() : SteadyClock::time_point::max();
    runs_.emplace(id, Run{std::move(*child), deadline, false});
  }

  // Its answer follows from reap().
  void end(Run& run) {
    if (run.is_ending) {
      kill(run.child.keeper(), SIGKILL);
      run.deadline = SteadyClock::time_point::max();
      return;
    }
    run.is_ending = true;
    run.deadline = SteadyClock::now() + kKeeperPatience;
    kill(run.child.keeper(), kEndSignal);
    kill(run.child.keeper(), SIGCONT);  // The program may have stopped it.
  }

  void end_overdue() {
    const auto now = SteadyClock::now();
    for (auto& [id, run] : runs_) {
      if (run.deadline > now) continue;
      if (!run.is_ending) run.child.set_timed_out();
      end(run);
    }
  }

  void end_too_large() {
    const auto now = SteadyClock::now();
    if (now < memory_look_) return;
    std::set<pid_t> keepers;
    for (const auto& [id, run] : runs_) {
      if (run.child.watched() && !run.is_ending) keepers.insert(run.child.keeper());
    }
    memory_look_ = now + kMemoryInterval;
    if (keepers.empty()) return;
    const auto used = usage_below(keepers);
    for (auto& [id, run] : runs_) {
      const auto below = used.find(run.child.keeper());
      if (below != used.end() && run.child.takes_too_much(below->second.memory, below->second.threads)) end(run);
    }
  }

  // Orphans that we adopted end here too; only keepers have a run.
  void reap() {
    for (pid_t pid = 0; (pid = waitpid(-1, nullptr, WNOHANG)) > 0;) {
      for (auto it = runs_.begin(); it != runs_.end(); ++it) {
        if (it->second.child.keeper() != pid) continue;
        it->second.child.read_output();
        pass_on_output(it->second, true);
        send(it->second.child.finish());
        if (!it->second.child.all_ended()) stray_rounds_ = kStrayRounds;
        runs_.erase(it);
        break;
      }
    }
  }

  // The processes that a killed keeper, or one that gave up, has left are our children now.
  void end_strays() {
    --stray_rounds_;
    std::set<pid_t> keepers;
    for (const auto& [id, run] : runs_) keepers.insert(run.child.keeper());
    kill_descendants_once(keepers);
  }

  void send(const Reply& reply) {
    const std::string frame = encode(reply);
    for (size_t sent = 0; sent < frame.size();) {
      const ssize_t n = ::send(socket_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
      if (n > 0) {
        sent += static_cast<size_t>(n);
      } else if (errno != EINTR) {
        open_ = false;
        return;
      }
    }
  }

  int socket_;
  int signals_ = -1;
  bool open_ = true;
  int stray_rounds_ = 0;  // Still to go.
  SteadyClock::time_point memory_look_{};
  std::string received_;
  std::map<uint64_t, Run> runs_;
};

}  // namespace

int serve(int socket) {
  prctl(PR_SET_NAME, "freshet-spawner");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Ctrl-C and a service manager's stop reach the whole group; the daemon drains first and then closes our socket.
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(ignored, SIG_IGN);
  // Keepers make pipes and have them as 0 to 2: nothing else may get such a number.
  for (int fd = 0; fd >= 0 && fd < STDERR_FILENO;) fd = open("/dev/null", O_RDWR);
  Server(socket).run();
  end_descendants([](pid_t, int) {});
  return 0;
}

}  // namespace freshet::spawner
