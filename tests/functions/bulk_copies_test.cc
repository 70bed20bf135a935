// Jobs that run delayed tasks now or make copies of tasks, and jobs that name their tasks. In both worlds.
#include <algorithm>
#include <functional>

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
  void remove(const std::string& id) {
    DeleteItemInput gone;
    gone.table = "QueueTable";
    gone.key.set("taskId", Value(id));
    ASSERT_TRUE(world.wait(world.tables->delete_item(std::move(gone))));
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
  EXPECT_EQ(job.input.batch, std::to_string(job.id)) << "the answer names it";
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
            "duplicate: duplicate of PENDING tasks, with changes of payload, group, deadlineMs, attributes began");
  auto wrong = input(Action::kCancel, {});
  wrong.changes = edited.changes;
  EXPECT_EQ(start(queue, wrong).error().message, "only copies can be changed: 'set' goes with duplicate");
}

// The job meets tasks in one state after the other, and these move on meanwhile.
TEST_P(BulkCopies, ATaskThatTheJobMeetsTwiceIsCopiedOnce) {
  Queue& queue = world.start();
  fill(queue, 0, 40, "eu");
  world.pass(milliseconds(10));
  auto slow = input(Action::kDuplicate, {"PENDING", "TAKEN", "SUCCESS"});
  slow.rate = 20;
  slow.where = {{"group", "eu"}};
  auto begun = start(queue, slow);
  ASSERT_TRUE(begun);
  for (int i = 0; i < 100'000 && queue.job(begun->id)->changed < 20; ++i) world.pass(milliseconds(1));
  const auto taken = take(queue, 100);
  ASSERT_TRUE(taken);
  for (const auto& task : *taken) ASSERT_TRUE(settle(queue, Kind::kComplete, task));
  for (int i = 0; i < 100'000 && queue.job(begun->id)->at_work(); ++i) world.pass(milliseconds(1));
  const auto job = *queue.job(begun->id);
  EXPECT_EQ(job.changed, 40u) << counts(job);
  EXPECT_GT(job.copied, 0u);
  EXPECT_EQ(world.stock("PENDING") + world.stock("SUCCESS"), 80u);
  expect_balance();
}

// Its page was read long ago.
TEST_P(BulkCopies, ASlowJobLooksAtEachTaskAgain) {
  Queue& queue = world.start();
  for (int i = 0; i < 20; ++i) delay(queue, "t" + std::to_string(i), "eu");
  world.pass(milliseconds(10));
  auto slow = input(Action::kRun, {}, {{"group", "eu"}});
  slow.rate = 10;
  auto begun = start(queue, slow);
  ASSERT_TRUE(begun);
  world.pass(milliseconds(500));
  ASSERT_LT(queue.job(begun->id)->changed, 15u);
  remove("t18");
  remove("t19");
  delay(queue, "t19", "eu");
  for (int i = 0; i < 10'000 && queue.job(begun->id)->at_work(); ++i) world.pass(milliseconds(1));
  EXPECT_EQ(counts(*queue.job(begun->id)), "done: 20 matched, 18 changed, 2 moved, 0 failed");
  EXPECT_EQ(world.status("t19"), "DELAYED") << "it came after the job began";
  expect_balance();
}

TEST_P(BulkCopies, NamedTasksThatCameAfterTheBeginAreLeftAlone) {
  Queue& queue = world.start();
  fill(queue, 0, 71, "eu");
  world.pass(milliseconds(10));
  auto named = input(Action::kCancel, {});
  named.rate = 20;
  for (int i = 0; i < 71; ++i) named.ids.push_back("eu-" + std::to_string(i));
  named.ids.emplace_back("late-0");
  auto begun = start(queue, named);
  ASSERT_TRUE(begun);
  world.pass(milliseconds(1'000));
  fill(queue, 0, 1, "late");
  for (int i = 0; i < 20'000 && queue.job(begun->id)->at_work(); ++i) world.pass(milliseconds(1));
  EXPECT_EQ(counts(*queue.job(begun->id)), "done: 71 matched, 71 changed, 0 moved, 0 failed");
  EXPECT_EQ(world.status("late-0"), "PENDING");
}

// Cut off, stopped, or its answer was lost: it is started again.
TEST_P(BulkCopies, AJobOfTheSameBatchMakesWhatIsMissing) {
  Queue& queue = world.start();
  fill(queue, 0, 20, "eu");
  world.pass(milliseconds(10));
  auto some = input(Action::kDuplicate, {"PENDING"});
  some.batch = "again";
  some.limit = 5;
  EXPECT_EQ(run(queue, some).changed, 5u);
  world.pass(milliseconds(10));
  some.limit.reset();
  const auto rest = run(queue, some);
  EXPECT_EQ(counts(rest), "done: 20 matched, 15 changed, 0 moved, 0 failed");
  EXPECT_EQ(rest.copied, 5u);
  EXPECT_EQ(world.stock("PENDING"), 40u);
  EXPECT_EQ(world.read("eu-3-copy-again").string_or("group"), "eu");
  some.batch = "a b";
  EXPECT_EQ(start(queue, some).error().message, "'batch' must be at most 64 letters, digits, '-', '_' and '.'");
}

// They wait in one of the states while the job is at the other one.
TEST_P(BulkCopies, TasksWhoseDelayEndsMeanwhileAreCopied) {
  Queue& queue = world.start();
  fill(queue, 0, 20, "eu");
  NewTask soon;
  soon.id = "soon";
  soon.delay = milliseconds(1'000);
  ASSERT_TRUE(create(queue, std::move(soon)));
  world.pass(milliseconds(10));
  auto slow = input(Action::kDuplicate, {"PENDING", "DELAYED"});
  slow.rate = 10;
  auto begun = start(queue, slow);
  ASSERT_TRUE(begun);
  for (int i = 0; i < 10'000 && queue.job(begun->id)->at_work(); ++i) world.pass(milliseconds(1));
  EXPECT_EQ(queue.job(begun->id)->changed, 21u);
}

TEST_P(BulkCopies, ChangesThatNoTaskCanHaveAreRefusedAtOnce) {
  Queue& queue = world.start();
  fill(queue, 0, 2, "eu");
  const auto refused = [&](const std::function<void(CopyChanges&)>& change) {
    auto wrong = input(Action::kDuplicate, {"PENDING"});
    change(wrong.changes);
    wrong.changes.members = {"any"};
    return start(queue, wrong).error().message;
  };
  EXPECT_EQ(refused([](auto& changes) { changes.to.attributes.set("taskStatus", Value("X")); }),
            "attribute 'taskStatus' is Freshet's own: it cannot be among `attributes`");
  EXPECT_EQ(refused([](auto& changes) { changes.to.group = std::string(257, 'g'); }),
            "group must be at most 256 bytes");
  EXPECT_NE(refused([&](auto& changes) { changes.to.deadline = world.clock.wall() - seconds(5); }).find("passed"),
            std::string::npos);
  auto wrong = input(Action::kRun, {});
  wrong.ids = {"a", ""};
  EXPECT_EQ(start(queue, wrong).error().message, "an id in 'taskIds' must have 1 to 2048 bytes");
}

TEST_P(BulkCopies, AttributesAndLongIds) {
  Queue& queue = world.start();
  NewTask task = rich();
  task.id = std::string(2'040, 'x');
  ASSERT_TRUE(create(queue, std::move(task)));
  world.pass(milliseconds(10));
  auto bare = input(Action::kDuplicate, {"PENDING"});
  bare.batch = "bare";
  bare.changes.members = {"attributes"};
  bare.changes.no_attributes = true;
  EXPECT_EQ(counts(run(queue, bare)), "done: 1 matched, 1 changed, 0 moved, 0 failed");
  EXPECT_EQ(world.stock("PENDING"), 2u);
  world.pass(milliseconds(10));
  auto costly = input(Action::kDuplicate, {"PENDING"}, {{"region", "west"}});
  costly.batch = "costly";
  costly.changes.members = {"attributes"};
  costly.changes.to.attributes.set("cost", Value::number(5));
  EXPECT_EQ(counts(run(queue, costly)), "done: 1 matched, 1 changed, 0 moved, 0 failed");
  world.pass(milliseconds(10));
  std::vector<Item> items;
  const auto taken = take(queue, 5);
  ASSERT_TRUE(taken);
  for (const auto& one : *taken) items.push_back(one.task.decode());
  ASSERT_EQ(items.size(), 3u);
  const auto of = [&](std::string_view batch) {
    return *std::find_if(items.begin(), items.end(),
                         [&](const Item& item) { return item.string_or("taskId").ends_with(batch); });
  };
  EXPECT_FALSE(of("bare").contains("region"));
  EXPECT_EQ(of("bare").string_or("group"), "eu");
  EXPECT_EQ(of("costly").int_or("cost", 0), 5);
  EXPECT_EQ(of("costly").string_or("region"), "west");
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
            "'states' must say which tasks to duplicate: DELAYED, PENDING, TAKEN, SUCCESS, FAILURE, DEAD, SHED, "
            "CANCELLED; or 'taskIds' must name them");
  auto named = input(Action::kDuplicate, {});
  named.ids = {"eu-0"};
  EXPECT_EQ(counts(run(queue, named)), "done: 1 matched, 1 changed, 0 moved, 0 failed");
}

}  // namespace
}  // namespace freshet
