// Delivers SIGTERM and SIGINT (stop) and SIGHUP (read the template again) as events of the loop. They are blocked in
// every thread; one thread waits for them. SIGHUP means stop when the daemon's terminal is closed.
#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace freshet {

class Signals {
 public:
  // Call this before any other thread starts: threads inherit the mask.
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  // Both are called on a thread of their own. `stop` returns false if the loop's mailbox is full; it is then called
  // again every 10 ms until it succeeds. A second signal to stop ends the process at once, because somebody is
  // impatient.
  void watch(std::function<bool()> stop, std::function<void()> reload);
  // After this returns, neither is called or still running. A second signal to stop still ends the process.
  void forget();

 private:
  void wait();
  int next(bool again_soon);
  bool call(const std::function<bool()>& what);

  const bool in_terminal_;
  sigset_t set_{};
  std::function<bool()> stop_;
  std::function<void()> reload_;
  std::atomic<bool> done_{false};
  Mutex mutex_;
  bool forgotten_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace freshet
