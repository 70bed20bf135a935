// ORDER=deadline: the most urgent first of those that have enough time left.
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class DeadlineOrder : public QueueFixture {
 protected:
  Queue& start() {
    QueueSettings settings;
    settings.order = Order::kDeadline;
    return world.start(settings);
  }
  NewTask due_in(const std::string& id, milliseconds time) {
    NewTask task;
    task.id = id;
    task.deadline = world.clock.wall() + time;
    return task;
  }
  // Twenty tasks take so long each.
  void teach(Queue& queue, milliseconds took = milliseconds(100)) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(create(queue, due_in("done" + std::to_string(i), seconds(60))));
      auto taken = take(queue);
      ASSERT_EQ(taken->size(), 1u);
      world.pass(took);
      ASSERT_TRUE(settle(queue, Kind::kComplete, taken->front()));
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, DeadlineOrder, ::testing::Bool(), store_name);

TEST_P(DeadlineOrder, TheMostUrgentIsNextAndWhatHasNoDeadlineLast) {
  auto& queue = start();
  create(queue, {"none1"});
  ASSERT_TRUE(create(queue, due_in("late", milliseconds(5000))));
  ASSERT_TRUE(create(queue, due_in("soon", milliseconds(500))));
  create(queue, {"none2"});
  ASSERT_TRUE(create(queue, due_in("later", seconds(3600))));
  EXPECT_EQ(ids(take(queue)), "soon");
  EXPECT_EQ(ids(take(queue, 9)), "late later none1 none2");
  EXPECT_EQ(ids(take(queue)), "");
  expect_balance();
}

TEST_P(DeadlineOrder, WhatHasNotEnoughTimeGivesWayAndIsTriedWhereNothingElseIs) {
  world.set_faults({});  // It counts milliseconds: needs the trait of immediate answers, or that each one comes.
  auto& queue = start();
  teach(queue);
  ASSERT_TRUE(create(queue, due_in("never", milliseconds(90))));  // It had no chance from the start.
  ASSERT_TRUE(create(queue, due_in("first", milliseconds(150))));
  ASSERT_TRUE(create(queue, due_in("second", milliseconds(400))));
  EXPECT_EQ(ids(take(queue, 2)), "first second");
  EXPECT_EQ(ids(take(queue)), "never");
}

TEST_P(DeadlineOrder, WhatHasLostItsChanceIsLeftToItsDeadline) {
  world.set_faults({});  // It counts milliseconds: needs the trait of immediate answers, or that each one comes.
  auto& queue = start();
  teach(queue);
  ASSERT_TRUE(create(queue, due_in("lost", milliseconds(400))));
  world.pass(milliseconds(340));
  create(queue, {"none"});
  EXPECT_EQ(ids(take(queue, 9)), "none") << "60 ms are left for what takes 100";
  EXPECT_EQ(world.status("lost"), "PENDING");
  EXPECT_EQ(ids(take(queue)), "");
  world.pass(milliseconds(100));
  EXPECT_EQ(world.status("lost"), "SHED");
  expect_balance();
}

TEST_P(DeadlineOrder, ManyThatAreLostStandInNobodysWay) {
  auto& queue = start();
  teach(queue);
  std::vector<NewTask> tasks;
  for (int i = 0; i < 200; ++i) tasks.push_back(due_in("lost" + std::to_string(i), milliseconds(400)));
  for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
  world.pass(milliseconds(340));
  create(queue, {"none"});
  ASSERT_TRUE(create(queue, due_in("fresh", milliseconds(500))));
  EXPECT_EQ(ids(take(queue, 2)), "fresh none");
}

TEST_P(DeadlineOrder, LanesHaveTheirTurnsAndTheirTasksTheOrder) {
  auto& queue = start();
  const auto of = [&](const char* id, milliseconds time, const char* group, int priority) {
    auto task = due_in(id, time);
    task.group = group;
    task.priority = priority;
    ASSERT_TRUE(create(queue, std::move(task)));
  };
  of("a-late", seconds(9), "a", 0);
  of("a-soon", seconds(2), "a", 0);
  of("b-soon", seconds(1), "b", 0);
  of("high-late", seconds(60), "", 5);
  of("high-soon", seconds(30), "", 5);
  create(queue, {"plain"});
  EXPECT_EQ(ids(take(queue, 2)), "high-soon high-late") << "priority before deadline";
  const auto rest = ids(take(queue, 9));
  EXPECT_LT(rest.find("a-soon"), rest.find("a-late")) << rest;
  EXPECT_LT(rest.find("b-soon"), rest.find("a-late")) << "groups share: " << rest;
  EXPECT_NE(rest.find("plain"), std::string::npos) << rest;
  expect_balance();
}

