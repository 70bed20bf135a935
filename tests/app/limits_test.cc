// The lab's scenarios with a limit: the oracle, the models of others, and the report. Freshet's own figures are in
// bench/RESULTS.md; here it only has to do better than a queue that knows the first limit.
#include "app/lab/limits.h"

#include <gtest/gtest.h>

namespace freshet::lab {
namespace {

LimitFigures figures(const LimitCase& one, const char* policy) {
  auto out = run_limits(one, *limit_policy_of(policy));
  EXPECT_TRUE(out) << out.error().message;
  return out ? *out : LimitFigures();
}

// 20, 10 and 40 a second over 110 s each.
TEST(Limits, TheOracleUsesTheWholeLimitAndIsNeverRefused) {
  for (const auto kind : limiter_kinds()) {
    SCOPED_TRACE(name_of(kind));
    const auto oracle = figures({kind, HintKind::kNone, 3}, "oracle");
    EXPECT_EQ(oracle.refused_in_all, 0u);
    ASSERT_EQ(oracle.in_time_by_phase.size(), 3u);
    if (kind == LimiterKind::kShared) continue;
    const double length = kind == LimiterKind::kWindow60s ? 120 : kind == LimiterKind::kSliding ? 100 : 110;
    const double slack = kind == LimiterKind::kConcurrency ? 0.2 : 0.02;  // Calls take 200 ms only on average.
    EXPECT_NEAR(static_cast<double>(oracle.in_time_by_phase[0]) / (20 * length), 1, slack);
    EXPECT_NEAR(static_cast<double>(oracle.in_time_by_phase[1]) / (10 * length), 1, slack);
    EXPECT_NEAR(static_cast<double>(oracle.in_time_by_phase[2]) / (40 * length), 1, slack);
  }
}

TEST(Limits, AQueueThatKnowsTheFirstLimitIsRefusedAtTheSecondAndIdleAtTheThird) {
  const LimitCase one{LimiterKind::kTokenBucket, HintKind::kNone, 3};
  const auto oracle = figures(one, "oracle");
  const auto bucket = figures(one, "bucket-lifo");
  EXPECT_GT(bucket.in_time_by_phase[0], oracle.in_time_by_phase[0] * 98 / 100);
  EXPECT_GT(bucket.refused, bucket.calls / 8);
  EXPECT_LT(bucket.in_time_by_phase[2], oracle.in_time_by_phase[2] * 55 / 100);
  EXPECT_LT(figures(one, "bucket-fifo").in_time, bucket.in_time / 5) << "it serves what is over";
}

TEST(Limits, FreshetLearnsTheLimit) {
  const LimitCase one{LimiterKind::kTokenBucket, HintKind::kNone, 3};
  const auto freshet = figures(one, "adaptive");
  EXPECT_GT(freshet.in_time, figures(one, "bucket-lifo").in_time * 11 / 10);
  EXPECT_LT(freshet.refused, freshet.calls / 20);
  LimitCase alone = one;
  alone.quiet_alone = true;
  EXPECT_EQ(figures(alone, "adaptive").quiet_ms.size(), freshet.quiet_ms.size());
}

// The quiet group has a limit of its own, and never meets it.
TEST(Limits, FreshetLearnsTheLimitOfEachGroup) {
  const LimitCase one{LimiterKind::kEachGroup, HintKind::kNone, 3};
  const auto freshet = figures(one, "adaptive");
  EXPECT_GT(freshet.in_time, figures(one, "oracle").in_time * 95 / 100);
  EXPECT_LT(freshet.refused, freshet.calls / 50);
}

TEST(Limits, SameSeedSameReport) {
  LimitExperiment experiment;
  experiment.limiters = {LimiterKind::kShared};
  experiment.hints = {HintKind::kRateLimit};
  experiment.policies = {*limit_policy_of("fixed"), *limit_policy_of("bucket-lifo")};
  experiment.seeds = 1;
  experiment.phase = seconds(15);
  const auto first = run(experiment), second = run(experiment);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(limits_table(*first), limits_table(*second));
  EXPECT_NE(limits_table(*first).find("| shared | ratelimit | fixed | "), std::string::npos);
  EXPECT_EQ(limits_json(experiment, *first), limits_json(experiment, *second));
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ((*first)[0].best_other, (*first)[1].of_oracle);
  experiment.phase = seconds(10);
  EXPECT_EQ(run(experiment).error().message,
            "runs with three limits, of 10 s each, are too short for the limiter shared: they need more than 30 s");
}

}  // namespace
}  // namespace freshet::lab
