// Waits for a file's sync without holding up the loop. Loop thread.
#pragma once

#include "base/async.h"
#include "base/files.h"
#include "base/scheduler.h"

namespace freshet {

class FileSync {
 public:
  // Both outlive it; it outlives its Asyncs.
  FileSync(BackgroundSync& sync, Scheduler& scheduler) : sync_(sync), scheduler_(scheduler) {}

  // Returns the result of File::sync(). The file stays open until then, or until the Async is destroyed, which waits
  // for a running sync.
  Async<Result<void>> run(File& file) {
    while (busy_) co_await sleep_for(scheduler_, kLookAgain);
    Turn turn(*this, file);
    while (!sync_.over()) co_await sleep_for(scheduler_, kLookAgain);
    co_return turn.end();
  }

 private:
  static constexpr milliseconds kLookAgain{1};

  // One sync at a time.
  class Turn {
   public:
    Turn(FileSync& owner, File& file) : owner_(owner) {
      owner_.busy_ = true;
      owner_.sync_.begin(file);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (!ended_) (void)end();
    }
    Result<void> end() {
      ended_ = true;
      owner_.busy_ = false;
      return owner_.sync_.end();
    }

   private:
    FileSync& owner_;
    bool ended_ = false;
  };

  BackgroundSync& sync_;
  Scheduler& scheduler_;
  bool busy_ = false;
};

}  // namespace freshet
