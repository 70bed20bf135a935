// LATE: what it costs when a task is done late, in a word.
#include "functions/late.h"

#include <gtest/gtest.h>

#include "functions/settings.h"

namespace freshet {
namespace {

QueueSettings settings(const Environment& environment) {
  const auto read = queue_settings(environment);
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(QueueSettings{});
}

TEST(Late, EachWordStandsForAPolicy) {
  EXPECT_EQ(settings({{"LATE", "useless"}}).order, Order::kDeadline);
  EXPECT_EQ(settings({{"LATE", "useless"}}).deadline_margin, DeadlineMargin::kOff);
  EXPECT_EQ(settings({{"LATE", "fades"}}).order, Order::kNewestFirst);
  EXPECT_EQ(settings({{"LATE", "fine"}}).order, Order::kAdaptive);
  EXPECT_EQ(settings({{"LATE", "fine"}}).deadline_margin, DeadlineMargin::kYield);
  for (const LatePolicy& policy : late_policies()) {
    const QueueSettings read = settings({{"LATE", std::string(policy.word)}});
    const Environment expected = policy_environment(read);
    EXPECT_EQ(policy.settings(), "ORDER=" + expected.at("ORDER") + " DEADLINE_MARGIN=" +
                                     expected.at("DEADLINE_MARGIN") + " REFUSE_LATE=" + expected.at("REFUSE_LATE"));
  }
}

TEST(Late, ASettingThatIsThereWins) {
  const QueueSettings read = settings({{"LATE", "fine"}, {"ORDER", "fifo"}});
  EXPECT_EQ(read.order, Order::kOldestFirst);
  EXPECT_EQ(read.deadline_margin, DeadlineMargin::kYield);
}

TEST(Late, AnotherWordIsRefused) {
  const auto read = queue_settings({{"LATE", "useles"}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "LATE is 'useles': it must be 'useless', 'fades' or 'fine'");
}

TEST(Late, AQueueThatRunsTakesTheWord) {
  const auto changed = with_policy(settings({{"ORDER", "fifo"}, {"MAX_ATTEMPTS", "7"}}), {{"LATE", "useless"}});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->order, Order::kDeadline);
  EXPECT_EQ(changed->max_attempts, 7);
  const auto both = with_policy(settings({}), {{"LATE", "useless"}, {"ORDER", "fifo"}});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->order, Order::kOldestFirst);
  EXPECT_FALSE(with_policy(settings({}), {{"LATE", "never"}}));
}

TEST(Late, WithoutItNothingChanges) {
  EXPECT_EQ(with_late({{"ORDER", "fifo"}}), (Environment{{"ORDER", "fifo"}}));
  EXPECT_EQ(with_late({{"LATE", "sometimes"}}), (Environment{{"LATE", "sometimes"}}));
}

}  // namespace
}  // namespace freshet
