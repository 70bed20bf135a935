// Runs blocking disk work beside a loop that must not block.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"

namespace freshet {

// Runs one piece of work at a time on another thread. Only the owner calls it. The destructor waits for running work.
class BackgroundWork {
 public:
  using Work = std::function<Result<void>()>;

  virtual ~BackgroundWork() = default;
  // Starts `work`. Everything that it uses must live until end(), and must be safe to use beside the owner.
  virtual void begin(Work work) = 0;
  // True if end() would return at once.
  virtual bool over() const = 0;
  // Waits for the work that begin() started, and returns its result.
  virtual Result<void> end() = 0;
};

// Uses a thread of its own, which calls `on_over` after each piece of work.
std::unique_ptr<BackgroundWork> make_work_thread(std::function<void()> on_over);

}  // namespace freshet
