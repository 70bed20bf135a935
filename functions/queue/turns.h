// One at a time, by name: whoever wants to work on something waits until nobody else does. Part of the queue's shell:
// the core knows only that somebody is at work. Loop thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/scheduler.h"

namespace freshet {

class Turns {
 public:
  // The scheduler outlives this.
  explicit Turns(Scheduler& scheduler) : scheduler_(scheduler) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Nobody has the turn of that name when this ends, and nobody can have it until the caller takes it.
  Async<void> wait(std::string name) {
    while (waiting_.contains(name)) {
      Promise<bool> done(scheduler_);
      waiting_[name].push_back(done);
      co_await done.future();
    }
  }

  // Has the turn from now until it is destroyed. Nobody else may have it.
  class Turn {
   public:
    Turn(Turns& turns, std::string name) : turns_(turns), name_(std::move(name)) { turns_.waiting_[name_]; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      auto waiting = turns_.waiting_.extract(name_);
      for (auto& promise : waiting.mapped()) promise.set(true);
    }

   private:
    Turns& turns_;
    const std::string name_;
  };

 private:
  Scheduler& scheduler_;
  std::map<std::string, std::vector<Promise<bool>>, std::less<>> waiting_;  // By the name of a turn that somebody has.
};

}  // namespace freshet
