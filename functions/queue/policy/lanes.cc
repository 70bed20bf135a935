#include "functions/queue/policy/lanes.h"

#include <algorithm>

#include "functions/queue/attributes.h"

namespace freshet {

std::string lane_name(int priority, std::string_view group) {
  auto level = std::to_string(1000 + 100 - std::clamp(priority, -100, 100)).substr(1);
  return level.append("#").append(group).append("#0");
}

namespace {

int priority_of(const ItemRef& task) {
  return static_cast<int>(std::clamp<int64_t>(int_of(task, attribute::kPriority, 0), -100, 100));
}

}  // namespace

std::string lane_name(const ItemRef& task) {
  auto group = text_of(task, attribute::kGroup);
  return lane_name(priority_of(task), group.size() <= kMaxGroupBytes ? group : std::string_view());
}

std::string lane_level_name(const ItemRef& task) {
  return lane_name(priority_of(task), "");
}

bool asks_for_lane(const ItemRef& task) {
  return int_of(task, attribute::kPriority, 0) != 0 || !text_of(task, attribute::kGroup).empty();
}

std::string_view lane_level(std::string_view lane) {
  return lane.substr(0, lane.find('#'));
}

std::string_view lane_group(std::string_view lane) {
  auto from = lane.find('#') + 1;
  auto to = lane.rfind('#');
  return from <= to ? lane.substr(from, to - from) : std::string_view();
}

namespace {

// Whether `a` goes before `b` in a queue without lanes.
bool before(const ItemRef& a, const ItemRef& b, bool newest_first) {
  auto a_created = int_of(a, attribute::kCreated, 0);
  auto b_created = int_of(b, attribute::kCreated, 0);
  if (a_created != b_created) return (a_created > b_created) == newest_first;
  return (a.creation() > b.creation()) == newest_first;
}

}  // namespace

std::vector<ItemRef> merge_lanes(std::vector<LaneHeads> lanes, size_t wanted, bool newest_first) {
  std::vector<ItemRef> out;
  std::vector<size_t> next(lanes.size(), 0);
  while (out.size() < wanted) {
    size_t best = lanes.size();
    for (size_t i = 0; i < lanes.size(); ++i) {
      const auto& lane = lanes[i];
      bool empty = next[i] == lane.tasks.size();
      if (empty && !lane.more) continue;
      if (best == lanes.size() || lane.in_work < lanes[best].in_work) {
        best = i;
      } else if (lane.in_work == lanes[best].in_work) {
        if (empty) return out;  // Its next task is not known: it might be the one.
        bool best_unknown = next[best] == lanes[best].tasks.size();
        if (!best_unknown && before(lane.tasks[next[i]], lanes[best].tasks[next[best]], newest_first)) best = i;
      }
    }
    if (best == lanes.size() || next[best] == lanes[best].tasks.size()) return out;
    out.push_back(lanes[best].tasks[next[best]++]);
    ++lanes[best].in_work;
  }
  return out;
}

}  // namespace freshet
