// The state in which a claim leaves its task.
#include "functions/queue/policy/outcome.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(Outcome, FailureUsesTheAttemptAndBacksOff) {
  QueueSettings settings;
  settings.max_attempts = 3;
  settings.backoff = {100_ms, 1000_ms, 2, 0};
  auto second = after_failure(task({{"attempt", Value::number(2)}}), settings, false, {}, 0);
  EXPECT_EQ(second.to, state::kDelayed);
  EXPECT_EQ(second.delay, 200_ms);
  EXPECT_FALSE(second.give_back);
  EXPECT_EQ(after_failure(task({{"attempt", Value::number(3)}}), settings, false, {}, 0).to, state::kDead);
  EXPECT_EQ(after_failure(task({{"attempt", Value::number(2)}}), settings, true, {}, 0).to, state::kFailure);
  EXPECT_EQ(after_failure(task({{"attempt", Value::number(2)}}), settings, false, 0_ms, 0).to, state::kPending);
  auto own = task({{"attempt", Value::number(3)}, {"maxAttempts", Value::number(4)}});
  EXPECT_EQ(after_failure(own, settings, false, {}, 0).to, state::kDelayed);
  settings.retry_failures = false;
  EXPECT_EQ(after_failure(task({{"attempt", Value::number(1)}}), settings, false, {}, 0).to, state::kFailure);
  EXPECT_EQ(after_restart(task({{"attempt", Value::number(1)}}), settings).to, state::kPending);
  EXPECT_EQ(after_restart(task({{"attempt", Value::number(3)}}), settings).to, state::kDead);
}

TEST(Outcome, ReleaseGivesTheAttemptBack) {
  auto at_once = after_release(task({{"attempt", Value::number(1)}}), {});
  EXPECT_EQ(at_once.to, state::kPending);
  EXPECT_TRUE(at_once.give_back);
  EXPECT_FALSE(at_once.failed);
  auto later = after_release(task({}), 700_ms);
  EXPECT_EQ(later.to, state::kDelayed);
  EXPECT_EQ(later.delay, 700_ms);
}

TEST(Outcome, ACancelledTaskDoesNotComeBack) {
  auto cancelled = task({{"attempt", Value::number(1)}, {"cancelRequested", Value::boolean(true)}});
  EXPECT_EQ(after_release(cancelled, {}).to, state::kCancelled);
  EXPECT_EQ(after_failure(cancelled, {}, false, {}, 0).to, state::kCancelled);
  EXPECT_EQ(after_failure(cancelled, {}, true, {}, 0).to, state::kCancelled);
  QueueSettings final_failures;
  final_failures.retry_failures = false;
  EXPECT_EQ(after_failure(cancelled, final_failures, false, {}, 0).to, state::kCancelled);
}

}  // namespace
}  // namespace freshet
