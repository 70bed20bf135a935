// Limits as a part by itself: no store, no loop.
#include "functions/queue/core/limits.h"

#include <gtest/gtest.h>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kNow;

ItemRef limited_task(const std::string& group, const std::string& key = {}, std::optional<double> cost = {}) {
  Item item;
  item.set(attribute::kId, Value("t"));
  item.set(attribute::kStatus, Value(state::kPending));
  if (!group.empty()) item.set(attribute::kGroup, Value(group));
  if (!key.empty()) item.set(attribute::kKey, Value(key));
  if (cost) item.set(attribute::kCost, Value::number(static_cast<int64_t>(*cost)));
  return ItemRef::encode(item);
}

QueueSettings two_at_a_time() {
  QueueSettings out;
  out.limits.concurrency = 2;
  return out;
}

Settlement settlement(Settlement::Kind kind, const std::string& lease) {
  Settlement out;
  out.kind = kind;
  out.id = "t";
  out.lease = lease;
  return out;
}

TEST(Limits, TheNameThatALimitGoesByIsTheGroupOrTheKey) {
  QueueSettings settings;
  Limits limits(settings);
  EXPECT_EQ(limits.name_of(limited_task("g", "k")), "g");
  settings.limits.by_key = true;
  EXPECT_EQ(limits.name_of(limited_task("g", "k")), "k");
  EXPECT_EQ(limits.name_of(limited_task("g")), "");
  EXPECT_EQ(limits.units_of(limited_task("g", "", 7)), 1) << "tasks are counted";
  settings.limits.counts_cost = true;
  settings.limits.default_cost = 3;
  EXPECT_EQ(limits.units_of(limited_task("g", "", 7)), 7);
  EXPECT_EQ(limits.units_of(limited_task("g")), 3);
}

TEST(Limits, ATakeHasRoomForAsManyOfAGroupAsMayStart) {
  QueueSettings settings = two_at_a_time();
  Limits limits(settings);
  limits.follow_names(kNow);
  EXPECT_TRUE(limits.on());
  ChosenByName chosen;
  EXPECT_TRUE(limits.has_room(limited_task("a"), chosen, kNow));
  EXPECT_TRUE(limits.has_room(limited_task("a"), chosen, kNow));
  EXPECT_FALSE(limits.has_room(limited_task("a"), chosen, kNow));
  EXPECT_TRUE(limits.has_room(limited_task("b"), chosen, kNow)) << "another group";
  EXPECT_FALSE(limits.is_full(lane_name(0, "a"), kNow)) << "nothing of it is in work yet";
  limits.in_work_of_group("a", 2, kNow);
  EXPECT_TRUE(limits.is_full(lane_name(0, "a"), kNow));
  EXPECT_FALSE(limits.is_full(lane_name(0, ""), kNow)) << "tasks without a group have no limit";
  std::shared_ptr<KeyCall> call;
  EXPECT_FALSE(limits.admit(limited_task("a"), call, kNow));
  limits.in_work_of_group("a", 1, kNow);
  EXPECT_TRUE(limits.admit(limited_task("a"), call, kNow));
  EXPECT_TRUE(call);
  limits.in_work_of_key("a", 9, kNow);
  limits.claimed(limited_task("a"), *call, false, kNow);
  EXPECT_FALSE(limits.is_full(lane_name(0, "a"), kNow)) << "keys do not count here, and the claim was refused";
}

TEST(Limits, WhatATaskReallyCostIsChargedWhenItsClaimEnds) {
  QueueSettings settings;
  settings.limits.rate = 1;
  settings.limits.burst = 10;
  settings.limits.counts_cost = true;
  Limits limits(settings);
  limits.follow_names(kNow);
  const BootTime full = kNow + seconds(20);  // The bucket was empty at first.
  std::shared_ptr<KeyCall> call;
  const auto cheap = limited_task("a", "", 1);
  ASSERT_TRUE(limits.admit(cheap, call, full));
  limits.claimed(cheap, *call, true, full);
  Lease lease{"l", 0, milliseconds(1000), true, cheap};
  lease.key_call = call;
  auto done = settlement(Settlement::Kind::kComplete, "l");
  done.cost = 30;
  limits.settled(done, nullptr, cheap, full);
  EXPECT_FALSE(limits.is_full(lane_name(0, "a"), full)) << "a lease that is not known charges nothing";
  limits.settled(done, &lease, cheap, full);
  EXPECT_TRUE(limits.is_full(lane_name(0, "a"), full)) << "it cost thirty times as much";
}