// As it may be that of a queue from before there was an index of lanes and deadlines.
TEST_P(DeadlineOrder, ATableWithoutRoomForTheIndexStaysAQueue) {
  auto described = world.wait(world.store->describe_table("QueueTable"));
  ASSERT_TRUE(described);
  auto definition = described->definition;
  const auto add = [&](const std::string& name) {
    definition.indexes.push_back({name, {{name, Type::kString}, std::nullopt}, false, Projection::kAll, {}});
  };
  while (definition.indexes.size() < 16) add("client" + std::to_string(definition.indexes.size()));
  ASSERT_TRUE(world.wait(world.store->alter_table(definition)));
  auto& queue = start();
  for (const char* id : {"one", "two", "three"}) {
    auto task = due_in(id, seconds(id[0] == 't' ? 9 : 5));
    task.group = "g";
    ASSERT_TRUE(create(queue, std::move(task)));
    world.pass(milliseconds(1));
  }
  const auto why = sentences(*world.wait(queue.explain("two")));
  EXPECT_EQ(why.at(0), "the newest task is taken first: 1 comes before it in its lane (group and priority)");
  EXPECT_EQ(ids(take(queue, 9)), "three two one");
  expect_balance();
}

// A client's task has a deadline like any other; one with a later date waits for its time.
TEST_P(DeadlineOrder, TasksOfClientsTakePartAndWhatIsDatedAheadWaits) {
  auto& queue = start();
  const auto put = [&](const char* id, int64_t created, int64_t deadline) {
    world.put(Item{{"taskId", Value(id)},
                   {"taskStatus", Value("PENDING")},
                   {"taskCreated", Value::number(created)},
                   {"deadline", Value::number(deadline)}});
  };
  put("ahead", world.now_ms() + 3'600'000, world.now_ms() + 4'000'000);
  put("far", world.now_ms(), std::numeric_limits<int64_t>::max());
  put("old", std::numeric_limits<int64_t>::min(), world.now_ms() + 5'000);
  put("zero", world.now_ms(), 0);
  world.pass(milliseconds(500));
  EXPECT_EQ(ids(take(queue, 9)), "old far zero");
  EXPECT_EQ(world.status("ahead"), "PENDING");
}

// However many are dated ahead with early deadlines.
TEST_P(DeadlineOrder, WhatIsDatedAheadStandsInNobodysWay) {
  auto& queue = start();
  for (int i = 0; i < 1500; ++i) {
    world.put(Item{{"taskId", Value("ahead" + std::to_string(i))},
                   {"taskStatus", Value("PENDING")},
                   {"taskCreated", Value::number(world.now_ms() + 3'600'000)},
                   {"deadline", Value::number(world.now_ms() + 3'700'000)}});
  }
  ASSERT_TRUE(create(queue, due_in("patient", seconds(7200))));
  create(queue, {"none"});
  EXPECT_EQ(ids(take(queue, 9)), "patient none");
}

// A processor that is started for what no take gives out would only end again, and be started again, and again.
TEST_P(DeadlineOrder, WhatIsLeftToItsDeadlineIsNoWork) {
  auto& queue = start();
  teach(queue, seconds(2));
  const auto has_work = [&] { return world.wait(queue.has_work()).value(); };
  std::vector<NewTask> tasks;
  for (int i = 0; i < 40; ++i) tasks.push_back(due_in("lost" + std::to_string(i), seconds(8)));
  for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
  EXPECT_TRUE(has_work());
  world.pass(milliseconds(6500));
  EXPECT_EQ(ids(take(queue, 9)), "");
  EXPECT_FALSE(has_work());
  create(queue, {"none"});
  EXPECT_TRUE(has_work());
  EXPECT_EQ(ids(take(queue, 9)), "none");
  ASSERT_TRUE(queue.change_policy({{"ORDER", "lifo"}}));
  EXPECT_TRUE(has_work());
}

TEST_P(DeadlineOrder, TheOrderIsChangedWhileTheQueueIsUsed) {
  auto& queue = world.start();
  ASSERT_TRUE(create(queue, due_in("soon", seconds(1))));
  ASSERT_TRUE(create(queue, due_in("late", seconds(9))));
  ASSERT_TRUE(create(queue, due_in("newest", seconds(5))));
  ASSERT_TRUE(queue.change_policy({{"ORDER", "deadline"}}));
  EXPECT_EQ(queue.policy().at("ORDER"), "deadline");
  EXPECT_EQ(ids(take(queue)), "soon");
  ASSERT_TRUE(queue.change_policy({{"ORDER", "fifo"}}));
  EXPECT_EQ(ids(take(queue)), "late");
  ASSERT_TRUE(queue.change_policy({{"ORDER", "deadline"}}));
  EXPECT_EQ(ids(take(queue)), "newest");
}

TEST_P(DeadlineOrder, ExplainCountsThoseThatAreMoreUrgent) {
  auto& queue = start();
  for (int i = 1; i < 6; ++i) ASSERT_TRUE(create(queue, due_in("t" + std::to_string(i), seconds(i))));
  create(queue, {"none"});
  const auto ahead = [&](const char* id) { return world.wait(queue.explain(id))->ahead.value_or(99); };
  EXPECT_EQ(ahead("t1"), 0u);
  EXPECT_EQ(ahead("t5"), 4u);
  const auto why = sentences(*world.wait(queue.explain("t4")));
  EXPECT_EQ(why.at(0), "the earliest deadline that leaves enough time is taken first, as of now: 3 come before it");
  EXPECT_EQ(sentences(*world.wait(queue.explain("none"))).at(0),
            "it has no deadline: takes choose those first that have one, then the oldest, as of now: 5 come before it");
}

}  // namespace
}  // namespace freshet
