#include "functions/queue/policy_history.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

PolicyChange change(uint64_t number) {
  const QueuePolicy policy{{"RATE_LIMIT", std::to_string(number)}};
  return {WallTime(milliseconds(number)), std::make_shared<const QueuePolicy>(policy)};
}

TEST(PolicyHistory, GivesTheChangesFromANumberOn) {
  PolicyHistory history;
  EXPECT_EQ(history.from(0).next, 0u);
  for (uint64_t number = 0; number < 3; ++number) history.add(change(number));
  const auto all = history.from(0);
  ASSERT_EQ(all.changes.size(), 3u);
  EXPECT_EQ(*all.changes[2].policy, *change(2).policy);
  EXPECT_EQ(all.changes[2].at, change(2).at);
  EXPECT_EQ(all.next, 3u);
  EXPECT_EQ(history.from(2).changes.size(), 1u);
  EXPECT_TRUE(history.from(3).changes.empty());
  EXPECT_TRUE(history.from(UINT64_MAX).changes.empty()) << "a place of an earlier life of the daemon";
}

TEST(PolicyHistory, ForgetsOldChangesAndKeepsTheirNumbers) {
  PolicyHistory history;
  for (uint64_t number = 0; number < PolicyHistory::kMost + 5; ++number) history.add(change(number));
  const auto all = history.from(0);
  ASSERT_EQ(all.changes.size(), PolicyHistory::kMost);
  EXPECT_EQ(*all.changes.front().policy, *change(5).policy);
  EXPECT_EQ(all.next, PolicyHistory::kMost + 5);
  EXPECT_EQ(*history.from(all.next - 1).changes.front().policy, *change(all.next - 1).policy);
  EXPECT_EQ(history.from(0).missing, 5u);
  EXPECT_EQ(history.from(4).missing, 1u);
  EXPECT_EQ(history.from(5).missing, 0u);
}

TEST(PolicyHistory, KnowsWhatItBeganWith) {
  PolicyHistory history;
  history.begin(change(7));
  history.add(change(8));
  EXPECT_EQ(history.from(1).first.at, change(7).at);
  EXPECT_EQ(*history.from(1).first.policy, *change(7).policy);
  EXPECT_EQ(history.from(0).changes.size(), 1u);
}

}  // namespace
}  // namespace freshet
