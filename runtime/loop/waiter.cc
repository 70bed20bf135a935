#include "runtime/loop/waiter.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace freshet {

namespace {
// poll() times out on a clock that stands still while the machine is suspended; deadlines are boot time. Looking again
// every second bounds how late a timer can be after a resume.
constexpr nanoseconds kLongestSleep = seconds(1);
}  // namespace

EventWaiter::EventWaiter(const Clock& clock) : clock_(clock), fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  FRESHET_CHECK(fd_ >= 0, "eventfd: no file descriptor left");
}

EventWaiter::~EventWaiter() {
  ::close(fd_);
}

void EventWaiter::wait_until(BootTime until) {
  const BootTime now = clock_.boot();
  const nanoseconds left = until <= now ? nanoseconds(0) : std::min<nanoseconds>(until - now, kLongestSleep);
  const timespec timeout{.tv_sec = left / seconds(1), .tv_nsec = (left % seconds(1)).count()};
  pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
  if (::ppoll(&wanted, 1, &timeout, nullptr) > 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(fd_, &count, sizeof(count));
  }
}

void EventWaiter::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(fd_, &one, sizeof(one));
}

void SimWaiter::wait_until(BootTime until) {
  if (until != BootTime::max()) clock_.advance_to(until);
}

}  // namespace freshet
