// The limits of each key by itself: never above them in any window, whatever comes; and the memory that they take.
#include "functions/queue/policy/key_limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

BootTime at(int64_t ms) {
  return BootTime(milliseconds(ms));
}

KeyLimits::Limits limits(double rate, double burst = 1, int concurrency = 0) {
  return {rate, burst, concurrency};
}

TEST(KeyLimits, WithoutLimitsEverythingMayStartAndNothingIsKept) {
  KeyLimits keys;
  EXPECT_FALSE(keys.on());
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(keys.may_start("a", at(0)));
    keys.started("a", 1, at(0));
    keys.in_flight("a", static_cast<uint64_t>(i), at(0));
  }
  EXPECT_EQ(keys.known(), 0u);
  EXPECT_EQ(keys.next_due(), BootTime::max());
}

TEST(KeyLimits, AfterARestartNoBurstComes) {
  KeyLimits keys;
  keys.set(limits(5, 10), at(1000));
  EXPECT_FALSE(keys.may_start("a", at(1000)));
  EXPECT_FALSE(keys.may_start("a", at(1199)));
  EXPECT_TRUE(keys.may_start("a", at(1201)));
  keys.started("a", 1, at(1201));
  EXPECT_FALSE(keys.may_start("a", at(1202)));
  EXPECT_TRUE(keys.may_start("b", at(1202))) << "a key at its limit holds up no other";
}

