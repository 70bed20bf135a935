// Limits of each group or key in a queue: never above them, nobody is held up by another, and nothing is lost.
#include "tests/functions/queue_fixture.h"

#include "functions/queue/attributes.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

class QueueLimits : public QueueFixture {
 protected:
  static QueueSettings limits(double rate, int concurrency = 0, bool by_key = false) {
    QueueSettings settings;
    settings.limits.rate = rate;
    settings.limits.concurrency = concurrency;
    settings.limits.by_key = by_key;
    return settings;
  }
  static NewTask of(const std::string& group, std::string id = {}) {
    NewTask task;
    task.id = std::move(id);
    task.group = group;
    return task;
  }
  static NewTask keyed(const std::string& key, std::string id) {
    NewTask task;
    task.id = std::move(id);
    task.key = key;
    return task;
  }
  void add(Queue& queue, const std::string& group, int count) {
    std::vector<NewTask> tasks;
    for (int i = 0; i < count; ++i) tasks.push_back(of(group));
    for (auto& made : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(made) << made.error().message;
  }
  std::vector<std::string> groups(const Result<std::vector<TakenTask>>& taken) {
    std::vector<std::string> out;
    for (const auto& task : *taken) out.emplace_back(text_of(task.task, attribute::kGroup));
    return out;
  }
  std::string ids(const Result<std::vector<TakenTask>>& taken) {
    std::string out;
    for (const auto& task : *taken) out.append(out.empty() ? "" : " ").append(text_of(task.task, attribute::kId));
    return out;
  }
  // By SDK clients, past the queue: tasks of one key beside each other.
  void put_keyed(const std::string& key, const std::string& id, int64_t created) {
    Item item{{"taskId", Value(id)}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(created)}};
    item.set("key", Value(key));
    world.put(std::move(item));
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueLimits, ::testing::Bool(), store_name);

using Names = std::vector<std::string>;

TEST_P(QueueLimits, AGroupAtItsRateHoldsUpNoOther) {
  auto& queue = world.start(limits(5));
  world.pass(milliseconds(1000));
  add(queue, "quiet", 1);
  add(queue, "loud", 100);
  NewTask plain;
  ASSERT_TRUE(create(queue, plain));
  auto taken = take(queue, 10);
  ASSERT_TRUE(taken);
  auto got = groups(taken);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (Names{"", "loud", "quiet"})) << "one of each, and what has no group has no limit";
  EXPECT_TRUE(take(queue, 10)->empty());
  world.pass(milliseconds(150));
  EXPECT_TRUE(take(queue, 10)->empty());
  world.pass(milliseconds(60));
  EXPECT_EQ(groups(take(queue, 10)), Names{"loud"});
  expect_balance();
}

