// Shares of groups: whose turn it is, and what comes of it in a queue that is flooded by one of them.
#include "functions/queue/policy/fair_share.h"

#include <gmock/gmock.h>

#include "functions/queue/policy/lanes.h"
#include "tests/functions/queue_fixture.h"
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

class FairQueue : public QueueFixture {
 protected:
  void add(Queue& queue, const std::string& group, int count) {
    std::vector<NewTask> tasks(static_cast<size_t>(count));
    for (auto& task : tasks) {
      task.id = group + std::to_string(++created_);
      task.group = group;
    }
    for (auto& made : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(made) << made.error().message;
  }
  int created_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, FairQueue, ::testing::Bool(), store_name);

// One worker at a time: nothing is in work when the next task is taken.
TEST_P(FairQueue, OneSlotGoesRound) {
  auto& queue = world.start();
  add(queue, "loud", 100);
  add(queue, "b", 3);
  add(queue, "c", 3);
  std::map<std::string, int> got;
  for (int i = 0; i < 9; ++i) {
    auto taken = take(queue);
    ASSERT_EQ(taken->size(), 1u);
    ++got[std::string((*taken)[0].task.decode().string_or("group"))];
    ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
  }
  EXPECT_EQ(got, (std::map<std::string, int>{{"loud", 3}, {"b", 3}, {"c", 3}}));
  auto taken = take(queue, 5);
  EXPECT_EQ(taken->size(), 5u) << "what the others leave belongs to the loud one";
}

TEST_P(FairQueue, ATakeOfManyIsShared) {
  auto& queue = world.start();
  add(queue, "loud", 200);
  for (const auto* group : {"b", "c", "d"}) add(queue, group, 10);
  auto taken = take(queue, 20);
  std::map<std::string, int> got;
  for (const auto& task : *taken) ++got[std::string(task.task.decode().string_or("group"))];
  EXPECT_EQ(got, (std::map<std::string, int>{{"loud", 5}, {"b", 5}, {"c", 5}, {"d", 5}}));
}

// The store calls of 20 takes of one group, where this many other groups once had a task each.
uint64_t calls_of_takes(int others) {
  World world(true);
  QueueSettings settings;
  settings.look_around = seconds(600);
  auto& queue = world.start(settings);
  const auto add = [&](const std::string& group, size_t count) {
    std::vector<NewTask> tasks(count);
    for (auto& task : tasks) task.group = group;
    for (auto& made : world.wait(queue.create(std::move(tasks)))) EXPECT_TRUE(made) << made.error().message;
  };
  const auto take = [&] { return world.wait(queue.take(TakeInput{})); };
  for (int i = 0; i < others; ++i) add("g" + std::to_string(i), 1);
  for (int i = 0; i < others; ++i) {
    auto taken = take();
    if (!taken || taken->size() != 1) {
      ADD_FAILURE() << "task " << i << " is not there";
      return 0;
    }
    std::vector<Settlement> done(1);
    done[0].kind = Settlement::Kind::kComplete;
    done[0].id = (*taken)[0].task.decode().string_or("taskId");
    done[0].lease = (*taken)[0].lease;
    EXPECT_TRUE(world.wait(queue.settle(std::move(done)))[0]);
  }
  EXPECT_EQ(take()->size(), 0u);
  add("again", 50);
  const auto before = world.store_calls();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(take()->size(), 1u);
  return world.store_calls() - before;
}

// The cost of a take must not grow with the groups that there are, only with those that turn out to be empty, once.
TEST(FairQueueCost, LanesThatAreEmptyAreNotLookedAtByTakes) {
  const auto few = calls_of_takes(2);
  const auto many = calls_of_takes(200);
  EXPECT_LE(many, few + 10) << "of 20 takes; one look at each empty lane would be 4,000 calls";
}

}  // namespace
}  // namespace freshet
