// How the wall clock of a run was set, for judges of times that the product keeps by it. One thread.
#pragma once

#include <vector>

#include "base/clock.h"

namespace freshet::sim {

class WallHistory {
 public:
  // The wall clock showed `start` when the run began, at boot time 0.
  explicit WallHistory(WallTime start) : segments_{{BootTime{}, start.time_since_epoch()}} {}
  void stepped(BootTime at, milliseconds by) { segments_.push_back({at, segments_.back().offset + by}); }
  // A daemon starts.
  void life_begins(BootTime at) { life_began_ = at; }

  // The first and the last time that a daemon may have seen within these moments (`from` <= `to`).
  WallTime earliest(BootTime from, BootTime to) const;
  // A daemon does not believe a clock that was set forward by more than a minute until another minute has passed. While
  // that is sure, the result is without the step, by any clock that it may have believed before.
  WallTime latest(BootTime from, BootTime to) const;

 private:
  struct Segment {
    BootTime since{};
    milliseconds offset{0};  // Wall minus boot.
  };
  static WallTime wall(BootTime at, milliseconds offset) {
    return WallTime(std::chrono::floor<milliseconds>(at.time_since_epoch() + offset));
  }
  // True if the last step was made within the two, is the only long one for a while, and is not believed yet.
  bool is_doubted(BootTime from, BootTime to) const;

  std::vector<Segment> segments_;
  BootTime life_began_{};
};

}  // namespace freshet::sim
