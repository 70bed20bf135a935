// A lock per name: one coroutine holds it, the others wait. base/turns.h queues whole changes and has no names. Part of
// the queue's shell; the core knows only that a name is locked. Loop thread.
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

  // Returns once nobody holds the turn of that name. The caller must then make a Turn before it awaits anything else.
  Async<void> wait(std::string name) {
    while (waiting_.contains(name)) {
      Promise<bool> done(scheduler_);
      waiting_[name].push_back(done);
      co_await done.future();
    }
  }

  // Holds the turn from its construction to its destruction. The turn must be free.
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
