// PRIORITY_AGING_S: no priority starves, and the high one keeps nearly all turns.
#include <gmock/gmock.h>

#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

using std::chrono::seconds;

class QueueAging : public QueueFixture {
 protected:
  static constexpr int kHighTasks = 40;

  Queue& start(milliseconds step) {
    QueueSettings settings;
    settings.priority_aging = step;
    Queue& queue = world.start(settings);
    for (const char* id : {"low1", "low2", "low3"}) put(queue, id, 0);
    for (int i = 0; i < kHighTasks; ++i) put(queue, "high" + std::to_string(i), 1);
    return queue;
  }
  void put(Queue& queue, const std::string& id, int priority) {
    NewTask task;
    task.id = id;
    task.priority = priority;
    ASSERT_TRUE(create(queue, std::move(task)));
  }
  // A start a second, so many: those of low tasks, as "SECOND:ID".
  std::string low_of(Queue& queue, int starts) {
    std::string out;
    for (int i = 0; i < starts; ++i) {
      const std::string id = ids(take(queue));
      if (id.starts_with("low")) out += (out.empty() ? "" : " ") + std::to_string(i) + ":" + id;
      world.pass(seconds(1));
    }
    return out;
  }
  std::string order_of(Queue& queue, const char* id) {
    const auto told = world.wait(queue.explain(id));
    for (const auto& reason : told ? told->why : std::vector<Reason>()) {
      if (reason.code == "order") return reason.message;
    }
    return {};
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueAging, ::testing::Values(false, true), store_name);

TEST_P(QueueAging, WithoutItTheHighestPriorityAlwaysGoesFirst) {
  EXPECT_EQ(low_of(start(milliseconds(0)), 30), "");
}

TEST_P(QueueAging, TheLowPriorityStartsNowAndThenTheNewestFirst) {
  Queue& queue = start(seconds(10));
  EXPECT_EQ(low_of(queue, 25), "10:low3 20:low2");
  expect_balance();
}

TEST_P(QueueAging, ATakeOfManyHasOneOfItAndExplainSaysWhy) {
  Queue& queue = start(seconds(10));
  EXPECT_EQ(ids(take(queue)), "high39");
  world.pass(seconds(9));
  EXPECT_THAT(order_of(queue, "low1"), testing::Not(testing::HasSubstr("PRIORITY_AGING_S")));
  EXPECT_EQ(ids(take(queue)), "high38");
  world.pass(seconds(1));
  EXPECT_THAT(order_of(queue, "low1"), testing::HasSubstr("counts as 1 step higher now (PRIORITY_AGING_S)"));
  EXPECT_EQ(ids(take(queue, 4)), "low3 high37 high36 high35");
  EXPECT_EQ(ids(take(queue, 2)), "high34 high33");
}

TEST_P(QueueAging, AGroupThatIsOftenAtItsLimitDoesNotStarveItsPriority) {
  QueueSettings settings;
  settings.priority_aging = seconds(1);
  settings.limits.by_key = false;
  settings.limits.concurrency = 1;
  Queue& queue = world.start(settings);
  const auto put_into = [&](const std::string& id, int priority, const char* group) {
    NewTask task;
    task.id = id;
    task.priority = priority;
    task.group = group;
    ASSERT_TRUE(create(queue, std::move(task)));
  };
  for (int i = 0; i < 20; ++i) {
    put_into("g" + std::to_string(i), 2, "g");
    put_into("h" + std::to_string(i), 2, "h");
  }
  put_into("low", 0, "g");
  std::string started;
  for (int i = 0; i < 10; ++i) {
    // While the first is in work its group is at the limit, and the second take sees no task of "low"'s priority.
    auto first = take(queue);
    auto second = take(queue);
    started += ids(first) + " " + ids(second) + " ";
    for (const auto* held : {&first, &second}) {
      ASSERT_TRUE(*held);
      for (const auto& task : **held) ASSERT_TRUE(settle(queue, Kind::kComplete, task));
    }
    world.pass(seconds(1));
  }
  EXPECT_THAT(started, testing::HasSubstr("low"));
}

TEST_P(QueueAging, APriorityWhoseTasksOnlyEndDoesNotKeepTheTurn) {
  Queue& queue = start(seconds(1));
  for (int i = 0; i < 20; ++i) {
    NewTask task;
    task.id = "stale" + std::to_string(i);
    task.deadline_in = milliseconds(500);
    ASSERT_TRUE(create(queue, std::move(task)));
  }
  EXPECT_EQ(ids(take(queue)), "high39");
  world.pass(seconds(30));
  EXPECT_NE(ids(take(queue)), "");
}

TEST_P(QueueAging, ItIsChangedWhileTheQueueWorksAndBeginsAnew) {
  Queue& queue = start(milliseconds(0));
  const auto set = [&queue](const char* value) { return queue.change_policy({{"PRIORITY_AGING_S", value}}); };
  EXPECT_EQ(ids(take(queue)), "high39");
  ASSERT_TRUE(set("10"));
  EXPECT_EQ(queue.policy().at("PRIORITY_AGING_S"), "10");
  EXPECT_EQ(low_of(queue, 11), "10:low3");
  ASSERT_TRUE(set("0"));
  EXPECT_EQ(queue.policy().at("PRIORITY_AGING_S"), "0");
  EXPECT_EQ(low_of(queue, 15), "");
  ASSERT_TRUE(set("2"));
  EXPECT_EQ(queue.policy().at("PRIORITY_AGING_S"), "2");
  EXPECT_EQ(low_of(queue, 3), "2:low2") << "the wait without it does not count";
  EXPECT_FALSE(set("-1"));
}

}  // namespace
}  // namespace freshet
