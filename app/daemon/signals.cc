#include "app/daemon/signals.h"

#include <unistd.h>

#include <ctime>
#include <utility>

namespace freshet {

namespace {
constexpr timespec kAgain{0, 10'000'000};
}  // namespace

Signals::Signals() : in_terminal_(isatty(STDERR_FILENO) != 0) {
  sigemptyset(&set_);
  sigaddset(&set_, SIGTERM);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

Signals::~Signals() {
  if (!thread_.joinable()) return;
  done_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

void Signals::watch(std::function<bool()> stop, std::function<void()> reload) {
  stop_ = std::move(stop);
  reload_ = std::move(reload);
  thread_ = std::thread([this] { wait(); });
}

void Signals::forget() {
  const MutexLock lock(mutex_);
  forgotten_ = true;
}

// The next signal. With a timeout, 0 if none came in time.
int Signals::next(bool again_soon) {
  for (;;) {
    const int number = again_soon ? sigtimedwait(&set_, nullptr, &kAgain) : sigwaitinfo(&set_, nullptr);
    if (number > 0) return number;
    if (again_soon) return 0;
  }
}

// True if the signal needs nothing more done.
bool Signals::call(const std::function<bool()>& what) {
  const MutexLock lock(mutex_);
  return forgotten_ || what();
}

void Signals::wait() {
  bool asked = false;
  bool taken = true;
  for (;;) {
    const int number = next(!taken);
    if (done_) return;
    const bool hung_up = in_terminal_ && isatty(STDERR_FILENO) == 0;
    if (number == SIGHUP && !hung_up) {
      call([this] {
        reload_();
        return true;
      });
      continue;
    }
    if (number != 0 && std::exchange(asked, true)) _exit(128 + number);
    taken = call(stop_);
  }
}

}  // namespace freshet
