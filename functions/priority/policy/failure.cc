#include "functions/priority/policy/failure.h"

#include <algorithm>

#include "functions/queue/policy/backoff.h"

namespace freshet::priority {
namespace {

bool used_up(const Settings& settings, int64_t failures) {
  return settings.max_failures > 0 && failures >= settings.max_failures;
}

}  // namespace

Return after_restore(const Settings& settings, int64_t failures, bool failed, std::optional<milliseconds> delay,
                     double unit) {
  Return out;
  out.failures = failures + (failed ? 1 : 0);
  if (failed && used_up(settings, out.failures)) {
    out.to = RecordPlace::kDead;
    return out;
  }
  if (!delay && failed)
    delay = backoff_delay(settings.backoff, static_cast<int>(std::min<int64_t>(out.failures, 1000)), unit);
  out.delay = delay.value_or(milliseconds(0));
  out.to = out.delay.count() > 0 ? RecordPlace::kDelayed : RecordPlace::kReady;
  return out;
}

Return after_timeout(const Settings& settings, int64_t failures) {
  Return out;
  out.failures = failures + 1;
  if (used_up(settings, out.failures)) out.to = RecordPlace::kDead;
  return out;
}

}  // namespace freshet::priority
