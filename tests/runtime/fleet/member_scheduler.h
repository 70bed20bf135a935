// The scheduler of one member in a simulated fleet: it can be paused, as SIGSTOP pauses a process, and its clock runs
// at a rate of its own.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/loop/sim_loop.h"

namespace freshet {

class MemberScheduler final : public Scheduler {
 public:
  // `rate`: seconds of this member's clock for each second of the world's.
  MemberScheduler(SimLoop& world, double rate) : world_(world), clock_(world.clock(), rate) {}

  void post(Work work) override {
    world_.post([this, alive = alive(), work = std::move(work)]() mutable {
      if (!alive.expired()) run_or_keep(std::move(work));
    });
  }
  TimerId call_at(BootTime when, Work work) override {
    const TimerId id = ++last_;
    timers_[id] = std::move(work);
    outer_[id] = world_.call_at(clock_.in_world(when), [this, id] {
      outer_.erase(id);
      run_or_keep([this, id] { fire(id); });
    });
    return id;
  }
  void cancel(TimerId id) override {
    timers_.erase(id);
    const auto outer = outer_.find(id);
    if (outer == outer_.end()) return;
    world_.cancel(outer->second);
    outer_.erase(outer);
  }
  const Clock& clock() const override { return clock_; }

  // Sets this member's wall clock ahead of the world's.
  void set_ahead(milliseconds ahead) { clock_.ahead = ahead; }
  void pause() { paused_ = true; }
  void resume() {
    paused_ = false;
    for (Work& work : std::exchange(kept_, {})) {
      world_.post([alive = alive(), work = std::move(work)]() mutable {
        if (!alive.expired()) work();
      });
    }
  }
  bool is_paused() const { return paused_; }

 private:
  class RatedClock final : public Clock {
   public:
    RatedClock(const Clock& world, double rate) : world_(world), rate_(rate) {}
    WallTime wall() const override { return world_.wall() + ahead; }
    milliseconds ahead{0};
    BootTime boot() const override { return BootTime(scaled(world_.boot().time_since_epoch(), rate_)); }
    BootTime in_world(BootTime mine) const {
      // Rounded up, so that a timer never comes too early.
      return BootTime(scaled(mine.time_since_epoch(), 1 / rate_) + nanoseconds(1000));
    }

   private:
    static nanoseconds scaled(nanoseconds time, double by) {
      return nanoseconds(static_cast<int64_t>(static_cast<double>(time.count()) * by));
    }
    const Clock& world_;
    const double rate_;
  };

  std::weak_ptr<const bool> alive() const { return alive_; }
  void run_or_keep(Work work) {
    if (paused_) {
      kept_.push_back(std::move(work));
    } else {
      work();
    }
  }
  void fire(TimerId id) {
    const auto timer = timers_.find(id);
    if (timer == timers_.end()) return;  // Cancelled while paused.
    Work work = std::move(timer->second);
    timers_.erase(timer);
    work();
  }

  SimLoop& world_;
  RatedClock clock_;
  TimerId last_ = 0;
  std::map<TimerId, Work> timers_;
  std::map<TimerId, TimerId> outer_;
  std::vector<Work> kept_;
  bool paused_ = false;
  // The world still has posted work of a member that is killed.
  const std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace freshet
