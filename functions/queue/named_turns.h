// One at a time for each name: whoever wants to work on something waits until nobody else does. base/turns.h is the
// same without names. This is part of the queue's shell; the core knows only that somebody is at work. Loop thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/scheduler.h"

namespace freshet {

class NamedTurns {
 public:
  // The scheduler outlives this.
  explicit NamedTurns(Scheduler& scheduler) : scheduler_(scheduler) {}
  NamedTurns(const NamedTurns&) = delete;
  NamedTurns& operator=(const NamedTurns&) = delete;

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
    Turn(NamedTurns& turns, std::string name) : turns_(turns), name_(std::move(name)) { turns_.waiting_[name_]; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      auto waiting = turns_.waiting_.extract(name_);
      for (auto& promise : waiting.mapped()) promise.set(true);
    }

   private:
    NamedTurns& turns_;
    const std::string name_;
  };

 private:
  Scheduler& scheduler_;
  std::map<std::string, std::vector<Promise<bool>>, std::less<>> waiting_;  // By the name of a turn that somebody has.
};

}  // namespace freshet