TEST_P(QueueLimits, AWaitingTakeWakesWhenAGroupMayStartAgain) {
  auto& queue = world.start(limits(2));
  world.pass(milliseconds(1000));
  add(queue, "a", 2);
  ASSERT_EQ(take(queue)->size(), 1u);
  const auto before = world.clock.boot();
  const auto taken = take(queue, 1, milliseconds(60'000));
  EXPECT_EQ(taken->size(), 1u);
  EXPECT_GE(world.clock.boot() - before, milliseconds(480));
  EXPECT_LE(world.clock.boot() - before, milliseconds(600));
}

TEST_P(QueueLimits, TheEndOfATaskWakesWhoeverWaitsForItsGroup) {
  auto& queue = world.start(limits(0, 2));
  add(queue, "a", 5);
  auto taken = take(queue, 10);
  ASSERT_EQ(taken->size(), 2u);
  EXPECT_TRUE(take(queue, 10)->empty());
  TakeInput input;
  input.max = 10;
  input.wait = milliseconds(60'000);
  auto waiting = queue.take(std::move(input));
  world.pass(milliseconds(5000));
  EXPECT_FALSE(waiting.is_ready());
  ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
  const auto next = world.wait(std::move(waiting));
  EXPECT_EQ(next->size(), 1u);
  ASSERT_TRUE(settle(queue, Kind::kFail, (*taken)[1]));
  EXPECT_EQ(take(queue, 10)->size(), 1u);
}

TEST_P(QueueLimits, AHeartbeatFreesNothing) {
  auto& queue = world.start(limits(0, 1));
  add(queue, "a", 2);
  auto taken = take(queue);
  ASSERT_EQ(taken->size(), 1u);
  ASSERT_TRUE(settle(queue, Kind::kHeartbeat, (*taken)[0]));
  EXPECT_TRUE(take(queue)->empty());
}

TEST_P(QueueLimits, ALeaseThatEndsMakesRoom) {
  auto settings = limits(0, 1);
  settings.lease = milliseconds(1000);
  settings.backoff.base = milliseconds(0);
  auto& queue = world.start(settings);
  add(queue, "a", 2);
  ASSERT_EQ(take(queue)->size(), 1u);
  EXPECT_TRUE(take(queue)->empty());
  world.pass(milliseconds(1500));
  EXPECT_EQ(take(queue)->size(), 1u);
}

TEST_P(QueueLimits, AfterARestartLivingLeasesCountAndNoBurstComes) {
  auto settings = limits(1, 3);
  settings.limits.burst = 10;
  {
    auto& queue = world.start(settings);
    world.pass(milliseconds(3000));
    add(queue, "a", 10);
    ASSERT_EQ(take(queue, 2)->size(), 2u);
  }
  // Another node: the leases of the first one live on.
  world.queues = std::make_unique<Queues>(*world.services, EventLog(), QueueIdentity{"other", "life"}, nullptr,
                                          &world.store->wall_guard());
  auto opened = world.wait(world.queues->open("QueueTable", settings));
  ASSERT_TRUE(opened) << opened.error().message;
  world.queues->begin();
  Queue& queue = **opened;
  world.pass(milliseconds(50));
  EXPECT_TRUE(take(queue, 10)->empty()) << "its bucket begins empty";
  world.pass(milliseconds(4000));
  EXPECT_EQ(take(queue, 10)->size(), 1u) << "two of three are in work";
}

TEST_P(QueueLimits, ByKeyTheNewestOfThoseThatMayStartIsNext) {
  auto& queue = world.start(limits(1, 0, true));
  world.pass(milliseconds(2000));
  const auto now = world.now_ms();
  for (int i = 0; i < 5; ++i) put_keyed("a", "a" + std::to_string(i), now - 100 + i);
  put_keyed("b", "b", now - 200);
  put_keyed("c", "c", now - 150);
  world.put_pending("plain", now - 175);
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue, 1)), "a4");
  EXPECT_EQ(ids(take(queue, 1)), "c") << "a is at its limit";
  EXPECT_EQ(ids(take(queue, 1)), "plain");
  EXPECT_EQ(ids(take(queue, 1)), "b");
  EXPECT_EQ(ids(take(queue, 9)), "");
  world.pass(milliseconds(1100));
  EXPECT_EQ(ids(take(queue, 9)), "a3");
  expect_balance();
}

TEST_P(QueueLimits, ByKeyATakeOfManyMergesTheKeys) {
  auto settings = limits(0, 2, true);
  auto& queue = world.start(settings);
  const auto now = world.now_ms();
  put_keyed("a", "1", now - 10);
  put_keyed("b", "2", now - 20);
  put_keyed("a", "3", now - 30);
  put_keyed("c#%", "4", now - 40);
  put_keyed("a", "5", now - 50);
  put_keyed("b", "6", now - 60);
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue, 4)), "1 2 3 4");
  EXPECT_EQ(ids(take(queue, 4)), "6") << "a has two in work";
}

TEST_P(QueueLimits, ByKeyTheOldestComesFirstWithFifo) {
  auto settings = limits(0, 1, true);
  settings.order = Order::kOldestFirst;
  auto& queue = world.start(settings);
  const auto now = world.now_ms();
  put_keyed("a", "2", now - 20);
  put_keyed("b", "1", now - 30);
  put_keyed("b", "3", now - 10);
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue, 9)), "1 2");
}

