#include "functions/queue/core/delays.h"

#include <utility>

#include "base/points.h"
#include "functions/queue/attributes.h"

namespace freshet {

std::optional<milliseconds> Delays::follow_clock(WallTime wall, BootTime boot) {
  const bool was_set = book_.look(wall, boot) && !FRESHET_PLANTED("delays-by-the-wall-clock");
  if (!was_set || std::exchange(noting_, true)) return std::nullopt;
  FRESHET_REACHED("delays timed by boot time");
  return book_.before_step();
}

bool Delays::note(const std::vector<ItemRef>& page, milliseconds ahead, BootTime boot) {
  bool room = true;
  for (const auto& task : page) {
    const auto at = int_of(task, attribute::kNotBefore, 0);
    room = book_.add(text_of(task, attribute::kId), at, DelayBook::due_by(ahead, at, boot));
  }
  return room;
}

void Delays::noted() {
  noting_ = false;
  next_due_ms_ = 0;
}

bool Delays::delayed(std::string_view id, int64_t not_before_ms, WallTime written, BootTime boot) {
  book_.forget(id);
  const auto offset = book_.offset_when(written, boot);
  const auto due = DelayBook::due_by(offset, not_before_ms, boot);
  const bool was_set = offset != book_.offset();
  if (was_set) FRESHET_REACHED("the clock was set before a delay was stored");
  // While a step of the clock is being noted, note() must not treat this task as one from before the step.
  if (was_set || noting_) book_.add(id, not_before_ms, due);
  ++seen_;
  if (not_before_ms >= next_due_ms_) return was_set;
  next_due_ms_ = not_before_ms;
  return true;
}

std::vector<std::string> Delays::noted_due(BootTime boot, size_t most, milliseconds retry) {
  auto ids = book_.due(boot, most);
  for (const auto& id : ids) book_.postpone(id, boot + retry);
  return ids;
}

bool Delays::still_noted(const std::string& id, const ItemRef& task) {
  const bool is_delayed = task && text_of(task, attribute::kStatus) == state::kDelayed;
  if (is_delayed && book_.times(id, int_of(task, attribute::kNotBefore, 0))) return true;
  book_.forget(id);
  return false;
}

bool Delays::sort(std::vector<ItemRef>& page, bool more, Look& look) const {
  for (auto& task : page) {
    const auto at = int_of(task, attribute::kNotBefore, 0);
    if (at > epoch_ms(look.now) + (FRESHET_PLANTED("delay-cut-short") ? 2'000 : 0)) {
      look.next_ms = at;
      break;
    }
    if (!book_.times(text_of(task, attribute::kId), at)) look.due.push_back(std::move(task));
  }
  return look.due.empty() && look.next_ms == kNeverMs && more;
}

bool Delays::end_look(const Look& look, size_t due, size_t moved, bool more, WallTime now, milliseconds retry) {
  int64_t next = look.next_ms;
  // If nothing could be written, the next attempt would otherwise follow at once.
  if (due > 0 && next == kNeverMs && moved == 0) next = epoch_ms(now + retry);
  const bool goes_on = next == kNeverMs && more;
  if (goes_on) next = 0;
  // If a task was delayed meanwhile, the earlier of the two times counts.
  next_due_ms_ = look.seen == seen_ ? next : std::min(next_due_ms_, next);
  return goes_on;
}

BootTime Delays::next_look(WallTime wall, BootTime boot) const {
  BootTime next = std::max(boot, book_.next_due());
  if (next_due_ms_ != kNeverMs && !noting_) next = std::min(next, boot + due_in(next_due_ms_, wall));
  return next;
}

}  // namespace freshet
