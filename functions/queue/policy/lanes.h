// Lanes: how tasks of different priority and group share one queue. Pure.
//
// A lane's name is "PPP#GROUP#0": PPP = 100 - priority in three digits, so that names sort as lanes are served. While
// limits are by key (LIMIT_BY=key), a task with a key has the lane "PPP#GROUP#kKEY" instead, with "%" and "#" in the
// key written as "%25" and "%23". The lanes of one priority and group are a share, which has the name of the lane
// without a key. fair_share.h says whose turn it is. Within a lane, the queue's order applies.
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
// True if the task names a priority or a group.
bool asks_for_lane(const ItemRef& task);
// "PPP" of a lane: lanes with the same level have the same priority.
std::string_view lane_level(std::string_view lane);
std::string_view lane_group(std::string_view lane);

// The lane of tasks that have a key, where keys have lanes.
std::string key_lane_name(std::string_view plain_lane, std::string_view key);
bool is_key_lane(std::string_view lane);
std::string lane_key(std::string_view lane);  // The key of such a lane.
std::string share_of(std::string_view lane);

}  // namespace freshet
