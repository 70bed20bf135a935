#include "functions/queue/policy/delay_book.h"

#include <algorithm>
#include <utility>

namespace freshet {

namespace {
constexpr milliseconds kLongestDelay{int64_t{366} * 24 * 3600 * 1000};

milliseconds whole(BootTime t) {
  return std::chrono::floor<milliseconds>(t.time_since_epoch());
}
}  // namespace

bool DelayBook::look(WallTime wall, BootTime boot) {
  const milliseconds now = wall.time_since_epoch() - whole(boot);
  const milliseconds off = now - std::exchange(offset_, now);
  const BootTime before = std::exchange(looked_, boot);
  if (!std::exchange(known_, true) || (off <= kStep && off >= -kStep)) return false;
  before_ = now - off;
  stepped_after_ = before;
  return true;
}

// `written` comes from after the step only if the clock, as it is set now, showed it between the step and now. The
// difference between `written` and the wall clock alone proves nothing, because an answer may just be late.
milliseconds DelayBook::offset_when(WallTime written, BootTime now) const {
  if (!stepped_after_) return offset_;
  const BootTime at{written.time_since_epoch() - offset_};
  return at + kStep >= *stepped_after_ && at <= now + kStep ? offset_ : before_;
}

BootTime DelayBook::due_by(milliseconds offset, int64_t not_before, BootTime now) {
  const milliseconds wall = whole(now) + offset;
  const int64_t latest = (wall + kLongestDelay).count();
  const milliseconds left = milliseconds(std::clamp<int64_t>(not_before, 0, latest)) - wall;
  return now + std::max(left, milliseconds(0));
}

bool DelayBook::add(std::string_view id, int64_t not_before, BootTime due) {
  std::string key(id);
  if (tasks_.contains(key)) return true;
  if (tasks_.size() >= kMost) return false;
  by_due_.emplace(due, key);
  tasks_.emplace(std::move(key), Delay{not_before, due});
  return true;
}

void DelayBook::forget(std::string_view id) {
  if (tasks_.empty()) return;
  const auto task = tasks_.find(std::string(id));
  if (task == tasks_.end()) return;
  by_due_.erase(std::pair(task->second.due, task->first));
  tasks_.erase(task);
}

void DelayBook::postpone(std::string_view id, BootTime due) {
  const auto task = tasks_.find(std::string(id));
  if (task == tasks_.end()) return;
  by_due_.erase(std::pair(task->second.due, task->first));
  task->second.due = due;
  by_due_.emplace(due, task->first);
}

bool DelayBook::times(std::string_view id, int64_t not_before) const {
  if (tasks_.empty()) return false;
  const auto task = tasks_.find(std::string(id));
  return task != tasks_.end() && task->second.not_before == not_before;
}

BootTime DelayBook::due_of(std::string_view id) const {
  const auto task = tasks_.find(std::string(id));
  return task == tasks_.end() ? BootTime::max() : task->second.due;
}

std::vector<std::string> DelayBook::due(BootTime now, size_t limit) const {
  std::vector<std::string> ids;
  for (auto at = by_due_.begin(); at != by_due_.end() && at->first <= now && ids.size() < limit; ++at) {
    ids.push_back(at->second);
  }
  return ids;
}

BootTime DelayBook::next_due() const {
  return by_due_.empty() ? BootTime::max() : by_due_.begin()->first;
}

}  // namespace freshet