TEST_P(QueueLimits, ALimitThatComesAtRunTimeHoldsForWhatWaits) {
  auto& queue = world.start();
  add(queue, "a", 5);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(create(queue, keyed("k" + std::to_string(i), "k" + std::to_string(i))));
  ASSERT_EQ(take(queue, 2)->size(), 2u);
  ASSERT_TRUE(queue.change_policy({{"KEY_CONCURRENCY", "2"}}));
  add(queue, "a", 5);
  auto got = take(queue, 100);
  const auto of_groups = groups(got);
  EXPECT_EQ(std::count(of_groups.begin(), of_groups.end(), "a"), 1) << "beside the one in work";
  ASSERT_TRUE(queue.change_policy({{"KEY_CONCURRENCY", "3"}}));
  EXPECT_EQ(groups(take(queue, 100)), Names{"a"});
  ASSERT_TRUE(queue.change_policy({{"KEY_CONCURRENCY", "0"}}));
  EXPECT_EQ(take(queue, 100)->size(), 7u);
  expect_balance();
}

TEST_P(QueueLimits, TheCostThatIsToldIsChargedAndKept) {
  auto settings = limits(100);
  settings.limits.counts_cost = true;
  auto& queue = world.start(settings);
  world.pass(milliseconds(2000));
  auto first = of("a", "first");
  first.cost = 2;
  ASSERT_TRUE(create(queue, first));
  add(queue, "a", 3);
  add(queue, "b", 1);
  EXPECT_EQ(world.read("first").string_or("group"), "a");
  TakeInput input;
  auto taken = take(queue, 10);
  ASSERT_GE(taken->size(), 2u);
  Settlement told = settlement(Kind::kComplete, (*taken)[0]);
  const auto group = std::string(text_of((*taken)[0].task, attribute::kGroup));
  told.cost = 812;
  const auto ended = settle(queue, told);
  ASSERT_TRUE(ended);
  EXPECT_EQ(int_of(*ended, attribute::kCost, 0), 812);
  ASSERT_EQ(group, "a");
  world.pass(milliseconds(7500));
  EXPECT_TRUE(take(queue, 10)->empty());
  world.pass(milliseconds(1000));
  EXPECT_FALSE(take(queue, 10)->empty());
}

TEST_P(QueueLimits, TheRateOfTheQueueCountsCostForPullWorkers) {
  auto settings = limits(0);
  settings.work.rate_limit = 100;
  settings.work.rate_burst = 10;
  settings.limits.counts_cost = true;
  auto& queue = world.start(settings);
  std::vector<NewTask> tasks(10);
  for (auto& task : tasks) task.cost = 4;
  for (auto& made : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(made);
  const auto taken = take(queue, 10);
  ASSERT_EQ(taken->size(), 3u) << "they cost 12, of 10 that may be spent";
  EXPECT_TRUE(take(queue, 10)->empty());
  Settlement told = settlement(Kind::kComplete, (*taken)[0]);
  told.cost = 104;
  ASSERT_TRUE(settle(queue, told));
  world.pass(milliseconds(900));
  EXPECT_TRUE(take(queue, 10)->empty());
  world.pass(milliseconds(200));
  EXPECT_FALSE(take(queue, 10)->empty());
}

TEST_P(QueueLimits, CostsThatAreNoneAreRefusedWithTheReason) {
  auto& queue = world.start();
  for (const double wrong : {0.0, -1.0, 2e9, std::nan("")}) {
    auto task = of("a", "x");
    task.cost = wrong;
    const auto made = create(queue, task);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "cost must be a number above 0, from 0.000001 to 1000000000");
  }
  add(queue, "a", 1);
  const auto taken = take(queue);
  Settlement told = settlement(Kind::kComplete, (*taken)[0]);
  told.cost = -3;
  const auto refused = settle(queue, told);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("cost must be a number above 0"), std::string::npos);
  told.kind = Kind::kHeartbeat;
  told.cost = 3;
  EXPECT_FALSE(settle(queue, told));
  EXPECT_EQ(world.stock("TAKEN"), 1u) << "nothing has changed";
}