TEST(KeyLimits, AfterAPauseTheBurstMayStart) {
  KeyLimits keys;
  keys.set(limits(5, 3), at(0));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(keys.may_start("a", at(10'000)));
    keys.started("a", 1, at(10'000));
  }
  EXPECT_FALSE(keys.may_start("a", at(10'000)));
  const auto why = keys.standing("a", at(10'100));
  ASSERT_TRUE(why);
  EXPECT_TRUE(why->is_rate);
  EXPECT_EQ(std::chrono::floor<milliseconds>(why->at.time_since_epoch()).count(), 10'200);
}

TEST(KeyLimits, TheEndOfATaskMakesRoomForAnother) {
  KeyLimits keys;
  std::vector<std::pair<std::string, bool>> changes;
  keys.on_change([&](std::string_view key, bool may) { changes.emplace_back(key, may); });
  keys.set(limits(0, 1, 2), at(0));
  for (uint64_t i = 1; i <= 2; ++i) {
    ASSERT_TRUE(keys.may_start("a", at(0)));
    keys.claimed("a", *keys.started("a", 1, at(0)), true, at(0));
    keys.in_flight("a", i, at(0));
  }
  EXPECT_FALSE(keys.may_start("a", at(0)));
  EXPECT_EQ(keys.at_limit(), 1u);
  EXPECT_EQ(keys.next_due(), BootTime::max()) << "no time will help";
  const auto why = keys.standing("a", at(0));
  ASSERT_TRUE(why);
  EXPECT_FALSE(why->is_rate);
  EXPECT_EQ(why->in_flight, 2u);
  keys.in_flight("a", 1, at(5));
  EXPECT_EQ(changes, (std::vector<std::pair<std::string, bool>>{{"a", false}, {"a", true}}));
  EXPECT_TRUE(keys.may_start("a", at(5)));
  EXPECT_FALSE(keys.may_start("a", at(5), 1)) << "beside one that a take has chosen";
  keys.in_flight("a", 0, at(6));
  EXPECT_EQ(keys.known(), 0u);
}

TEST(KeyLimits, AClaimThatFailsCostsNothing) {
  KeyLimits keys;
  keys.set(limits(1, 1, 1), at(0));
  ASSERT_TRUE(keys.may_start("a", at(1001)));
  const auto call = keys.started("a", 1, at(1001));
  EXPECT_FALSE(keys.may_start("a", at(1001)));
  keys.claimed("a", *call, false, at(1001));
  EXPECT_TRUE(keys.may_start("a", at(1001)));
  EXPECT_EQ(keys.at_limit(), 0u);
}

TEST(KeyLimits, TheTrueCostIsChargedOrGivenBack) {
  KeyLimits keys;
  keys.set(limits(100, 100), at(0));
  keys.started("a", 1, at(10'000));
  keys.charge("a", 811, at(10'000));  // It was 812.
  EXPECT_FALSE(keys.may_start("a", at(17'000)));
  EXPECT_TRUE(keys.may_start("a", at(17'140)));
  keys.started("b", 500, at(20'000));
  EXPECT_FALSE(keys.may_start("b", at(20'000)));
  keys.charge("b", -450, at(20'000));
  EXPECT_TRUE(keys.may_start("b", at(20'000)));
  keys.charge("b", -1000, at(20'000));
  keys.started("b", 100, at(20'000));
  EXPECT_FALSE(keys.may_start("b", at(20'000))) << "a bucket never holds more than its burst";
}

TEST(KeyLimits, AChangeHoldsAtOnceAndForgetsNothing) {
  KeyLimits keys;
  std::set<std::string> held;
  keys.on_change(
      [&](std::string_view key, bool may) { may ? (void)held.erase(std::string(key)) : (void)held.emplace(key); });
  keys.set(limits(1), at(0));
  keys.claimed("a", *keys.started("a", 1, at(5000)), true, at(5000));
  keys.in_flight("a", 1, at(5000));
  EXPECT_EQ(held.size(), 1u);
  keys.set(limits(1000), at(5000));
  EXPECT_FALSE(keys.may_start("a", at(5000)));
  EXPECT_TRUE(keys.may_start("a", at(5002)));
  keys.set(limits(1000, 1, 1), at(5002));
  EXPECT_FALSE(keys.may_start("a", at(5010))) << "it has one in flight";
  keys.set(limits(0), at(5010));
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(keys.may_start("a", at(5010)));
  EXPECT_EQ(keys.known(), 0u);
  keys.set(limits(1), at(6000));
  EXPECT_FALSE(keys.may_start("a", at(6000))) << "a limit that is new begins with empty buckets";
}

struct Start {
  int64_t ms;
  double cost;
};

void expect_within(const std::vector<Start>& starts, double rate, double burst, double most) {
  for (size_t i = 0; i < starts.size(); ++i) {
    double sum = 0;
    for (size_t j = i; j < starts.size() && j < i + 200; ++j) {
      const double time = static_cast<double>(starts[j].ms - starts[i].ms) / 1000;
      ASSERT_LE(sum, rate * time + burst + 1e-6) << "from " << starts[i].ms << " to " << starts[j].ms;
      sum += starts[j].cost;
      ASSERT_LE(sum, rate * time + burst + most + 1e-6);
    }
  }
}

void random_run(uint64_t seed) {
  Random random(seed);
  KeyLimits keys;
  std::set<std::string> held;
  keys.on_change([&](std::string_view key, bool may) {
    ASSERT_NE(held.contains(std::string(key)), !may) << "a change that is none";
    may ? (void)held.erase(std::string(key)) : (void)held.emplace(key);
  });
  const bool counts_cost = random.below(2) == 0;
  const KeyLimits::Limits all{1 + 20 * random.unit(), 1 + static_cast<double>(random.below(5)),
                              static_cast<int>(random.below(4))};
  keys.set(all, at(0));
  std::map<std::string, std::vector<Start>> starts;
  std::map<std::string, uint64_t> busy;
  for (int64_t now = 0; now < 60'000; now += static_cast<int64_t>(random.below(20))) {
    while (keys.due(at(now), 2)) {
    }
    // One of ten keys is far louder than the rest.
    const std::string key = random.below(2) == 0 ? "loud" : "k" + std::to_string(random.below(9));
    if (busy[key] > 0 && random.below(4) == 0) {
      keys.in_flight(key, --busy[key], at(now));
      continue;
    }
    const bool may = keys.may_start(key, at(now));
    ASSERT_EQ(may, !keys.standing(key, at(now)));
    if (!may) {
      ASSERT_TRUE(held.contains(key));
      continue;
    }
    const double cost = counts_cost ? 10 * random.unit() + 0.1 : 1;
    const auto call = keys.started(key, cost, at(now));
    const bool ok = random.below(10) > 0;
    keys.claimed(key, *call, ok, at(now));
    if (ok) {
      starts[key].push_back({now, cost});
      keys.in_flight(key, ++busy[key], at(now));
    }
    if (all.concurrency > 0) {
      ASSERT_LE(busy[key], static_cast<uint64_t>(all.concurrency));
    }
    ASSERT_EQ(held.size(), keys.at_limit());
  }
  for (const auto& [key, of_key] : starts) {
    SCOPED_TRACE(key);
    ASSERT_GT(of_key.size(), 10u);
    expect_within(of_key, all.rate, all.burst, counts_cost ? 10.1 : 1);
  }
  for (auto& [key, count] : busy) {
    if (count > 0) keys.in_flight(key, 0, at(60'000));
  }
  while (keys.next_due() != BootTime::max()) keys.due(keys.next_due(), 10);
  EXPECT_EQ(keys.known(), 0u) << "whoever is full and idle is forgotten";
  EXPECT_EQ(keys.bytes(), 0u);
}

TEST(KeyLimits, NeverAboveTheLimitsInAnyWindow) {
  for (const auto seed : test_seeds(20)) {
    SCOPED_TRACE(seed);
    random_run(seed);
  }
}

TEST(KeyLimits, AHundredThousandKeysTakeBoundedMemoryAndGoAgain) {
  constexpr int kKeys = 100'000;
  KeyLimits keys;
  keys.set(limits(1), at(0));
  for (int i = 0; i < kKeys; ++i) {
    const auto key = "customer-" + std::to_string(i);
    ASSERT_TRUE(keys.may_start(key, at(5000)));
    keys.claimed(key, *keys.started(key, 1, at(5000)), true, at(5000));
    keys.in_flight(key, 1, at(5000));
    keys.in_flight(key, 0, at(5000));
  }
  EXPECT_EQ(keys.at_limit(), static_cast<size_t>(kKeys));
  EXPECT_LT(keys.bytes(), kKeys * 300u);
  int steps = 0;
  while (keys.due(at(6001), 1000)) ++steps;
  EXPECT_EQ(keys.known(), 0u);
  EXPECT_LE(steps, 2 * kKeys / 1000) << "each key is looked at when it may start, and when it is full";
}

// A claim that is answered under limits of another kind counts for nothing: not for one that was made since.
TEST(KeyLimits, AClaimUnderOtherLimitsCountsForNothing) {
  KeyLimits keys;
  keys.set(limits(0, 1, 1), at(0));
  const auto old = keys.started("a", 1, at(0));
  keys.clear(at(1));
  keys.set(limits(1, 1, 1), at(1));
  const auto call = keys.started("a", 1, at(2000));
  keys.claimed("a", *old, false, at(2001));
  EXPECT_FALSE(keys.may_start("a", at(2001))) << "the claim of now is still without an answer";
  keys.claimed("a", *call, false, at(2002));
  EXPECT_TRUE(keys.may_start("a", at(2002)));
}

KeyLimits::Limits learnt() {
  KeyLimits::Limits out;
  out.learnt = true;
  return out;
}

// A rate limit for each key, with a bucket of one.
struct KeyBuckets {
  std::map<std::string, double> tokens, seen, rate;
  bool take(const std::string& key, double now) {
    double& left = tokens.try_emplace(key, 1).first->second;
    left = std::min(1.0, left + rate[key] * (now - seen[key]));
    seen[key] = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  }
};

TEST(KeyLimits, TheLimitOfEachKeyIsLearnt) {
  KeyLimits keys;
  keys.set(learnt(), at(0));
  KeyBuckets downstream;
  downstream.rate = {{"slow", 2}, {"quick", 40}};
  std::map<std::string, int> taken, refused;
  for (int64_t now = 0; now < 120'000; ++now) {
    while (keys.due(at(now), 8)) {
    }
    for (const std::string key : {"slow", "quick"}) {
      if (!keys.may_start(key, at(now))) continue;
      const auto call = keys.started(key, 1, at(now));
      keys.claimed(key, *call, true, at(now));
      keys.in_flight(key, 1, at(now));
      const bool takes = downstream.take(key, static_cast<double>(now) / 1000);
      keys.answered(key, *call, takes ? CallAnswer::kTaken : CallAnswer::kRefused, at(now));
      keys.in_flight(key, 0, at(now));
      if (now >= 60'000) ++(takes ? taken : refused)[key];
    }
  }
  EXPECT_GE(taken["slow"], 0.87 * 2 * 60);
  EXPECT_LE(refused["slow"], 0.025 * 2 * 60) << "of 120 calls";
  EXPECT_GE(taken["quick"], 0.89 * 40 * 60);
  EXPECT_LE(refused["quick"], 0.02 * 40 * 60);
}

// One call of a key, taken or refused.
void one_call(KeyLimits& keys, const std::string& key, bool takes, BootTime now) {
  const auto its = keys.started(key, 1, now);
  keys.claimed(key, *its, true, now);
  keys.answered(key, *its, takes ? CallAnswer::kTaken : CallAnswer::kRefused, now);
}

TEST(KeyLimits, WhatWasLearntOfTheLatestKeysIsKept) {
  constexpr size_t kMost = KeyLimits::kMostKept;
  KeyLimits keys;
  keys.set(learnt(), at(0));
  for (size_t i = 0; i < kMost + 50; ++i) {
    one_call(keys, "customer-" + std::to_string(i), false, at(1000 + static_cast<int64_t>(i)));
  }
  one_call(keys, "searching", true, at(5000));
  EXPECT_FALSE(keys.to_keep(at(0) - milliseconds(1))) << "it is too soon";
  const auto kept = keys.to_keep(at(6000));
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->size(), kMost);
  EXPECT_EQ((*kept)[0].key, "customer-" + std::to_string(kMost + 49)) << "the latest first, and none without a limit";
  EXPECT_FALSE(keys.to_keep(at(7000))) << "a thousand are not written each second";
  EXPECT_FALSE(keys.to_keep(at(500'000))) << "nothing has moved";
  one_call(keys, "customer-0", false, at(500'000));
  EXPECT_TRUE(keys.to_keep(at(500'001), true));
  EXPECT_FALSE(keys.to_keep(at(600'000))) << "nothing has moved";
  keys.not_kept();
  EXPECT_TRUE(keys.to_keep(at(700'000))) << "the write failed, so it is made again";
  EXPECT_FALSE(keys.to_keep(at(800'000)));
}

TEST(KeyLimits, NamesThatAreKeptAreBounded) {
  KeyLimits keys;
  keys.set(learnt(), at(0));
  for (int i = 0; i < 1'000; ++i) one_call(keys, std::string(250, 'x') + std::to_string(i), false, at(1000));
  EXPECT_LE(keys.learnt().size(), KeyLimits::kMostKeptBytes / 250);
}

TEST(KeyLimits, AKeyGoesOnFromWhatAnEarlierLifeKnew) {
  KeyLimits keys;
  keys.set(learnt(), at(0));
  keys.remember({{"a", {40, 0}}, {"b", {2, 0}}}, at(0));
  one_call(keys, "a", true, at(1000));
  ASSERT_EQ(keys.learnt().size(), 1u);
  EXPECT_NEAR(keys.learnt()[0].limit.rate, 40, 0.1);
  // The next write includes keys that were not used again, but only for ten minutes.
  for (int i = 0; i < 5; ++i) one_call(keys, "c", false, at(1100));
  const auto kept = keys.to_keep(at(10'000));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->size(), 3u);
  one_call(keys, "b", true, at(700'000));
  EXPECT_TRUE(keys.learnt().empty() || keys.learnt()[0].key != "b") << "it is not known any more";
}

TEST(KeyLimits, WhatIsLearntOfAnIdleKeyIsForgotten) {
  constexpr int kKeys = KeyLimits::kMostLearnt;
  KeyLimits keys;
  keys.set(learnt(), at(0));
  for (int i = 0; i < kKeys; ++i) {
    const auto key = "customer-" + std::to_string(i);
    ASSERT_TRUE(keys.may_start(key, at(5000)));
    const auto call = keys.started(key, 1, at(5000));
    keys.claimed(key, *call, true, at(5000));
    keys.answered(key, *call, CallAnswer::kTaken, at(5000));
  }
  EXPECT_EQ(keys.known(), static_cast<size_t>(kKeys));
  EXPECT_LT(keys.bytes(), kKeys * 1'500u);
  EXPECT_FALSE(keys.may_start("one more", at(5000)));
  keys.due(at(6000), kKeys);  // Each may start again.
  int changes = 0;
  keys.on_change([&](std::string_view, bool may_start) { changes += may_start; });
  while (changes == 0 && keys.next_due() != BootTime::max()) keys.due(keys.next_due(), 1);
  EXPECT_EQ(changes, 1) << "whoever waits for room looks again";
  keys.on_change({});
  while (keys.next_due() != BootTime::max() && keys.next_due() < at(700'000)) keys.due(keys.next_due(), 100);
  EXPECT_EQ(keys.known(), 0u);
}

// A call whose task is given up, and one that outlives its key, leave nothing under way.
TEST(KeyLimits, ACallThatNobodyAnswersLeavesNothingUnderWay) {
  KeyLimits keys;
  keys.set(learnt(), at(0));
  std::shared_ptr<AdaptiveRate> learner;
  {
    const auto call = keys.started("a", 1, at(0));
    learner = call->learner;
    EXPECT_EQ(learner->in_flight(), 1u);
    keys.clear(at(1));
  }
  EXPECT_EQ(learner->in_flight(), 0u);
}

}  // namespace
}  // namespace freshet
