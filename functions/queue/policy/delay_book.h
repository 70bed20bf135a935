// Keeps delays as long as they were when the wall clock is set. Pure.
//
// A delayed task is stored with the wall time at which its delay ends. That is enough as long as the wall clock goes on
// evenly. When the clock is set, the tasks delayed at that moment are noted here with the boot time at which their
// delays end by the old clock. So a delay lasts as long as it did when it was first seen. Tasks that are delayed after
// that are timed by the new wall clock. Without steps of the clock the book is empty.
#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace freshet {

class DelayBook {
 public:
  static constexpr milliseconds kStep{1000};  // A larger step means that the clock was set; smaller ones are followed.
  static constexpr size_t kMost = 100'000;    // The most tasks; the rest, with later ends, is timed by the wall clock.

  // Call at least every few seconds. True if the wall clock was set since the last call.
  bool look(WallTime wall, BootTime boot);
  // Wall minus boot, at the last look().
  milliseconds offset() const { return offset_; }
  // offset() before the last step.
  milliseconds before_step() const { return before_; }
  // Wall minus boot when the wall clock showed `written`, between the look before the last step and `now`.
  milliseconds offset_when(WallTime written, BootTime now) const;
  // When a delay until `not_before` (epoch ms) ends by a wall clock with that offset; at most 366 days from now.
  static BootTime due_by(milliseconds offset, int64_t not_before, BootTime now);

  // Notes a task that is not in the book yet. False if there is no room.
  bool add(std::string_view id, int64_t not_before, BootTime due);
  void forget(std::string_view id);
  // Makes the task due again at that time, if it is in the book.
  void postpone(std::string_view id, BootTime due);
  // True if a task with that `notBefore` is timed here.
  bool times(std::string_view id, int64_t not_before) const;
  // When the task's delay ends; BootTime::max() if it is not timed here.
  BootTime due_of(std::string_view id) const;
  // The tasks that are due, at most `limit`.
  std::vector<std::string> due(BootTime now, size_t limit) const;
  BootTime next_due() const;  // BootTime::max() for never.
  bool empty() const { return tasks_.empty(); }

 private:
  struct Delay {
    int64_t not_before;
    BootTime due;
  };
  bool known_ = false;
  milliseconds offset_{0};  // Wall minus boot.
  milliseconds before_{0};  // The same before the last step.
  BootTime looked_{};
  std::optional<BootTime> stepped_after_;  // The last look before the last step.
  absl::flat_hash_map<std::string, Delay> tasks_;
  absl::btree_set<std::pair<BootTime, std::string>> by_due_;
};

}  // namespace freshet
