// Changes of the queue's table by SDK clients: delete it and create it again, switch its stream off and on, drop an
// index. In both worlds.
#include <algorithm>

#include "functions/functions.h"
#include "tables/owned/split_tables.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

// An engine that says for a while that a table of its does not exist.
class ForgetfulTables final : public SplitTables {
 public:
  explicit ForgetfulTables(Tables& tables) : SplitTables(tables, tables) {}
  Async<Result<TableDescription>> describe_table(std::string table) override {
    if (!has_forgotten) return SplitTables::describe_table(std::move(table));
    return Result<TableDescription>(fail(ErrorCode::kResourceNotFound, "no such table"));
  }
  bool has_forgotten = false;
};

class QueueTableTest : public QueueFixture {
 protected:
  void delete_table() { ASSERT_TRUE(world.wait(world.store->delete_table("QueueTable"))); }
  void create_table() {
    auto table = queue_table();
    table.indexes.clear();
    table.stream.reset();
    auto created = world.wait(world.store->create_table(table));
    ASSERT_TRUE(created) << created.error().message;
  }
  // As UpdateTable does.
  template <class Change>
  void alter_table(Change change) {
    auto described = world.wait(world.store->describe_table("QueueTable"));
    ASSERT_TRUE(described);
    change(described->definition);
    auto altered = world.wait(world.store->alter_table(described->definition));
    ASSERT_TRUE(altered) << altered.error().message;
  }
  void set_stream(std::optional<StreamView> view) {
    alter_table([view](TableDefinition& table) { table.stream = view; });
  }
  void drop_index(const std::string& name) {
    alter_table([&name](TableDefinition& table) {
      EXPECT_EQ(std::erase_if(table.indexes, [&](const auto& index) { return index.name == name; }), 1u) << name;
    });
  }
  bool has_index(const std::string& name) {
    return world.wait(world.store->describe_table("QueueTable"))->definition.index(name) != nullptr;
  }
  // A queue with lanes.
  Queue& start_with_lanes() {
    Queue& queue = world.start();
    NewTask high;
    high.id = "high";
    high.priority = 3;
    EXPECT_TRUE(create(queue, high));
    EXPECT_EQ(ids(take(queue)), "high");
    return queue;
  }
  static NewTask keyed(const char* id) {
    NewTask task;
    task.id = id;
    task.key = "k";
    return task;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueTableTest, ::testing::Values(false, true), store_name);

TEST_P(QueueTableTest, WithoutItsTableAQueueSaysSo) {
  Queue& queue = world.start();
  create(queue, {"a", "held"});
  auto held = take(queue);
  TakeInput input;
  input.max = 9;
  input.wait = milliseconds(60'000);
  ASSERT_EQ(ids(take(queue)), "a");
  auto waiting = queue.take(input);
  world.pass(milliseconds(10));
  delete_table();
  for (int i = 0; i < 2; ++i) {
    NewTask task;
    task.key = "k";
    std::vector<NewTask> tasks{task, NewTask{}};
    for (auto& created : world.wait(queue.create(tasks))) {
      EXPECT_EQ(created.error().code, ErrorCode::kResourceNotFound);
    }
    EXPECT_EQ(take(queue, 9).error().code, ErrorCode::kResourceNotFound);
    EXPECT_EQ(settle(queue, Kind::kComplete, held->at(0)).error().code, ErrorCode::kResourceNotFound);
    EXPECT_EQ(world.wait(queue.get("a")).error().code, ErrorCode::kResourceNotFound);
    EXPECT_EQ(world.wait(queue.list({})).error().code, ErrorCode::kResourceNotFound);
    EXPECT_EQ(world.wait(queue.cancel({"a"}))[0].error().code, ErrorCode::kResourceNotFound);
    EXPECT_EQ(world.wait(queue.redrive({})).error().code, ErrorCode::kResourceNotFound);
    EXPECT_EQ(world.wait(queue.stats()).error().code, ErrorCode::kResourceNotFound);
    EXPECT_EQ(world.wait(queue.has_work()).error().code, ErrorCode::kResourceNotFound);
    world.pass(milliseconds(3'000));
  }
  EXPECT_EQ(world.wait(queue.stats()).error().message,
            "the table of queue 'QueueTable' has been deleted; it is a queue again when it is created again");
  ASSERT_TRUE(waiting.is_ready());
  EXPECT_EQ(waiting.take().error().code, ErrorCode::kResourceNotFound);
  world.pass(seconds(600));
}

TEST_P(QueueTableTest, WhenTheTableIsCreatedAgainItIsAQueueAgain) {
  QueueSettings settings;
  settings.start_topic = "start";
  Queue& queue = world.start(settings);
  create(queue, {"old", "held"});
  ASSERT_EQ(ids(take(queue)), "held");
  delete_table();
  world.pass(milliseconds(3'000));
  create_table();
  world.put_pending("early", world.now_ms());
  auto published = world.topics.published.size();
  world.pass(milliseconds(3'000));
  EXPECT_GT(world.topics.published.size(), published);
  world.put_pending("later", world.now_ms());
  create(queue, {"new"});
  EXPECT_EQ(ids(take(queue, 9)), "new later early");
  EXPECT_EQ(world.wait(queue.stats())->running, 3u);
  NewTask high;
  high.id = "high";
  high.priority = 3;
  ASSERT_TRUE(create(queue, high));
  world.put_pending("sdk", world.now_ms());
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue, 9)), "high sdk") << "the new table's stream is followed";
  expect_balance();
}

TEST_P(QueueTableTest, ATableThatIsReplacedAtOnceIsNoticed) {
  Queue& queue = world.start();
  create(queue, {"old"});
  ASSERT_EQ(ids(take(queue)), "old");
  delete_table();
  create_table();
  world.put_pending("a", world.now_ms());
  world.pass(milliseconds(3'000));
  EXPECT_EQ(ids(take(queue, 9)), "a");
  EXPECT_EQ(world.wait(queue.stats())->running, 1u);
}

TEST_P(QueueTableTest, ATableThatTheStoreDidNotKnowForAWhileIsAQueueAgain) {
  ForgetfulTables tables(*world.tables);
  Services& there = *world.services;
  world.services = std::make_unique<Services>(
      Services{tables, there.topics, there.scheduler, there.random, there.http, there.spawner});
  Queue& queue = world.start();
  create(queue, {"a"});
  tables.has_forgotten = true;
  world.pass(milliseconds(3'000));
  EXPECT_EQ(take(queue).error().code, ErrorCode::kResourceNotFound);
  tables.has_forgotten = false;
  world.pass(milliseconds(3'000));
  EXPECT_EQ(ids(take(queue)), "a");
  world.queues.reset();  // Before its store.
}

TEST_P(QueueTableTest, ATableThatCannotBeAQueueIsToldAndWaitedFor) {
  Queue& queue = world.start();
  delete_table();
  auto other = queue_table();
  other.indexes.clear();
  other.keys.partition.name = "id";
  ASSERT_TRUE(world.wait(world.store->create_table(other)));
  world.pass(milliseconds(3'000));
  EXPECT_EQ(take(queue).error().message, "table 'QueueTable' cannot be a queue: its key must be taskId (S) alone");
  delete_table();
  create_table();
  world.pass(milliseconds(3'000));
  create(queue, {"a"});
  EXPECT_EQ(ids(take(queue)), "a");
}

TEST_P(QueueTableTest, TasksThatNoStreamHasShownAreAdopted) {
  Queue& queue = start_with_lanes();
  for (const int pause : {0, 20, 3'000}) {
    SCOPED_TRACE(pause);
    set_stream(std::nullopt);
    world.pass(milliseconds(pause));
    world.put_pending("sdk", world.now_ms());
    world.put(Item{{"taskId", Value("keyed")},
                   {"taskStatus", Value("DELAYED")},
                   {"taskCreated", Value::number(world.now_ms())},
                   {"notBefore", Value::number(world.now_ms() + 86'400'000)},
                   {"key", Value("k")}});
    world.pass(milliseconds(pause));
    set_stream(StreamView::kNewAndOldImages);
    world.put_pending("later", world.now_ms() + 1);
    world.pass(milliseconds(2'500));
    auto taken = take(queue, 9);
    EXPECT_EQ(ids(taken), "later sdk");
    EXPECT_EQ(create(queue, keyed("other"))->id, "keyed");
    world.put_pending("shown", world.now_ms());
    world.pass(milliseconds(200));
    EXPECT_EQ(ids(take(queue, 9)), "shown") << "the new stream is followed";
    for (const char* id : {"sdk", "later", "keyed", "shown"}) {
      DeleteItemInput gone;
      gone.table = "QueueTable";
      gone.key.set("taskId", Value(id));
      ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
    }
    world.pass(milliseconds(200));
  }
}

TEST_P(QueueTableTest, WithoutAStreamTasksAreAdoptedAfterAWhile) {
  Queue& queue = start_with_lanes();
  set_stream(std::nullopt);
  world.pass(milliseconds(2'000));
  world.put_pending("sdk", world.now_ms());
  world.pass(milliseconds(8'000));
  EXPECT_EQ(ids(take(queue, 9)), "sdk");
  EXPECT_FALSE(world.wait(world.store->describe_table("QueueTable"))->definition.stream)
      << "a client that switches to another view finds it off";
  const auto calls = world.store_calls();
  world.pass(seconds(60));
  EXPECT_LT(world.store_calls() - calls, 2'000u);
}

TEST_P(QueueTableTest, WhatTheClosedStreamHadIsReadToItsEnd) {
  Queue& queue = world.start();
  world.put(Item{{"taskId", Value("expires")},
                 {"taskStatus", Value("PENDING")},
                 {"taskCreated", Value::number(world.now_ms())},
                 {"ttl", Value::number(world.now_ms() / 1000 + 2)}});
  world.pass(milliseconds(200));
  for (int i = 0; i < 60'000 && !world.read("expires").empty(); ++i) world.pass(milliseconds(1));
  set_stream(std::nullopt);
  set_stream(StreamView::kKeysOnly);
  world.pass(milliseconds(3'000));
  const auto lines = world.wait(queue.sheds(10));
  ASSERT_EQ(lines->size(), 1u);
  EXPECT_EQ((*lines)[0].decode().string_or("by"), "sweep");
}

TEST_P(QueueTableTest, AnIndexThatAClientDropsIsMadeAgain) {
  Queue& queue = start_with_lanes();
  for (const char* name : {"freshet-delayed-index", "freshet-deadline-index", "freshet-lane-index", "freshet-key-index",
                           "freshet-lane-deadline-index", "task-status-created-index"}) {
    SCOPED_TRACE(name);
    NewTask delayed;
    delayed.id = std::string("delayed by ") + name;
    delayed.delay = milliseconds(2'000);
    delayed.deadline = world.clock.wall() + seconds(100);
    ASSERT_TRUE(create(queue, delayed));
    NewTask late;
    late.id = std::string("late ") + name;
    late.deadline = world.clock.wall() + milliseconds(1'500);
    late.priority = -1;
    ASSERT_TRUE(create(queue, late));
    drop_index(name);
    world.pass(milliseconds(2'500));
    EXPECT_TRUE(has_index(name));
    EXPECT_EQ(queue.broken(), nullptr);
    EXPECT_EQ(world.status(late.id), "SHED");
    auto taken = take(queue, 9);
    EXPECT_EQ(ids(taken), delayed.id);
    ASSERT_TRUE(settle(queue, Kind::kComplete, taken->at(0)));
    ASSERT_TRUE(create(queue, keyed(name))->created);
    EXPECT_FALSE(create(queue, keyed("second"))->created);
    taken = take(queue, 9);
    EXPECT_EQ(ids(taken), name);
    ASSERT_TRUE(settle(queue, Kind::kComplete, taken->at(0)));
  }
  expect_balance();
}

TEST_P(QueueTableTest, UntilAnIndexIsThereAgainWhoNeedsItIsToldToComeBack) {
  Queue& queue = world.start();
  create(queue, {"a"});
  drop_index("task-status-created-index");
  const auto refused = take(queue);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().message;
  EXPECT_NE(refused.error().message.find("the table of queue 'QueueTable' has lost"), std::string::npos)
      << refused.error().message;
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue)), "a") << "at once, not at the next look around";
  drop_index("freshet-key-index");
  EXPECT_EQ(create(queue, keyed("b")).error().code, ErrorCode::kUnavailable);
  world.pass(milliseconds(GetParam() ? 2'500 : 200));  // An engine is asked less often.
  EXPECT_TRUE(create(queue, keyed("b"))->created);
}

TEST_P(QueueTableTest, AnIndexOfAnotherKindUnderItsNameIsReplaced) {
  Queue& queue = world.start();
  alter_table([](TableDefinition& table) {
    for (auto& index : table.indexes) {
      if (index.name == "freshet-delayed-index") index.keys.sort = KeyAttribute{"taskCreated", Type::kNumber};
    }
  });
  NewTask delayed;
  delayed.id = "delayed";
  delayed.delay = milliseconds(2'000);
  ASSERT_TRUE(create(queue, delayed));
  world.pass(milliseconds(3'500));
  EXPECT_EQ(ids(take(queue)), "delayed");
}

TEST_P(QueueTableTest, AStatusIndexOfTheClientsOwnWillDo) {
  Queue& queue = world.start();
  create(queue, {"a", "b"});
  alter_table([](TableDefinition& table) {
    for (auto& index : table.indexes) {
      if (index.name == "task-status-created-index") index.name = "mine";
    }
  });
  world.pass(milliseconds(2'000));
  EXPECT_EQ(ids(take(queue, 9)), "b a");
  EXPECT_FALSE(has_index("task-status-created-index")) << "one is enough";
}

TEST_P(QueueTableTest, AnotherIndexUnderTheNameOfTheStatusIndexIsTold) {
  Queue& queue = world.start();
  alter_table([](TableDefinition& table) {
    for (auto& index : table.indexes) {
      if (index.name == "task-status-created-index") index.keys.sort.reset();
    }
  });
  world.pass(milliseconds(2'000));
  ASSERT_NE(queue.broken(), nullptr);
  EXPECT_NE(queue.broken()->message.find("an index on taskStatus, taskCreated is missing; 'task-status-created-index' "
                                         "has keys (taskStatus S) and not (taskStatus S, taskCreated N)"),
            std::string::npos)
      << queue.broken()->message;
}

TEST_P(QueueTableTest, WhatCannotBeMendedIsTold) {
  Queue& queue = world.start();
  create(queue, {"a"});
  alter_table([](TableDefinition& table) {
    std::erase_if(table.indexes, [](const auto& index) { return index.name == "freshet-delayed-index"; });
    KeySchema keys{{"other", Type::kString}, {}};
    for (int i = 0; table.indexes.size() < 20; ++i) {
      table.indexes.push_back({"other-" + std::to_string(i), keys, false, Projection::kAll, {}});
    }
  });
  world.pass(milliseconds(2'000));
  ASSERT_NE(queue.broken(), nullptr);
  EXPECT_NE(queue.broken()->message.find("lacks index 'freshet-delayed-index', and cannot have it again: "),
            std::string::npos)
      << queue.broken()->message;
  EXPECT_EQ(world.queues->broken(), queue.broken()->message + "\n");
  EXPECT_EQ(ids(take(queue)), "a") << "what does not need it goes on";
  drop_index("other-0");
  world.pass(milliseconds(2'000));
  EXPECT_EQ(queue.broken(), nullptr);
  EXPECT_TRUE(has_index("freshet-delayed-index"));
}

}  // namespace
}  // namespace freshet
