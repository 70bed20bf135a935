#include "functions/queue/core/lanes.h"

#include <algorithm>
#include <utility>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"

namespace freshet {

std::string Lanes::asked_by(int priority, std::string_view group, std::string_view key) const {
  auto plain = lane_name(priority, group);
  return are_by_key() && !key.empty() ? key_lane_name(plain, key) : plain;
}

std::string Lanes::asked_by(const ItemRef& task) const {
  auto plain = lane_name(task);
  const auto key = are_by_key() ? key_of(task) : std::string_view();
  return key.empty() ? plain : key_lane_name(plain, key);
}

std::string Lanes::of_new(const NewTask& task) const {
  auto own = asked_by(task.priority, task.group, task.key);
  if (contains(own) || !is_key_lane(own)) return own;
  auto plain = lane_name(task.priority, task.group);
  return contains(plain) ? plain : lane_name(0, "");
}

std::string Lanes::of_pending(const ItemRef& task) {
  if (empty()) return {};
  auto name = asked_by(task);
  if (contains(name)) return name;
  const bool must_be_stored = !is_key_lane(name) && stored_ < kMostStored;
  if (must_be_stored || size() >= kMost) return {};
  shares_.add(name, false);
  return name;
}

std::string Lanes::known_for(const ItemRef& task) const {
  for (auto& name : {asked_by(task), lane_name(task), lane_level_name(task), lane_name(0, "")}) {
    if (contains(name)) return name;
  }
  return {};
}

bool Lanes::lacks(const ItemRef& task) const {
  if (text_of(task, attribute::kStatus) != state::kPending) return false;
  const bool has_key = are_by_key() && !key_of(task).empty();
  if (empty() && !has_key && !asks_for_lane(task)) return false;
  auto lane = text_of(task, attribute::kLane);
  return lane.empty() || !contains(lane) || is_key_lane(lane) != has_key;
}

void Lanes::loaded(const std::vector<std::string>& names) {
  for (const auto& name : names) shares_.add(name);
  stored_ = size();
}

std::vector<std::string> Lanes::needed_by(const std::vector<NewTask>& tasks,
                                          const std::vector<Result<CreatedTask>>& out) const {
  std::vector<std::string> names;
  std::string last;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const NewTask& task = tasks[i];
    const bool asks = task.priority != 0 || !task.group.empty() || (are_by_key() && !task.key.empty());
    if (!out[i] || (!asks && empty())) continue;
    auto name = asked_by(task.priority, task.group, task.key);
    if (name == last) continue;
    last = name;
    if (!contains(name)) names.push_back(std::move(name));
  }
  return names;
}

NewLanes Lanes::plan(std::vector<std::string> names) {
  NewLanes out;
  out.first = empty();
  if (out.first) names.insert(names.begin(), lane_name(0, ""));
  for (auto& name : names) {
    if (contains(name) || out.stored.contains(name) || out.others.contains(name)) continue;
    const bool must_be_stored = !is_key_lane(name) && stored_ + out.stored.size() < kMostStored;
    if (size() + out.stored.size() + out.others.size() < kMost) {
      (must_be_stored ? out.stored : out.others).insert(std::move(name));
    } else if (!is_key_lane(name)) {
      out.room = fail(ErrorCode::kLimitExceeded, "queue '" + table_ +
                                                     "' has no room for another lane: a queue may have at most " +
                                                     std::to_string(kMost) + " different pairs of priority and group");
    }
  }
  if (!out.first) {
    for (const auto& name : out.others) shares_.add(name, false);
  }
  return out;
}

void Lanes::stored(const NewLanes& lanes) {
  for (const auto& name : lanes.stored) shares_.add(name);
  for (const auto& name : lanes.others) shares_.add(name, false);
  stored_ += lanes.stored.size();
}

void Lanes::filled_by_new(const std::string& lane, int64_t place) {
  if (!contains(lane) && size() < kMost) return shares_.add(lane, false, place);
  shares_.filled(lane, place);
}

void Lanes::filled_by(const ItemRef& task) {
  if (!empty()) shares_.filled(asked_by(task), place_of(task));
}

int64_t Lanes::place(int64_t created_ms, int64_t deadline_ms) const {
  constexpr int64_t kEarlier = 10'000;  // The tasks of one request get their times one by one.
  if (settings_.order == Order::kDeadline) return deadline_ms > 0 ? deadline_ms : kNeverMs - 1;
  return settings_.order == Order::kOldestFirst ? created_ms - kEarlier : -created_ms;
}

int64_t Lanes::place_of(const ItemRef& task) const {
  const auto created = std::clamp<int64_t>(int_of(task, attribute::kCreated, 0), 0, kNeverMs / 2);
  if (settings_.order == Order::kOldestFirst) return created;
  return place(created, int_of(task, attribute::kDeadline, 0));
}

bool Lanes::may_check() {
  return !empty() && !std::exchange(checking_, true);
}

std::vector<std::string> Lanes::next_to_check(size_t looked) {
  constexpr size_t kAtOnce = 32;
  constexpr size_t kMostLooked = 2048;
  if (looked >= kMostLooked) return {};
  auto names = shares_.idle(last_checked_, kAtOnce);
  if (!names.empty()) return names;
  const bool began_at_first = std::exchange(last_checked_, {}).empty();
  if (began_at_first || looked > 0) return {};
  return shares_.idle(last_checked_, kAtOnce);
}

void Lanes::checked(std::string lane, std::optional<bool> holds_tasks, BootTime now) {
  if (holds_tasks && *holds_tasks) {
    shares_.filled(lane);
  } else if (holds_tasks) {
    shares_.found_empty(lane, now, kForgotten);
  }
  last_checked_ = std::move(lane);
}

}  // namespace freshet
