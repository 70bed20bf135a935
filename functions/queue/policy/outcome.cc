#include "functions/queue/policy/outcome.h"

#include <algorithm>
#include <utility>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/backoff.h"
#include "runtime/api/cancel_mark.h"

namespace freshet {

namespace {

// A newer task of the key has replaced the task, so it does not wait again.
void end_if_replaced(const ItemRef& task, Outcome& out) {
  const bool waits = out.to == state::kPending || out.to == state::kDelayed;
  if (waits && has(task, attribute::kReplacedBy)) FRESHET_REACHED("a replaced task fails");
  if (waits && has(task, attribute::kReplacedBy)) out.if_not_replaced = std::exchange(out.to, state::kCancelled);
}

Outcome delayed_or_pending(milliseconds delay) {
  Outcome out;
  out.to = delay.count() > 0 ? state::kDelayed : state::kPending;
  out.delay = delay;
  return out;
}

}  // namespace

int attempts_allowed(const ItemRef& task, const QueueSettings& settings) {
  int64_t own = int_of(task, attribute::kMaxAttempts, settings.max_attempts);
  return static_cast<int>(std::clamp<int64_t>(own, 1, 1'000'000));
}

Outcome after_failure(const ItemRef& task, const QueueSettings& settings, bool final, std::optional<milliseconds> delay,
                      double unit) {
  Outcome out;
  auto attempt = static_cast<int>(std::max<int64_t>(attempt_of(task), 1));
  if (is_cancel_requested(task)) {
    FRESHET_REACHED("a task in work is cancelled");
    out.to = state::kCancelled;
  } else if (final || !settings.retry_failures) {
    out.to = state::kFailure;
  } else if (attempt >= attempts_allowed(task, settings) + (FRESHET_PLANTED("one-attempt-too-many") ? 1 : 0)) {
    FRESHET_REACHED("no attempt left");
    out.to = state::kDead;
  } else {
    out = delayed_or_pending(delay ? *delay : backoff_delay(settings.backoff, attempt, unit));
  }
  out.failed = true;
  end_if_replaced(task, out);
  return out;
}

Outcome after_release(const ItemRef& task, std::optional<milliseconds> delay) {
  Outcome out = delayed_or_pending(delay.value_or(milliseconds(0)));
  if (is_cancel_requested(task)) out.to = state::kCancelled;
  out.give_back = true;
  end_if_replaced(task, out);
  return out;
}

Outcome after_restart(const ItemRef& task, const QueueSettings& settings) {
  QueueSettings at_once = settings;
  at_once.retry_failures = true;
  return after_failure(task, at_once, false, milliseconds(0), 0);
}

}  // namespace freshet