TEST_P(QueueLimits, ExplainAndStatsSayWhatWaitsForWhat) {
  auto& queue = world.start(limits(5, 2));
  world.pass(milliseconds(1000));
  ASSERT_TRUE(create(queue, of("acme", "t1")));
  ASSERT_TRUE(create(queue, of("acme", "t2")));
  ASSERT_EQ(take(queue)->size(), 1u);
  auto explained = world.wait(queue.explain(world.status("t1") == "PENDING" ? "t1" : "t2"));
  ASSERT_TRUE(explained);
  std::string why;
  for (const auto& reason : explained->why) {
    if (reason.code == "key-rate-limit") why = reason.message;
  }
  EXPECT_TRUE(why.starts_with("its group acme is at KEY_RATE_LIMIT 5/s; may start in ")) << why;
  const auto stats = world.wait(queue.stats());
  ASSERT_TRUE(stats->key_limits);
  EXPECT_EQ(stats->key_limits->by, "group");
  EXPECT_EQ(stats->key_limits->at_limit, 1u);
  EXPECT_GT(stats->key_limits->bytes, 0u);
}

// One group sends a thousand times as much as another, far beyond its limit. The quiet one waits no longer than alone.
TEST_P(QueueLimits, ALoudGroupDoesNotHoldUpAQuietOne) {
  auto& queue = world.start(limits(20));
  world.pass(milliseconds(1000));
  const auto worst = [&](bool with_loud) {
    std::vector<nanoseconds> waits;
    for (int i = 0; i < 40; ++i) {
      if (with_loud) add(queue, "loud", 500);
      add(queue, "quiet", i % 2);
      const auto since = world.clock.boot();
      bool waiting = i % 2 == 1;
      for (int step = 0; step < 25; ++step) {
        auto taken = take(queue, 4);
        for (auto& task : *taken) {
          if (text_of(task.task, attribute::kGroup) == "quiet") {
            waits.push_back(world.clock.boot() - since);
            waiting = false;
          }
          EXPECT_TRUE(settle(queue, Kind::kComplete, task));
        }
        world.pass(milliseconds(10));
      }
      EXPECT_FALSE(waiting);
    }
    std::sort(waits.begin(), waits.end());
    return waits.back();
  };
  const auto alone = worst(false);
  const auto beside = worst(true);
  EXPECT_LE(beside, 2 * alone + milliseconds(1));
  expect_balance();
}

