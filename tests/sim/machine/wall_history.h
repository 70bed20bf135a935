// The history of a run's wall clock, for judges of times that the product measures by it. One thread.
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
  // Until `at`, the wall clock has run ahead of boot time by `by` since the last call (negative: it has fallen behind).
  void drifted(BootTime at, milliseconds by) { segments_.push_back({at, segments_.back().offset + by, true}); }
  // The drift between these moments: ran_ahead() counts only forward drift, strayed() drift in any direction.
  milliseconds ran_ahead(BootTime from, BootTime to) const;
  milliseconds strayed(BootTime from, BootTime to) const;
  // A daemon starts.
  void life_begins(BootTime at) { life_began_ = at; }

  // The earliest wall time that a daemon may have seen between these moments (`from` <= `to`).
  WallTime earliest(BootTime from, BootTime to) const;
  // The latest such time. A daemon does not trust a clock that was set forward by more than a minute until another
  // minute has passed. While it certainly does not, the result leaves out that step.
  WallTime latest(BootTime from, BootTime to) const;
  // The latest time that a daemon may take for now at `at`: after a step back it counts deadlines from the time before
  // the step, until it trusts the clock again.
  WallTime latest_counted(BootTime at) const;

 private:
  struct Segment {
    BootTime since{};
    milliseconds offset{0};  // Wall minus boot.
    bool by_drift = false;
  };
  static WallTime wall(BootTime at, milliseconds offset) {
    return WallTime(std::chrono::floor<milliseconds>(at.time_since_epoch() + offset));
  }
  // The segment of the last step, if that step was made between the two, is the only large one for a while, and is not
  // trusted yet.
  std::optional<size_t> doubted(BootTime from, BootTime to) const;
  milliseconds step(size_t i) const { return segments_[i].offset - segments_[i - 1].offset; }

  std::vector<Segment> segments_;
  BootTime life_began_{};
};

}  // namespace freshet::sim
