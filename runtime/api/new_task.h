// A task as its creator describes it (docs/task-api.md, "Create").
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "tables/value/value.h"

namespace freshet {

struct NewTask {
  std::string id;  // Chosen by the client: creating the same id again returns the existing task. Empty: an id is made.
  Value payload;   // Plain JSON as a value.
  std::optional<milliseconds> ttl;          // From now; empty: the queue's default.
  std::optional<WallTime> deadline;         // The task is never started after that.
  std::optional<milliseconds> deadline_in;  // The deadline relative to the creation; do not set both.
  std::optional<milliseconds> delay;        // The task does not start before now + delay.
  std::string key;  // With `replace`, a waiting task with the same key is replaced; without it, the new one is
                    // deduplicated.
  bool replace = false;
  std::string group;
  int priority = 0;  // Higher first. -100..100.
  std::optional<int> max_attempts;
  std::optional<double> cost;  // The cost that counts against a cost limit. Empty: the queue's default.
  Map attributes;              // Further attributes of the item; reserved names are refused.
};

// Members that each copy of a task has instead of those of its original.
struct CopyChanges {
  NewTask to;
  // The names of the members of a create request that are changed. Others of `to` are ignored. With "attributes" those
  // of `to` are added to the original's, and take the place of those with the same name.
  std::vector<std::string> members;
  bool no_attributes = false;  // The copy has none of the original's `attributes`.

  bool has(std::string_view member) const { return std::find(members.begin(), members.end(), member) != members.end(); }
};

}  // namespace freshet