// A hundred thousand groups, each at its limit: what a take reads does not depend on how many they are.
TEST(QueueLimitsOfMany, AHundredThousandGroupsCostATakeNoMoreThanAFew) {
  constexpr int kGroups = 100'000;
  QueueWorld world(true);
  world.set_faults({});  // It counts calls of the store: a write that comes late is one more.
  // One task of each is in work, for another daemon.
  for (int i = 0; i < kGroups; ++i) {
    Item item{{"taskId", Value("held" + std::to_string(i))}, {"taskStatus", Value("TAKEN")}};
    item.set("group", Value("g" + std::to_string(i)));
    item.set("lease", Value("another:life:" + std::to_string(i)));
    item.set("leaseMs", Value::number(24 * 3600 * 1000));
    item.set("taskCreated", Value::number(world.now_ms()));
    world.put(std::move(item));
  }
  QueueSettings settings;
  settings.limits.concurrency = 1;
  Queue& queue = world.start(settings);
  world.pass(seconds(10));
  for (int i = 0; i < kGroups;) {
    std::vector<NewTask> tasks(10'000);
    for (auto& task : tasks) task.group = "g" + std::to_string(i++);
    for (auto& made : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(made) << made.error().message;
  }
  const auto take = [&](int max) {
    TakeInput input;
    input.max = max;
    return world.wait(queue.take(std::move(input)));
  };
  auto stats = world.wait(queue.stats());
  EXPECT_EQ(stats->key_limits->at_limit, static_cast<uint64_t>(kGroups));
  EXPECT_LT(stats->key_limits->bytes, 300u * kGroups);
  const uint64_t before = world.store_calls();
  EXPECT_TRUE(take(10)->empty());
  EXPECT_LE(world.store_calls() - before, 2u) << "all are at their limit";
  std::vector<NewTask> one(1);
  one[0].group = "another";
  ASSERT_TRUE(world.wait(queue.create(std::move(one)))[0]);
  const uint64_t then = world.store_calls();
  EXPECT_EQ(take(10)->size(), 1u);
  EXPECT_LE(world.store_calls() - then, 5u);
}

// Limits change at random under load: never above those in force, all tasks end, and the books balance.
TEST_P(QueueLimits, NothingIsLostByChangesUnderLoad) {
  for (const auto seed : test_seeds(3)) {
    SCOPED_TRACE(seed);
    QueueWorld other(GetParam(), seed);
    Random random(seed);
    Queue& queue = other.start();
    int created = 0;
    std::vector<TakenTask> held;
    for (int step = 0; step < 400; ++step) {
      if (random.below(10) == 0) {
        const QueuePolicy changes[] = {
            {{"KEY_RATE_LIMIT", std::to_string(random.below(50))}},
            {{"KEY_CONCURRENCY", std::to_string(random.below(4))}},
            {{"KEY_RATE_LIMIT", "20"}, {"LIMIT_BY", random.below(2) == 0 ? "key" : "group"}},
            {{"KEY_RATE_LIMIT", "30"}, {"RATE_COUNTS", random.below(2) == 0 ? "cost" : "tasks"}},
            {{"ORDER", random.below(2) == 0 ? "fifo" : "lifo"}},
            {{"KEY_RATE_LIMIT", "0"}, {"KEY_CONCURRENCY", "0"}},
        };
        const auto changed = queue.change_policy(changes[random.below(std::size(changes))]);
        ASSERT_TRUE(changed) << changed.error().message;
      }
      std::vector<NewTask> tasks(random.below(4));
      for (auto& task : tasks) {
        task.id = "t" + std::to_string(created++);
        if (random.below(4) > 0) task.group = "g" + std::to_string(random.below(5));
        if (random.below(2) == 0) task.key = "k" + task.id;
        if (random.below(3) == 0) task.cost = 1 + 5 * random.unit();
      }
      other.wait(queue.create(std::move(tasks)));
      TakeInput input;
      input.max = static_cast<int>(1 + random.below(5));
      auto taken = other.wait(queue.take(std::move(input)));
      ASSERT_TRUE(taken) << taken.error().message;
      for (auto& task : *taken) held.push_back(std::move(task));
      while (!held.empty() && random.below(3) > 0) {
        Settlement end = settlement(random.below(5) == 0 ? Kind::kRelease : Kind::kComplete, held.back());
        if (random.below(2) == 0) end.cost = 1 + 10 * random.unit();
        std::vector<Settlement> ends{std::move(end)};
        other.wait(queue.settle(std::move(ends)));
        held.pop_back();
      }
      other.pass(milliseconds(static_cast<int64_t>(random.below(60))));
    }
    for (int i = 0; i < 100'000 && other.stock("SUCCESS") < static_cast<uint64_t>(created); ++i) {
      TakeInput input;
      input.max = 100;
      auto taken = other.wait(queue.take(std::move(input)));
      ASSERT_TRUE(taken);
      for (auto& task : *taken) held.push_back(std::move(task));
      std::vector<Settlement> ends;
      for (const auto& task : held) ends.push_back(settlement(Kind::kComplete, task));
      held.clear();
      if (!ends.empty()) other.wait(queue.settle(std::move(ends)));
      other.pass(milliseconds(100));
    }
    EXPECT_EQ(other.stock("SUCCESS"), static_cast<uint64_t>(created));
    const auto balanced = check_balance(other.books());
    EXPECT_TRUE(balanced) << balanced.error().message;
  }
}

// In any window no group starts more than its rate and burst allow.
TEST_P(QueueLimits, NoWindowHoldsMoreThanTheLimits) {
  for (const auto seed : test_seeds(3)) {
    SCOPED_TRACE(seed);
    QueueWorld other(GetParam(), seed);
    Random random(seed);
    QueueSettings settings = limits(10, 3);
    settings.limits.burst = 2;
    Queue& queue = other.start(settings);
    std::map<std::string, std::vector<double>> starts;
    std::map<std::string, int> busy;
    std::vector<TakenTask> held;
    for (int step = 0; step < 500; ++step) {
      std::vector<NewTask> tasks(3);
      for (auto& task : tasks) task.group = random.below(10) == 0 ? "quiet" : "loud";
      other.wait(queue.create(std::move(tasks)));
      TakeInput input;
      input.max = static_cast<int>(1 + random.below(4));
      auto taken = other.wait(queue.take(std::move(input)));
      const double now = std::chrono::duration<double>(other.clock.boot().time_since_epoch()).count();
      for (auto& task : *taken) {
        const std::string group(text_of(task.task, attribute::kGroup));
        starts[group].push_back(now);
        ASSERT_LE(++busy[group], 3);
        held.push_back(std::move(task));
      }
      if (!held.empty() && random.below(2) == 0) {
        --busy[std::string(text_of(held[0].task, attribute::kGroup))];
        std::vector<Settlement> ends{settlement(Kind::kComplete, held[0])};
        other.wait(queue.settle(std::move(ends)));
        held.erase(held.begin());
      }
      other.pass(milliseconds(static_cast<int64_t>(random.below(50))));
    }
    EXPECT_GT(starts["loud"].size(), 50u);
    for (const auto& [group, of_group] : starts) {
      for (size_t i = 0; i < of_group.size(); ++i) {
        for (size_t j = i; j < of_group.size(); ++j) {
          // Answers of a late store are seen some milliseconds after the claims.
          ASSERT_LE(static_cast<double>(j - i + 1), 10 * (of_group[j] - of_group[i] + 0.1) + 2) << group;
        }
      }
    }
  }
}

TEST(LimitSettings, WhatContradictsIsRefusedWithTheReason) {
  const auto refusal = [](const Environment& environment) {
    const auto settings = queue_settings(environment);
    return settings ? std::string() : settings.error().message;
  };
  EXPECT_EQ(refusal({{"KEY_RATE_LIMIT", "-1"}}),
            "KEY_RATE_LIMIT is '-1': it must be 'adaptive' or a number from 0 to 1000000000");
  EXPECT_NE(refusal({{"KEY_RATE_LIMIT", "adaptive"}, {"KEY_RATE_BURST", "3"}}).find("learns the burst"),
            std::string::npos);
  EXPECT_NE(refusal({{"KEY_RATE_BURST", "3"}}).find("KEY_RATE_BURST has no effect without KEY_RATE_LIMIT"),
            std::string::npos);
  EXPECT_NE(refusal({{"LIMIT_BY", "key"}}).find("set one of these, too"), std::string::npos);
  EXPECT_NE(refusal({{"RATE_COUNTS", "cost"}}).find("set one of these, too"), std::string::npos);
  EXPECT_NE(refusal({{"DEFAULT_COST", "0"}}).find("DEFAULT_COST is '0'"), std::string::npos);
  EXPECT_NE(refusal({{"KEY_RATE_LIMIT", "1"}, {"LIMIT_BY", "tenant"}}).find("must be 'key' or 'group'"),
            std::string::npos);
  const auto settings = queue_settings({{"KEY_RATE_LIMIT", "2.5"}, {"LIMIT_BY", "key"}, {"RATE_COUNTS", "cost"}});
  ASSERT_TRUE(settings);
  EXPECT_EQ(queue_settings(policy_environment(*settings))->limits, settings->limits);
  const auto off = with_policy(*settings, {{"KEY_RATE_LIMIT", "0"}});
  ASSERT_TRUE(off) << off.error().message;
  EXPECT_FALSE(off->limits.any());
  const auto learnt = with_policy(*settings, {{"KEY_RATE_LIMIT", "adaptive"}});
  ASSERT_TRUE(learnt) << learnt.error().message;
  EXPECT_TRUE(learnt->limits.learnt && learnt->limits.by_key && learnt->limits.counts_cost);
  EXPECT_EQ(queue_settings(policy_environment(*learnt))->limits, learnt->limits);
}

}  // namespace
}  // namespace freshet
