// How the wall clock of a run was set, for judges of times that the product keeps by it. One thread.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"

namespace freshet::sim {

class WallHistory {
 public:
  // The longest time between two looks of a daemon at the clock, a pause of the machine included.
  static constexpr seconds kLongestLook{200};

  // The wall clock showed `start` when the run began, at boot time 0.
  explicit WallHistory(WallTime start) : segments_{{BootTime{}, start.time_since_epoch()}} {}
  void stepped(BootTime at, milliseconds by) { segments_.push_back({at, segments_.back().offset + by}); }
  // It went on faster than boot time (slower: negative) until then, and is off by that since the last time.
  void drifted(BootTime at, milliseconds by) { segments_.push_back({at, segments_.back().offset + by, true}); }
  // By how much it has drifted within these moments: ahead; and in any direction.
  milliseconds ran_ahead(BootTime from, BootTime to) const;
  milliseconds strayed(BootTime from, BootTime to) const;
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
    bool by_drift = false;
  };
  static WallTime wall(BootTime at, milliseconds offset) {
    return WallTime(std::chrono::floor<milliseconds>(at.time_since_epoch() + offset));
  }
  // The segment that the last step began, if it was made within the two, is the only long one for a while, and is not
  // believed yet.
  std::optional<size_t> doubted(BootTime from, BootTime to) const;
  milliseconds step(size_t i) const { return segments_[i].offset - segments_[i - 1].offset; }

  std::vector<Segment> segments_;
  BootTime life_began_{};
};

}  // namespace freshet::sim
