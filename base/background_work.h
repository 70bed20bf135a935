// Work that waits for the disk, beside a loop that must not.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"

namespace freshet {

// One piece at a time, on another thread; the calls here are its owner's alone. Destroying it waits for what runs.
class BackgroundWork {
 public:
  using Work = std::function<Result<void>()>;

  virtual ~BackgroundWork() = default;
  // What the work uses must live until end(), and be fit for use beside the owner.
  virtual void begin(Work work) = 0;
  // Whether end() would return at once.
  virtual bool over() const = 0;
  // Waits for what begin() started; its outcome.
  virtual Result<void> end() = 0;
};

// On a thread of its own, which calls `on_over` after each piece.
std::unique_ptr<BackgroundWork> make_work_thread(std::function<void()> on_over);

}  // namespace freshet