TEST(Limits, RateLimitCountsWhatPullWorkersTakeAndNotTheProcessor) {
  QueueSettings settings;
  settings.work.rate_limit = 10;
  settings.work.rate_burst = 3;
  Limits limits(settings);
  TakeInput pull;
  pull.max = 100;
  TakeInput processor = pull;
  processor.starts_later = true;
  EXPECT_TRUE(limits.is_rated(pull));
  EXPECT_FALSE(limits.is_rated(processor));
  EXPECT_EQ(limits.allowed(processor, kNow), 100u);
  const BootTime later = kNow + seconds(10);
  limits.allowed(pull, kNow);
  EXPECT_EQ(limits.allowed(pull, later), 3u);
  std::vector<std::shared_ptr<RatedCall>> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(limits.charge(limited_task(""), later));
  EXPECT_EQ(limits.allowed(pull, later), 0u);
  EXPECT_TRUE(limits.is_used_up(pull, later));
  EXPECT_FALSE(limits.is_used_up(processor, later));

  Lease lease{"l", 0, milliseconds(1000), true, limited_task("")};
  lease.call = calls[0];
  auto back = settlement(Settlement::Kind::kRelease, "l");
  back.begun = false;
  EXPECT_FALSE(limits.call_ended(settlement(Settlement::Kind::kRelease, "other"), &lease, later));
  EXPECT_TRUE(limits.call_ended(back, &lease, later));
  EXPECT_EQ(limits.allowed(pull, later), 1u) << "the work never began: what was charged is given back";
}

TEST(Limits, WhereRateLimitCountsCostATakeHasABudget) {
  QueueSettings settings;
  settings.work.rate_limit = 10;
  settings.work.rate_burst = 5;
  settings.limits.counts_cost = true;
  Limits limits(settings);
  TakeInput pull;
  pull.max = 100;
  limits.allowed(pull, kNow);
  EXPECT_EQ(limits.allowed(pull, kNow + seconds(10)), 100u);
  EXPECT_EQ(pull.budget, 5);
  pull.budget = 0;
  EXPECT_TRUE(limits.is_used_up(pull, kNow + seconds(10)));
}

TEST(Limits, AChangeSaysWhetherItIsOfAnotherKind) {
  QueueSettings settings = two_at_a_time();
  const Limits limits(settings);
  LimitSettings before = settings.limits;
  EXPECT_FALSE(limits.compare(before).kind);
  before.concurrency = 7;
  EXPECT_FALSE(limits.compare(before).kind) << "another number";
  before.by_key = true;
  EXPECT_TRUE(limits.compare(before).kind);
  EXPECT_TRUE(limits.compare(before).lanes) << "keys had lanes";
  EXPECT_TRUE(limits.compare(LimitSettings()).kind) << "there were none";
  EXPECT_FALSE(limits.compare(LimitSettings()).lanes);
}

TEST(Limits, ALearntLimitIsKeptOnceThatItHasMoved) {
  QueueSettings settings;
  settings.work.rate_adaptive = true;
  Limits limits(settings);
  EXPECT_TRUE(limits.remembered({50, 0}, kNow));
  EXPECT_DOUBLE_EQ(limits.downstream().rate->rate(), 50);
  EXPECT_FALSE(limits.looked(kNow)) << "a moment ago";
  EXPECT_EQ(limits.next_look(kNow), kNow + KeptRate::kEach);
  EXPECT_FALSE(limits.looked(kNow + KeptRate::kEach)) << "nothing was started, so nothing was learnt";
  settings.work.rate_adaptive = false;
  limits.follow_work();
  EXPECT_FALSE(limits.remembered({50, 0}, kNow));
  EXPECT_EQ(limits.next_look(kNow), BootTime::max());
}

TEST(KeptRate, AWriteThatFailedIsMadeAgain) {
  KeptRate kept;
  EXPECT_TRUE(kept.has_moved({50, 0})) << "nothing was written yet";
  kept.kept({50, 0});
  EXPECT_FALSE(kept.has_moved({51, 0})) << "less than a twentieth";
  kept.lost();
  EXPECT_TRUE(kept.has_moved({51, 0}));
}

}  // namespace
}  // namespace freshet
