// Jobs that run delayed tasks now or make copies of tasks, and jobs that name their tasks. In both worlds.
#include "tests/functions/bulk_fixture.h"

namespace freshet {
namespace {

class BulkCopies : public BulkFixture {
 protected:
  void delay(Queue& queue, const std::string& id, const std::string& group,
             std::optional<milliseconds> deadline = std::nullopt) {
    NewTask task;
    task.id = id;
    task.group = group;
    task.delay = milliseconds(3'600'000);
    if (deadline) task.deadline = world.clock.wall() + *deadline;
    ASSERT_TRUE(create(queue, std::move(task)));
  }
  NewTask rich() {
    NewTask task;
    task.id = "rich";
    task.payload = Value("hello");
    task.key = "order-17";
    task.group = "eu";
    task.priority = 7;
    task.max_attempts = 3;
    task.cost = 2.5;
    task.deadline_in = milliseconds(60'000);
    task.attributes.set("region", Value("west"));
    task.attributes.set("shard", Value::number(4));
    return task;
  }
  static std::string copy_id(const std::string& id, const BulkJob& job) {
    return id + "-copy-" + std::to_string(job.id);
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, BulkCopies, ::testing::Values(false, true), store_name);

TEST_P(BulkCopies, DelayedTasksThatMatchRunNow) {
  Queue& queue = world.start();
  delay(queue, "a", "eu");
  delay(queue, "b", "eu");
  delay(queue, "c", "us");
  world.pass(milliseconds(10));
  EXPECT_EQ(counts(run(queue, input(Action::kRun, {}, {{"group", "eu"}}))),
            "done: 2 matched, 2 changed, 0 moved, 0 failed");
  EXPECT_EQ(world.stock("PENDING"), 2u);
  EXPECT_EQ(take(queue, 5)->size(), 2u);
  EXPECT_EQ(world.status("c"), "DELAYED");
  expect_balance();
  EXPECT_EQ(audited().at(1), "run: run of DELAYED tasks where group=eu began");
}

// Its delay is over by force, its deadline is not.
TEST_P(BulkCopies, ADelayedTaskThatIsStaleIsShedWhenItRuns) {
  Queue& queue = world.start();
  delay(queue, "stale", "eu", milliseconds(5'000));
  world.pass(milliseconds(10'000));
  EXPECT_EQ(counts(run(queue, input(Action::kRun, {}))), "done: 1 matched, 1 changed, 0 moved, 0 failed");
  EXPECT_EQ(world.status("stale"), "SHED");
  expect_balance();
}

TEST_P(BulkCopies, OnlyTasksThatAreNamedAndInAStateThatFits) {
  Queue& queue = world.start();
  fill(queue, 0, 100, "eu");
  fill(queue, 0, 3, "us");
  auto named = input(Action::kCancel, {});
  named.ids = {"eu-5", "us-1", "no-such-task", "eu-7", "eu-5"};
  const auto job = run(queue, named);
  EXPECT_EQ(counts(job), "done: 3 matched, 3 changed, 0 moved, 0 failed");
  EXPECT_EQ(job.looked, 4u);
  EXPECT_EQ(world.stock("CANCELLED"), 3u);
  named.where = {{"group", "eu"}};
  EXPECT_EQ(counts(run(queue, named)), "done: 0 matched, 0 changed, 0 moved, 0 failed") << "they are CANCELLED";
  auto back = input(Action::kRedrive, {});
  back.ids = {"eu-5", "us-1"};
  EXPECT_EQ(counts(run(queue, back)), "done: 2 matched, 2 changed, 0 moved, 0 failed");
  EXPECT_EQ(world.status("eu-5"), "PENDING");
  EXPECT_EQ(world.status("eu-7"), "CANCELLED");
  expect_balance();
  EXPECT_EQ(audited().back(), "cancel: cancel of 4 named DELAYED, PENDING, TAKEN tasks began");
}

TEST_P(BulkCopies, ACopyHasWhatItsCreatorChose) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, rich()));
  world.pass(milliseconds(10));
  const auto job = run(queue, input(Action::kDuplicate, {"PENDING"}));
  EXPECT_EQ(counts(job), "done: 1 matched, 1 changed, 0 moved, 0 failed");
  const Item copy = world.read(copy_id("rich", job));
  EXPECT_EQ(copy.string_or("taskStatus"), "PENDING");
  EXPECT_EQ(copy.string_or("payload"), "hello");
  EXPECT_EQ(copy.string_or("group"), "eu");
  EXPECT_EQ(copy.int_or("priority", 0), 7);
  EXPECT_EQ(copy.int_or("maxAttempts", 0), 3);
  EXPECT_EQ(copy.find("cost")->get_if<Decimal>()->to_string(), "2.5");
  EXPECT_EQ(copy.string_or("region"), "west");
  EXPECT_EQ(copy.int_or("shard", 0), 4);
  for (const char* own : {"key", "liveKey", "deadline"}) EXPECT_FALSE(copy.contains(own)) << own;
  EXPECT_EQ(world.stock("PENDING"), 2u);
  expect_balance();
}

TEST_P(BulkCopies, ACopyCanBeChanged) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, rich()));
  world.pass(milliseconds(10));
  auto edited = input(Action::kDuplicate, {"PENDING"});
  edited.changes.members = {"payload", "group", "deadlineMs", "attributes"};
  edited.changes.to.payload = Value("bye");
  edited.changes.to.deadline_in = milliseconds(5'000);
  edited.changes.to.attributes.set("region", Value("east"));
  const auto job = run(queue, edited);
  EXPECT_EQ(counts(job), "done: 1 matched, 1 changed, 0 moved, 0 failed");
  const Item copy = world.read(copy_id("rich", job));
  EXPECT_EQ(copy.string_or("payload"), "bye");
  EXPECT_FALSE(copy.contains("group")) << "an empty one is none";
  EXPECT_EQ(copy.int_or("priority", 0), 7) << "it was not named";
  EXPECT_EQ(copy.string_or("region"), "east");
  EXPECT_EQ(copy.int_or("shard", 0), 4);
  EXPECT_GT(copy.int_or("deadline", 0), world.now_ms());
  EXPECT_EQ(audited().at(1),
            "duplicate: duplicate of PENDING tasks, with another payload, group, deadlineMs, attributes began");
  auto wrong = input(Action::kCancel, {});
  wrong.changes = edited.changes;
  EXPECT_EQ(start(queue, wrong).error().message, "only copies can be changed: 'set' goes with duplicate");
}

// The job meets tasks in one state after the other, and these move on meanwhile.
TEST_P(BulkCopies, ATaskThatTheJobMeetsTwiceIsCopiedOnce) {
  Queue& queue = world.start();
  fill(queue, 0, 40, "eu");
  world.pass(milliseconds(10));
  auto slow = input(Action::kDuplicate, {"PENDING", "SUCCESS"});
  slow.rate = 20;
  slow.where = {{"group", "eu"}};
  auto begun = start(queue, slow);
  ASSERT_TRUE(begun);
  uint64_t originals = 0;
  for (int i = 0; i < 100'000 && queue.job(begun->id)->at_work(); ++i) {
    auto taken = take(queue, 1);
    ASSERT_TRUE(taken);
    for (const auto& task : *taken) {
      ASSERT_TRUE(settle(queue, Kind::kComplete, task));
      const Item item = task.task.decode();
      const std::string_view id = item.string_or("taskId");
      originals += id.find("-copy-") == std::string_view::npos ? 1 : 0;
    }
    world.pass(milliseconds(200));
  }
  const auto job = *queue.job(begun->id);
  EXPECT_EQ(job.changed, 40u) << counts(job);
  EXPECT_GT(originals, 0u);
  EXPECT_EQ(world.stock("PENDING") + world.stock("SUCCESS"), 80u);
  expect_balance();
}

TEST_P(BulkCopies, ACopyThatHasNoRoomIsRefused) {
  QueueSettings settings;
  settings.admission.max_waiting = 12;
  Queue& queue = world.start(settings);
  fill(queue, 0, 10, "eu");
  world.pass(milliseconds(10));
  const auto job = run(queue, input(Action::kDuplicate, {"PENDING"}));
  EXPECT_EQ(counts(job), "done: 10 matched, 1 changed, 0 moved, 9 failed");
  EXPECT_NE(job.error.find("12"), std::string::npos) << job.error;
  EXPECT_EQ(world.stock("PENDING"), 11u) << "the rest of the room is for critical tasks";
  expect_balance();
}

TEST_P(BulkCopies, TasksToCopyMustBeNamedByIdOrState) {
  Queue& queue = world.start();
  fill(queue, 0, 2, "eu");
  EXPECT_EQ(start(queue, input(Action::kDuplicate, {})).error().message,
            "'states' must say which tasks to duplicate: PENDING, DELAYED, TAKEN, SUCCESS, FAILURE, DEAD, SHED, "
            "CANCELLED");
  auto named = input(Action::kDuplicate, {});
  named.ids = {"eu-0"};
  EXPECT_EQ(counts(run(queue, named)), "done: 1 matched, 1 changed, 0 moved, 0 failed");
}

}  // namespace
}  // namespace freshet
