// SIGTERM and SIGINT (stop) and SIGHUP (read the template again) as events of the loop: blocked in every thread and
// awaited in one. SIGHUP means stop when the terminal that the daemon runs in is closed.
#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace freshet {

class Signals {
 public:
  // Before any other thread starts: they inherit the mask.
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  // Both are called on a thread of their own. `stop` says false if it could not be taken now (the loop's mailbox is
  // full): it is called again every 10 ms until it could. A second signal to stop ends the process at once: somebody is
  // impatient.
  void watch(std::function<bool()> stop, std::function<void()> reload);
  // From here on neither is called, nor under way. A second signal to stop still ends the process.
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
  std::mutex mutex_;
  bool forgotten_ = false;  // Guarded by it.
  std::thread thread_;
};

}  // namespace freshet
