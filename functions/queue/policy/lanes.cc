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

std::string key_lane_name(std::string_view plain_lane, std::string_view key) {
  std::string out(plain_lane.substr(0, plain_lane.rfind('#') + 1));
  out += 'k';
  for (const char c : key) {
    if (c == '%' || c == '#') {
      out.append(c == '%' ? "%25" : "%23");
    } else {
      out += c;
    }
  }
  return out;
}

bool is_key_lane(std::string_view lane) {
  const auto last = lane.rfind('#');
  return last != std::string_view::npos && lane.substr(last + 1).starts_with('k');
}

std::string lane_key(std::string_view lane) {
  std::string_view rest = lane.substr(lane.rfind('#') + 2);
  std::string out;
  for (; !rest.empty(); rest.remove_prefix(1)) {
    if (rest.starts_with("%25") || rest.starts_with("%23")) {
      out += rest[2] == '5' ? '%' : '#';
      rest.remove_prefix(2);
    } else {
      out += rest[0];
    }
  }
  return out;
}

std::string share_of(std::string_view lane) {
  return std::string(lane.substr(0, lane.rfind('#') + 1)) + "0";
}

}  // namespace freshet
