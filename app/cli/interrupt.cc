#include "app/cli/interrupt.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace freshet::cli {
namespace {
std::atomic<bool> heard = false;  // Threads ask, too.
static_assert(std::atomic<bool>::is_always_lock_free, "a handler of signals sets it");
}  // namespace

void hear_interrupts(SecondSignal second) {
  struct sigaction action {};
  action.sa_handler = [](int) { heard = true; };
  // A call to the daemon that waits goes on, so that its answer is still read.
  action.sa_flags = SA_RESTART;
  if (second == SecondSignal::kEndsTheProcess) action.sa_flags |= static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

bool interrupted() {
  return heard;
}

bool wait_for(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kLook{50};
  const auto end = std::chrono::steady_clock::now() + time;
  while (!interrupted()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return true;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kLook));
  }
  return false;
}

}  // namespace freshet::cli
