#include "functions/queue/core/shedder.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"

namespace freshet {

namespace {

constexpr size_t kFetchedAhead = 8;                 // Items that have waited long are in no cache.
constexpr milliseconds kLongest{24 * 3600 * 1000};  // The timer looks again by then: clocks step.

WallTime deadline_of(const ItemRef& task) {
  return WallTime(milliseconds(int_of(task, attribute::kDeadline, 0)));
}

}  // namespace

void Shedder::begin(Step& step) {
  step.seen = seen_;
  again_ = step.began + ShedPace::kSettled;
}

void Shedder::page_came(Step& step, const std::vector<ItemRef>& tasks) {
  if (!tasks.empty()) FRESHET_REACHED("the timer looks for hopeless tasks");
  if (step.until != BootTime{}) return;
  milliseconds late{0};
  if (!tasks.empty()) late = std::chrono::floor<milliseconds>(step.margin) - (deadline_of(tasks[0]) - step.stale_at);
  step.until = step.began + ShedPace::lull(late);
}

Shedder::Alike Shedder::alike(Step& step, const std::vector<ItemRef>& tasks, size_t& looked, BootTime boot,
                              bool ttl_in_milliseconds, const std::function<bool(const ItemRef&)>& in_flight) {
  Alike out;
  // Shed tasks are not in the way of the next step, but tasks that could not be shed are.
  const bool over = looked > 0 && step.others_wait && !left_ && boot >= step.until;
  if (over) return out;
  const size_t most = step.others_wait ? ShedPace::kTogether : ShedPace::kStep;
  while (looked < tasks.size() && !step.first_hope && out.tasks.size() < most) {
    const auto& task = tasks[looked];
    if (looked + kFetchedAhead < tasks.size()) tasks[looked + kFetchedAhead].prefetch();
    const auto reason = expired(task, step.stale_at, ttl_in_milliseconds, step.margin);
    if (reason.empty()) {
      step.first_hope = deadline_of(task) - step.stale_at - std::chrono::floor<milliseconds>(step.margin);
      break;
    }
    const bool differs =
        reason != out.reason || (!out.tasks.empty() && keeps_own_ttl(task) != keeps_own_ttl(out.tasks[0]));
    if (!out.tasks.empty() && differs) break;
    out.reason = reason;
    if (in_flight(task)) {
      left_ = true;
    } else {
      out.tasks.push_back(task);
    }
    ++looked;
  }
  return out;
}

void Shedder::shed(Step& step, const ItemRef& task) {
  ++step.shed;
  step.bytes += task.encoded().size();
}

void Shedder::page_done(Step& step, size_t looked, size_t tasks, Item end) {
  step.more = !step.first_hope && (looked < tasks || !end.empty());
  if (step.more && (left_ || tasks == 0)) from_ = std::move(end);  // Those of the page may all be filtered out.
}

void Shedder::page_failed(Step& step, WallTime now, milliseconds retry) {
  step.failed = true;
  hopeless_ms_ = epoch_ms(now + retry);
}

void Shedder::end(const Step& step, WallTime wall, BootTime boot, milliseconds retry) {
  if (step.failed) return;
  milliseconds next{0};
  bool none = false;
  if (step.more) {
    if (!left_) again_ = boot + (step.others_wait ? nanoseconds(0) : ShedPace::rest(boot - step.began));
  } else {
    const bool left = std::exchange(left_, false);
    none = !step.first_hope && !left;
    next = std::min(step.first_hope.value_or(kLongest), left ? retry : kLongest);
    next = std::clamp(next, ShedPace::kSettled, kLongest);
  }
  const int64_t next_ms = none ? kNeverMs : epoch_ms(wall) + next.count();
  hopeless_ms_ = step.seen == seen_ ? next_ms : std::min(hopeless_ms_, next_ms);
}

bool Shedder::due_by(int64_t deadline_ms, nanoseconds margin) {
  if (deadline_ms <= 0 || deadline_ms == kNeverMs) return false;
  const auto hopeless_ms = deadline_ms - std::chrono::floor<milliseconds>(margin).count();
  if (hopeless_ms >= hopeless_ms_) return false;
  ++seen_;
  hopeless_ms_ = hopeless_ms;
  return true;
}

BootTime Shedder::next_look(WallTime wall, BootTime boot) const {
  return hopeless_ms_ == kNeverMs ? BootTime::max() : std::max(boot + due_in(hopeless_ms_, wall), again_);
}

}  // namespace freshet
