// A client deletes the queue's table, and creates it again. In both worlds.
#include "functions/functions.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

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

}  // namespace
}  // namespace freshet
