#include "app/spawner/server.h"

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
#include "app/spawner/protocol.h"

namespace freshet::spawner {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Run {
  Child child;
  SteadyClock::time_point deadline;
};

class Server {
 public:
  explicit Server(int socket) : socket_(socket) {}

  // Until the daemon's end closes.
  void run() {
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, nullptr);
    signals_ = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
    while (open_) {
      wait();
      reap();
      end_overdue();
    }
  }

 private:
  void wait() {
    std::vector<pollfd> fds{{socket_, POLLIN, 0}, {signals_, POLLIN, 0}};
    auto next = SteadyClock::time_point::max();
    for (const auto& [id, run] : runs_) {
      if (run.child.input() >= 0) fds.push_back({run.child.input(), POLLOUT, 0});
      if (run.child.output() >= 0) fds.push_back({run.child.output(), POLLIN, 0});
      if (run.child.error_output() >= 0) fds.push_back({run.child.error_output(), POLLIN, 0});
      next = std::min(next, run.deadline);
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
    if (fds[0].revents != 0) read_requests();
    for (auto& [id, run] : runs_) {
      run.child.feed_input();
      run.child.read_output();
    }
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
      } else {
        end(std::get<KillRequest>(*request).id);
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
    runs_.emplace(id, Run{std::move(*child), deadline});
  }

  // Ends the run; its answer follows from reap().
  void end(uint64_t id) {
    const auto it = runs_.find(id);
    if (it == runs_.end()) return;
    it->second.deadline = SteadyClock::time_point::max();
    kill_run(it->second.child.run_name(), it->second.child.pid());
  }

  void end_overdue() {
    const auto now = SteadyClock::now();
    for (auto& [id, run] : runs_) {
      if (run.deadline > now) continue;
      run.child.set_timed_out();
      end(id);
    }
  }

  // Orphans that we adopted end here too; only direct children have a run.
  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      for (auto it = runs_.begin(); it != runs_.end(); ++it) {
        if (it->second.child.pid() != pid) continue;
        end_leftovers(it->second.child);
        send(it->second.child.finish(status));
        runs_.erase(it);
        break;
      }
    }
  }

  // What an ended child left behind is ours now.
  void end_leftovers(const Child& ended) {
    std::set<pid_t> known;
    for (const auto& [id, run] : runs_) known.insert(run.child.pid());
    if (!has_only_children(known)) kill_run(ended.run_name(), 0);
  }

  void send(const Answer& answer) {
    const std::string frame = encode(answer);
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
  std::string received_;
  std::map<uint64_t, Run> runs_;
};

}  // namespace

int serve(int socket) {
  prctl(PR_SET_NAME, "freshet-spawner");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Ctrl-C and a service manager's stop reach the whole group; the daemon drains first and then closes our socket.
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(ignored, SIG_IGN);
  Server(socket).run();
  kill_all_descendants();
  return 0;
}

}  // namespace freshet::spawner
