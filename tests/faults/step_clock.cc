// Loaded before the C library (LD_PRELOAD): sets the wall clock of one program, while it runs. How far it is off stands
// in a file that the test has mapped, too: nanoseconds, a number of 64 bits. The file's path is in STEP_CLOCK.
//
// The kernel then says that the clock is not synchronised, as it does on a machine without NTP.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

using Nanoseconds = std::atomic<int64_t>;

Nanoseconds* map_offset() {
  const char* path = getenv("STEP_CLOCK");
  if (path == nullptr) return nullptr;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const at = mmap(nullptr, sizeof(Nanoseconds), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<Nanoseconds*>(at);
}

// The daemon empties its environment once it has read its options.
Nanoseconds* const offset = map_offset();

int64_t off() {
  return offset == nullptr ? 0 : offset->load();
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* into) noexcept {
  const long failed = syscall(SYS_clock_gettime, id, into);
  if (failed != 0) return -1;
  if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE) return 0;
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = into->tv_sec * kSecond + into->tv_nsec + off();
  into->tv_sec = now / kSecond;
  into->tv_nsec = now % kSecond;
  return 0;
}

int gettimeofday(timeval* __restrict into, void* __restrict) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  into->tv_sec = now.tv_sec;
  into->tv_usec = now.tv_nsec / 1'000;
  return 0;
}

time_t time(time_t* into) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (into != nullptr) *into = now.tv_sec;
  return now.tv_sec;
}

int adjtimex(timex* into) noexcept {
  const long state = syscall(SYS_adjtimex, into);
  if (state < 0) return -1;
  into->status |= STA_UNSYNC;
  return TIME_ERROR;
}

int ntp_adjtime(timex* into) noexcept {
  return adjtimex(into);
}

}  // extern "C"
