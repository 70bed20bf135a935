// A take decides what to do with the tasks that it read, without store and loop.
#include "functions/queue/core/queue_core.h"

#include <gtest/gtest.h>

#include "functions/queue/attributes.h"
#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kTable;

struct TestedCore {
  TestedCore() { input.max = 1000; }

  QueueSettings settings;
  Random random{7};
  QueueCore core{kTable, settings, random, "node", "2"};
  Now now{WallTime(milliseconds(1'000'000)), BootTime(seconds(100)), WallTime(milliseconds(1'000'000)),
          WallTime(milliseconds(1'000'000)), false};
  TakeInput input;
  std::vector<TakenTask> taken;

  TakePlan plan(const std::vector<ItemRef>& found, size_t wanted) {
    return core.plan_take(found, true, false, wanted, input, now);
  }
  // The store takes all writes of the plan.
  TakeOutcome answer(TakePlan& plan) {
    std::vector<Result<WriteOutput>> answers;
    for (const auto& step : plan.steps) {
      Item item = step.task.decode();
      item.set(attribute::kStatus, Value(step.lease.empty() ? state::kShed : state::kTaken));
      if (!step.lease.empty()) item.set(attribute::kLease, Value(step.lease));
      answers.emplace_back(WriteOutput{ItemRef::encode(item), nullptr});
    }
    return core.take_answered(plan, answers, input, now, taken);
  }
};

