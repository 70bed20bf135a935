// Lanes: how tasks of different priority and group share one queue. Pure.
//
// A lane's name is "PPP#GROUP#0": PPP = 100 - priority in three digits, so that names sort as lanes are served, and a
// shard number, 0 for now. Higher priority first; at equal priority the group with the fewest tasks in work first;
// within a group newest first.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables/value/item_ref.h"

namespace freshet {

inline constexpr size_t kMaxGroupBytes = 256;

std::string lane_name(int priority, std::string_view group);
// The lane that the task's `priority` and `group` name; a group that is too long for one counts as none.
std::string lane_name(const ItemRef& task);
// The lane of the task's priority without a group.
std::string lane_level_name(const ItemRef& task);
// Whether the task names a priority or a group at all.
bool asks_for_lane(const ItemRef& task);
// "PPP" of a lane: lanes with the same level have the same priority.
std::string_view lane_level(std::string_view lane);
std::string_view lane_group(std::string_view lane);

// The first tasks of one lane, as read.
struct LaneHeads {
  std::vector<ItemRef> tasks;  // In the order in which the lane serves them.
  bool more = false;           // The lane has others behind them.
  uint64_t in_work = 0;        // Tasks of its group that are held.
};

// Up to `wanted` tasks of lanes of one priority, in the order in which they should be taken. Stops early where the next
// one would have to come from a lane of which not enough was read (`more`).
std::vector<ItemRef> merge_lanes(std::vector<LaneHeads> lanes, size_t wanted, bool newest_first);

}  // namespace freshet
