// The order in which the groups of a queue have their turns.
#include "functions/queue/policy/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "base/random.h"
#include "functions/queue/policy/lanes.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

std::string turns(const FairShares& shares, size_t wanted, const FairShares::Given& given = {}) {
  std::string out;
  for (const auto lane : shares.turns(wanted, given)) out += (out.empty() ? "" : " ") + std::string(lane_group(lane));
  return out;
}

TEST(FairShares, AmongEqualsTheTurnGoesRound) {
  FairShares shares;
  for (const auto* group : {"a", "b", "c"}) shares.add(lane_name(0, group));
  EXPECT_EQ(turns(shares, 7), "a b c a b c a");
  shares.served(lane_name(0, "a"));
  EXPECT_EQ(turns(shares, 3), "b c a");
  shares.emptied(lane_name(0, "c"));
  EXPECT_EQ(turns(shares, 4), "b a b a");
  shares.filled(lane_name(0, "c"));
  EXPECT_EQ(turns(shares, 1), "b");
  shares.served(lane_name(0, "b"));
  EXPECT_EQ(turns(shares, 1), "c") << "its last turn is longest ago";
}

TEST(FairShares, WhoHasFewestInWorkIsNext) {
  FairShares shares;
  shares.in_work("loud", 3);
  for (const auto* group : {"loud", "quiet"}) shares.add(lane_name(0, group));
  shares.in_work("quiet", 1);
  EXPECT_EQ(turns(shares, 4), "quiet quiet loud quiet");
  shares.in_work("loud", 0);
  EXPECT_EQ(turns(shares, 3), "loud quiet loud");
}

TEST(FairShares, PriorityComesFirstAndOfOneTakeOnlyOneIsServed) {
  FairShares shares;
  shares.add(lane_name(0, "a"));
  shares.add(lane_name(5, "b"));
  shares.add(lane_name(5, "a"));
  EXPECT_EQ(turns(shares, 3), "a b a");
  shares.emptied(lane_name(5, "b"));
  EXPECT_EQ(turns(shares, 2), "a a");
  EXPECT_EQ(turns(shares, 2, {{lane_name(5, "a"), FairShares::kPassed}}), "a a") << "of the lower priority";
  shares.emptied(lane_name(5, "a"));
  shares.emptied(lane_name(0, "a"));
  EXPECT_EQ(turns(shares, 2), "");
  EXPECT_EQ(shares.idle("", 9).size(), 3u);
  EXPECT_EQ(shares.idle(lane_name(5, "a"), 9).size(), 2u);
}

TEST(FairShares, OnePriorityCanBeAskedFor) {
  FairShares shares;
  for (const int priority : {0, 5, 100}) shares.add(lane_name(priority, "a"));
  shares.add(lane_name(5, "b"));
  const auto level = [](int priority) { return std::string(lane_level(lane_name(priority, ""))); };
  EXPECT_THAT(shares.levels({}), testing::ElementsAre(level(100), level(5), level(0)));
  EXPECT_THAT(shares.turns(3, {}, level(5)),
              testing::ElementsAre(lane_name(5, "a"), lane_name(5, "b"), lane_name(5, "a")));
  EXPECT_THAT(shares.turns(3, {}, level(7)), testing::IsEmpty());
  const FairShares::Given passed = {{lane_name(5, "a"), FairShares::kPassed},
                                    {lane_name(100, "a"), FairShares::kPassed}};
  EXPECT_THAT(shares.levels(passed), testing::ElementsAre(level(5), level(0)));
  EXPECT_THAT(shares.turns(2, passed, level(5)), testing::ElementsAre(lane_name(5, "b"), lane_name(5, "b")));
  EXPECT_THAT(shares.turns(2, passed, level(100)), testing::IsEmpty());
}

TEST(FairShares, WhatATakeHasGivenCounts) {
  FairShares shares;
  for (const auto* group : {"a", "b", "c"}) shares.add(lane_name(0, group));
  EXPECT_EQ(turns(shares, 2, {{lane_name(0, "a"), 2}, {lane_name(0, "b"), 1}}), "c b");
  EXPECT_EQ(turns(shares, 2, {{lane_name(0, "a"), FairShares::kPassed}, {lane_name(0, "b"), 1}}), "c b");
}

void random_calls(uint64_t seed) {
  Random random(seed);
  struct Lane {
    bool waiting = true;
    uint64_t turn = 0;
  };
  std::map<std::string, Lane> model;
  std::map<std::string, uint64_t> in_work;
  uint64_t turn = 0;
  FairShares shares;
  for (int step = 0; step < 20'000; ++step) {
    const std::string group = "g" + std::to_string(random.below(40));
    const std::string lane = lane_name(static_cast<int>(random.below(2)), group);
    switch (random.below(6)) {
      case 0:
        shares.add(lane);
        model[lane].waiting = true;
        break;
      case 1:
        shares.emptied(lane);
        if (model.contains(lane)) model[lane].waiting = false;
        break;
      case 2:
        shares.filled(lane);
        if (model.contains(lane)) model[lane].waiting = true;
        break;
      case 3:
        in_work[group] = random.below(4);
        shares.in_work(group, in_work[group]);
        break;
      default: {
        std::string next;
        std::tuple<std::string, uint64_t, uint64_t, std::string> best;
        for (const auto& [name, one] : model) {
          if (!one.waiting) continue;
          std::tuple key(std::string(lane_level(name)), in_work[std::string(lane_group(name))], one.turn, name);
          if (next.empty() || key < best) best = key, next = name;
        }
        const auto got = shares.turns(1, {});
        ASSERT_EQ(got.empty() ? "" : std::string(got[0]), next);
        if (next.empty()) break;
        shares.served(next);
        model[next].turn = ++turn;
      }
    }
  }
}

// A model says the same, whatever comes.
TEST(FairShares, RandomCallsDoWhatTheModelDoes) {
  for (const auto seed : test_seeds(3)) {
    SCOPED_TRACE(seed);
    random_calls(seed);
  }
}

}  // namespace
}  // namespace freshet