Item item(const std::string& id) {
  Item out;
  out.set(attribute::kId, Value(id));
  out.set(attribute::kStatus, Value(state::kPending));
  out.set(attribute::kCreated, Value::number(999'000));
  out.set(attribute::kAttempt, Value::number(0));
  return out;
}

ItemRef task(const std::string& id) {
  return ItemRef::encode(item(id));
}

ItemRef with(const std::string& id, std::string_view name, Value value) {
  Item out = item(id);
  out.set(name, std::move(value));
  return ItemRef::encode(out);
}

std::string steps(const TakePlan& plan) {
  std::string out;
  for (const auto& step : plan.steps) {
    out += std::string(text_of(step.task, attribute::kId)) + (step.lease.empty() ? "-" : "+");
  }
  return out;
}

TEST(QueueCore, ATakeClaimsAsManyAsItMayInTheirOrder) {
  TestedCore t;
  auto plan = t.plan({task("a"), task("b"), task("c")}, 2);
  EXPECT_EQ(steps(plan), "a+b+");
  EXPECT_EQ(plan.writes.size(), 2u);
  EXPECT_EQ(plan.steps[0].lease, "node:2:1");
  const auto outcome = t.answer(plan);
  EXPECT_FALSE(outcome.failed);
  ASSERT_EQ(t.taken.size(), 2u);
  EXPECT_EQ(t.taken[1].lease, "node:2:2");
  EXPECT_EQ(t.taken[0].waiting_since, WallTime(milliseconds(999'000)));
  EXPECT_EQ(t.core.claims.leases().mine(), 2u);
  EXPECT_EQ(t.core.claims.leases().next_end(), t.now.boot + t.settings.lease);
}

TEST(QueueCore, WhatIsTooLateIsShedAndTakesNoPlace) {
  TestedCore t;
  auto plan = t.plan({with("late", attribute::kDeadline, Value::number(1)), task("a")}, 1);
  EXPECT_EQ(steps(plan), "late-a+");
  EXPECT_EQ(plan.steps[0].shed_reason, "deadline");
  const auto outcome = t.answer(plan);
  ASSERT_EQ(outcome.shed.size(), 1u);
  EXPECT_EQ(outcome.shed[0].reason, "deadline");
  EXPECT_EQ(t.taken.size(), 1u);
  EXPECT_EQ(t.core.admission.rates(t.now.boot).tasks, 2) << "both have left the queue";
}

TEST(QueueCore, ATaskWithoutAttemptsEnds) {
  TestedCore t;
  t.settings.max_attempts = 3;
  auto plan = t.plan({with("used", attribute::kAttempt, Value::number(3))}, 1);
  EXPECT_EQ(steps(plan), "used-");
  EXPECT_EQ(t.answer(plan).ended.size(), 1u);
}

TEST(QueueCore, OfOneKeyATaskThatReplacesOthersWaitsForTheFirst) {
  TestedCore t;
  Item latest = item("b");
  latest.set(attribute::kKey, Value("k"));
  latest.set(attribute::kLiveKey, Value("k"));
  latest.set(attribute::kReplace, Value::boolean(true));
  const auto second = ItemRef::encode(latest);
  EXPECT_EQ(steps(t.plan({with("a", attribute::kKey, Value("k")), second}, 9)), "a+");
  EXPECT_EQ(t.core.keys.passed(), 1u);
  EXPECT_FALSE(t.core.waits_for_key(second)) << "no claim is in flight, and none was taken";
  t.core.keys.claim_sent("k");
  EXPECT_TRUE(t.core.waits_for_key(second));
  EXPECT_TRUE(t.core.is_passed_over(second, t.now));
  EXPECT_EQ(
      t.plan({with("m", attribute::kKey, Value("k")), with("x", attribute::kReplacedBy, Value("b"))}, 9).marked.size(),
      0u)
      << "a task without a key was marked by a client";
}

TEST(QueueCore, WhatIsPausedOrInFlightIsPassedOver) {
  TestedCore t;
  t.core.pauses.put({Pause::Of::kGroup, "g", {}, {}, {}, {}}, Pauses::kLastSlot);
  const auto grouped = with("a", attribute::kGroup, Value("g"));
  EXPECT_TRUE(t.core.is_passed_over(grouped, t.now));
  EXPECT_EQ(steps(t.plan({grouped, task("b")}, 9)), "b+") << "it was paused while the take read";
  t.core.claims.sent("c");
  EXPECT_TRUE(t.core.is_passed_over(task("c"), t.now));
  EXPECT_EQ(t.core.passed_by_now(), 1u);
  t.core.pauses.put({Pause::Of::kQueue, {}, {}, {}, {}, {}}, Pauses::kLastSlot - 1);
  EXPECT_EQ(steps(t.plan({task("b")}, 9)), "");
}

TEST(QueueCore, ByAClockThatIsNotTrustedNothingIsStartedOrShed) {
  TestedCore t;
  const auto dated = with("a", attribute::kDeadline, Value::number(999'500));
  t.now.earliest = WallTime(milliseconds(900'000));
  EXPECT_FALSE(t.core.is_doubtful(dated, t.now)) << "the clock is trusted";
  t.now.doubted = true;
  EXPECT_TRUE(t.core.is_doubtful(dated, t.now)) << "late by one time and not by the other";
  t.now.earliest = t.now.wall;
  EXPECT_FALSE(t.core.is_doubtful(dated, t.now)) << "late by both";
}

TEST(QueueCore, RefusedClaimsAreNoLeasesAndATaskWithoutRoomIsSetAside) {
  TestedCore t;
  auto plan = t.plan({task("a"), task("b"), task("c")}, 9);
  std::vector<Result<WriteOutput>> answers;
  answers.emplace_back(fail(ErrorCode::kConditionalCheckFailed, "somebody was faster"));
  answers.emplace_back(fail(ErrorCode::kValidation, "too large"));
  answers.emplace_back(fail(ErrorCode::kThroughputExceeded, "full"));
  const auto outcome = t.core.take_answered(plan, answers, t.input, t.now, t.taken);
  EXPECT_TRUE(t.taken.empty());
  EXPECT_EQ(t.core.claims.leases().size(), 0u);
  ASSERT_EQ(outcome.too_large.size(), 1u);
  EXPECT_EQ(outcome.too_large[0].why, "too large");
  ASSERT_TRUE(outcome.failed);
  EXPECT_EQ(outcome.failed->code, ErrorCode::kThroughputExceeded);
}

TEST(QueueCore, AGroupAtItsLimitIsLeftAndOthersAreTaken) {
  TestedCore t;
  t.settings.limits.concurrency = 1;
  t.core.limits.follow_names(t.now.boot);
  const auto first = with("a", attribute::kGroup, Value("g"));
  const auto second = with("b", attribute::kGroup, Value("g"));
  EXPECT_EQ(steps(t.plan({first, second, task("c")}, 9)), "a+c+");
  ChosenByName chosen;
  EXPECT_FALSE(t.core.has_room(first, chosen, t.now)) << "a claim is under way";
  EXPECT_TRUE(t.core.has_room(with("d", attribute::kDeadline, Value::number(1)), chosen, t.now));
}

}  // namespace
}  // namespace freshet
