// Lanes: which lanes a queue has, which lane a task has, whose turn it is, and which lanes are to be looked at again.
// Pure state: no store, clock, coroutine or log. Loop thread.
//
// A queue has lanes as soon as a task names a priority or a group. From then on every PENDING task has a lane.
// policy/lanes.h has the names of lanes, policy/fair_share.h the order of their turns; docs/lifecycle.md, "Lanes", the
// bounds.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/queue/core/wall_times.h"
#include "functions/queue/policy/fair_share.h"
#include "functions/queue/policy/lane_aging.h"
#include "functions/queue/policy/lanes.h"
#include "functions/settings.h"
#include "runtime/api/task_queue.h"

namespace freshet {

// Lanes that tasks need and that the queue does not have yet.
struct NewLanes {
  std::set<std::string> stored;  // Their names must be in the system table before a task uses them.
  std::set<std::string> others;  // Their names are only in memory.
  Result<void> room;             // kLimitExceeded: there was no room for the rest.
  bool first = false;            // The queue had no lanes before.
};

class Lanes {
 public:
  static constexpr size_t kMost = 200'000;
  static constexpr size_t kMostStored = 1000;
  static constexpr nanoseconds kForgotten = std::chrono::seconds(60);  // A lane without tasks is dropped then.

  // `table` and the settings outlive this.
  Lanes(const std::string& table, const QueueSettings& settings) : table_(table), settings_(settings) {}
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  bool empty() const { return shares_.empty(); }
  size_t size() const { return shares_.size(); }
  bool contains(std::string_view lane) const { return shares_.contains(lane); }
  // The shares whose turns come next, for one task each (see FairShares::turns()): those of the highest priority, or
  // one of a priority that has waited too long (policy/lane_aging.h).
  std::vector<std::string_view> turns(size_t wanted, const FairShares::Given& given, BootTime now) {
    if (!ages()) return shares_.turns(wanted, given);
    const auto waiting = shares_.levels(given);
    if (waiting.empty()) return {};
    std::set<std::string_view> chosen;
    for (const auto& [share, turns] : given) {
      if (turns != FairShares::kPassed && turns > 0) chosen.insert(lane_level(share));
    }
    const auto level = aging_.next(waiting, settings_.priority_aging, now,
                                   [&chosen](std::string_view one) { return chosen.contains(one); });
    return shares_.turns(level == waiting.front() ? wanted : 1, given, level);
  }
  // A task of that lane was taken.
  void served(std::string_view lane, BootTime now) {
    shares_.served(lane);
    ended(lane, now);
  }
  // A take has ended a task of that lane instead of claiming it. This, too, uses the turn of its priority. Otherwise a
  // priority whose tasks all end this way would keep the turn.
  void ended(std::string_view lane, BootTime now) {
    if (ages()) aging_.served(lane_level(lane), now);
  }
  // Call after a change of the settings.
  void follow_settings() {
    if (!ages()) aging_.forget();
  }
  // For explain: where a task has its place, and how far its priority has aged.
  std::string place_in_words(std::string_view lane, BootTime now) const {
    if (empty()) return {};
    const int64_t steps = ages() ? aging_.steps(lane_level(lane), settings_.priority_aging, now) : 0;
    std::string out = " in its lane (group and priority)";
    if (steps > 0) {
      out += "; its priority has had no start for a while and counts as " + std::to_string(steps) +
             (steps == 1 ? " step" : " steps") + " higher now (PRIORITY_AGING_S)";
    }
    return out;
  }
  // The lanes that hold tasks. Report there what a take finds in a lane.
  FairShares& shares() { return shares_; }
  const FairShares& shares() const { return shares_; }

  // True if each key has a lane of its own: limits are by key.
  bool are_by_key() const { return settings_.limits.by_key && settings_.limits.any(); }
  // The lane that a task asks for, whether the queue has it or not.
  std::string asked_by(int priority, std::string_view group, std::string_view key) const;
  std::string asked_by(const ItemRef& task) const;
  // The lane that a new task gets. The queue may have no room for another lane of a key.
  std::string of_new(const NewTask& task) const;
  // The lane of a task that becomes PENDING; adds the lane if it need not be stored. Empty if the queue has no lanes,
  // or if the lane must be stored first. In the second case lacks() is true once the task is PENDING.
  std::string of_pending(const ItemRef& task);
  // The lane for a task that lacks one: its own if the queue has it, else that of its priority, else the default one.
  std::string known_for(const ItemRef& task) const;
  // True if the task is PENDING and not in the lane that it should be in.
  bool lacks(const ItemRef& task) const;

  // The names of lanes that were stored, read at startup.
  void loaded(const std::vector<std::string>& names);
  // The lanes that the new tasks need and the queue does not have. Tasks that `out` refuses are left out.
  std::vector<std::string> needed_by(const std::vector<NewTask>& tasks,
                                     const std::vector<Result<CreatedTask>>& out) const;
  // Sorts the names: those that must be stored, those that need not be, and those for which there is no room. Lanes
  // that need not be stored are added at once, unless they are the first of the queue.
  NewLanes plan(std::vector<std::string> names);
  // The names are stored now.
  void stored(const NewLanes& lanes);

  // A new task was put into the lane. `place`: see place().
  void filled_by_new(const std::string& lane, int64_t place);
  // A task became PENDING.
  void filled_by(const ItemRef& task);
  // The place of a task among the lanes of keys; the smallest place comes first. With ORDER=adaptive, the newest task
  // comes first.
  int64_t place(int64_t created_ms, int64_t deadline_ms) const;
  int64_t place_of(const ItemRef& task) const;

  // Lanes that seem empty are checked again now and then. True if a check may begin now.
  bool may_check();
  // The next lanes to check. `looked`: how many lanes this check has had. Empty: the check is over, and may_check() is
  // true again.
  std::vector<std::string> next_to_check(size_t looked);
  // `holds_tasks` is empty if the lane could not be read.
  void checked(std::string lane, std::optional<bool> holds_tasks, BootTime now);
  void check_ended() { checking_ = false; }

 private:
  bool ages() const { return settings_.priority_aging.count() > 0; }

  const std::string& table_;
  const QueueSettings& settings_;
  FairShares shares_;
  LaneAging aging_;
  size_t stored_ = 0;  // The number of lanes whose names are stored.
  bool checking_ = false;
  std::string last_checked_;  // The check goes on after this lane.
};

}  // namespace freshet
