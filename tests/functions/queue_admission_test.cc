// Which new tasks a queue refuses: beyond its bound of bytes, and, if so set, those that would be too late. In both
// worlds.
#include "runtime/api/retry_later.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class QueueAdmission : public QueueFixture {
 protected:
  NewTask of_size(const std::string& id, size_t size, int priority = 0) {
    NewTask task;
    task.id = id;
    task.payload = Value(std::string(size, 'x'));
    task.priority = priority;
    return task;
  }
  uint64_t waiting_bytes() {
    auto books = world.books();
    return books.bytes["PENDING"] + books.bytes["DELAYED"];
  }
  static milliseconds after(const Result<CreatedTask>& refused) {
    const auto later = std::dynamic_pointer_cast<const RetryLater>(refused.error().detail);
    return later ? later->after : milliseconds(-1);
  }
  // Ten tasks that took `time` each.
  void observe(Queue& queue, milliseconds time) {
    for (int i = 0; i < 10; ++i) {
      create(queue, named({"seen"})[0]);
      auto taken = take(queue);
      world.pass(time);
      ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
      DeleteItemInput gone;
      gone.table = "QueueTable";
      gone.key.set("taskId", Value("seen"));
      ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
    }
  }
  NewTask due_in(const std::string& id, milliseconds time) {
    NewTask task;
    task.id = id;
    task.deadline = world.clock.wall() + time;
    return task;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueAdmission, ::testing::Bool(), store_name);

TEST_P(QueueAdmission, BytesThatWaitAreBoundedExactly) {
  QueueSettings settings;
  settings.admission.max_waiting_bytes = 10'000;
  settings.admission.reserved_share = 0.2;
  auto& queue = world.start(settings);
  int made = 0;
  Result<CreatedTask> last;
  for (; made < 100; ++made) {
    last = create(queue, of_size("t" + std::to_string(made), 700));
    if (!last) break;
    EXPECT_LE(waiting_bytes(), 8'000u);
  }
  const auto each = waiting_bytes() / static_cast<uint64_t>(made);
  EXPECT_GT(waiting_bytes() + each, 8'000u) << "no task was refused for which there was room";
  EXPECT_EQ(last.error().code, ErrorCode::kTooManyRequests);
  EXPECT_NE(last.error().message.find("MAX_WAITING_BYTES is 10000"), std::string::npos) << last.error().message;
  EXPECT_EQ(after(last), milliseconds(60'000)) << "nothing has left yet";
  EXPECT_EQ(queue.refusals().bytes, 1u);
  ASSERT_TRUE(create(queue, of_size("critical", 700, 50))) << "critical tasks have a share of their own";
  EXPECT_LE(waiting_bytes(), 10'000u);
  // At a known rate the answer is when there is room.
  ASSERT_EQ(take(queue, 5)->size(), 5u);
  ASSERT_TRUE(create(queue, of_size("more", 700)));
  for (int i = 0; last || i == 0; ++i) last = create(queue, of_size("more" + std::to_string(i), 700));
  EXPECT_LE(after(last), milliseconds(1'000)) << "of one that is over, five have left of late";
  expect_balance();
}

TEST_P(QueueAdmission, WhatCanNeverWaitIsAWrongRequest) {
  QueueSettings settings;
  settings.admission.max_waiting_bytes = 2'000;
  auto& queue = world.start(settings);
  const auto large = create(queue, of_size("large", 3'000));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kValidation);
  EXPECT_NE(large.error().message.find("it can never wait here"), std::string::npos);
  EXPECT_EQ(queue.refusals().bytes, 0u);
}

// A wrong task must not be told to come back later: it would come in vain.
TEST_P(QueueAdmission, AWrongTaskIsToldSoHoweverFullTheQueueIs) {
  QueueSettings settings;
  settings.admission.max_waiting = 1;
  settings.admission.reserved_share = 0;
  auto& queue = world.start(settings);
  create(queue, {"first"});
  const auto wrong_ones = [&](std::optional<WallTime> deadline) {
    std::vector<NewTask> out(6);
    out[0].id = std::string(2'049, 'i');
    out[1].key = std::string(257, 'k');
    out[2].group = std::string(257, 'g');
    out[3].replace = true;
    out[4].attributes.set("lease", Value("mine"));
    out[5].payload = Value(std::string(400'000, 'x'));
    for (auto& task : out) task.deadline = deadline;
    return out;
  };
  const auto expect_wrong = [&](const char* what, std::vector<NewTask> tasks) {
    for (const auto& refused : world.wait(queue.create(std::move(tasks)))) {
      ASSERT_FALSE(refused) << what;
      EXPECT_EQ(refused.error().code, ErrorCode::kValidation) << what << ": " << refused.error().message;
    }
  };
  expect_wrong("full", wrong_ones({}));
  ASSERT_TRUE(queue.change_policy({{"MAX_WAITING", "0"}, {"MAX_WAITING_BYTES", "1024"}}));
  expect_wrong("full of bytes", wrong_ones({}));
  ASSERT_TRUE(queue.change_policy({{"MAX_WAITING_BYTES", "0"}, {"REFUSE_LATE", "on"}}));
  expect_wrong("late", wrong_ones(world.clock.wall() - seconds(1)));
  EXPECT_EQ(queue.refusals().tasks + queue.refusals().bytes + queue.refusals().late, 0u);
  ASSERT_TRUE(queue.change_policy({{"REFUSE_LATE", "off"}}));
  std::vector<NewTask> grouped(1'000);
  for (size_t i = 0; i < grouped.size(); ++i) grouped[i].group = "g" + std::to_string(i);
  world.wait(queue.create(std::move(grouped)));  // No room for another lane.
  auto tasks = wrong_ones({});
  for (auto& task : tasks) task.priority = 7;
  expect_wrong("without a lane", std::move(tasks));
}

TEST_P(QueueAdmission, AReplacementNeedsOnlyWhatItHasMore) {
  QueueSettings settings;
  settings.admission.max_waiting_bytes = 3'000;
  settings.admission.reserved_share = 0;
  auto& queue = world.start(settings);
  auto first = of_size("first", 1'000);
  first.key = "k";
  ASSERT_TRUE(create(queue, first));
  ASSERT_TRUE(create(queue, of_size("other", 1'000)));
  auto same = of_size("same", 1'000);
  same.key = "k";
  same.replace = true;
  ASSERT_TRUE(create(queue, same)) << "it takes the place of the other";
  auto larger = of_size("larger", 2'000);
  larger.key = "k";
  larger.replace = true;
  EXPECT_FALSE(create(queue, larger));
  EXPECT_EQ(world.status("same"), "PENDING");
  ASSERT_TRUE(create(queue, of_size("other", 1'000))) << "it is there already";
}

TEST_P(QueueAdmission, NothingIsRefusedAsLateByAClockInDoubt) {
  QueueSettings settings;
  settings.admission.refuse_late = true;
  auto& queue = world.start(settings);
  observe(queue, milliseconds(100));
  const NewTask task = due_in("a", milliseconds(60'000));
  world.clock.step_wall(std::chrono::hours(24));
  EXPECT_TRUE(create(queue, task));
}

TEST_P(QueueAdmission, OldestFirstATaskBehindALongBacklogIsRefused) {
  QueueSettings settings;
  settings.order = Order::kOldestFirst;
  settings.admission.refuse_late = true;
  auto& queue = world.start(settings);
  observe(queue, milliseconds(100));  // Ten a second, or nearly.
  for (int i = 0; i < 100; ++i) create(queue, named({("w" + std::to_string(i)).c_str()})[0]);
  const auto late = create(queue, due_in("late", milliseconds(2'000)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTooManyRequests);
  EXPECT_NE(late.error().message.find("would be too late"), std::string::npos) << late.error().message;
  EXPECT_GT(after(late), milliseconds(5'000)) << "some eighty must leave first";
  EXPECT_LT(after(late), milliseconds(60'000));
  EXPECT_EQ(queue.refusals().late, 1u);
  EXPECT_TRUE(create(queue, due_in("patient", milliseconds(60'000))));
  EXPECT_TRUE(create(queue, due_in("w1", milliseconds(10)))) << "it is there already";
  world.pass(milliseconds(100));
  const auto lines = world.wait(queue.sheds(10));
  ASSERT_FALSE(lines->empty());
  EXPECT_EQ((*lines)[0].decode().string_or("policy"), "REFUSE_LATE=on");
  expect_balance();
}

TEST_P(QueueAdmission, NewestFirstTheBacklogDoesNotCount) {
  for (const Order order : {Order::kNewestFirst, Order::kAdaptive}) {
    QueueSettings settings;
    settings.order = order;
    settings.admission.refuse_late = true;
    auto& queue = world.start(settings);
    observe(queue, milliseconds(100));
    std::vector<NewTask> backlog(100);
    for (auto& created : world.wait(queue.create(std::move(backlog)))) ASSERT_TRUE(created);
    EXPECT_TRUE(create(queue, due_in("fresh" + std::to_string(static_cast<int>(order)), milliseconds(1'000))));
    const auto never = create(queue, due_in("never", milliseconds(50)));
    ASSERT_FALSE(never) << "nine of ten took longer than that alone";
    EXPECT_EQ(after(never), milliseconds(60'000));
  }
}

// Seconds where milliseconds are meant: to come back later is of no use.
TEST_P(QueueAdmission, ADeadlineOfLongAgoIsAWrongRequest) {
  QueueSettings settings;
  settings.admission.refuse_late = true;
  auto& queue = world.start(settings);
  NewTask task;
  task.id = "seconds";
  task.deadline = WallTime(milliseconds(1'800'000'100));
  const auto refused = create(queue, task);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kValidation);
  EXPECT_TRUE(refused.error().message.starts_with(
      "the task would be too late: its deadline is 1800000100, which is 1970-01-21 in milliseconds since 1970; if "
      "it is in seconds, which would be 2027-01-15, write 1800000100000; the daemon's clock shows "))
      << refused.error().message;
  task.deadline = WallTime(milliseconds(1));
  const auto one = create(queue, task);
  ASSERT_FALSE(one);
  EXPECT_TRUE(one.error().message.starts_with(
      "the task would be too late: its deadline is 1, which is 1970-01-01 in milliseconds since 1970: write the time "
      "until which it is worth starting, or leave it out; the daemon's clock shows "))
      << one.error().message;
  task.deadline = world.clock.wall() - milliseconds(1);
  EXPECT_EQ(create(queue, task).error().code, ErrorCode::kValidation) << "to come back later is of no use here, too";
  EXPECT_EQ(queue.refusals().passed, 3u);
}

TEST_P(QueueAdmission, WithoutKnowingAnythingNothingIsLate) {
  QueueSettings settings;
  settings.order = Order::kOldestFirst;
  settings.admission.refuse_late = true;
  auto& queue = world.start(settings);
  std::vector<NewTask> backlog(100);
  for (auto& created : world.wait(queue.create(std::move(backlog)))) ASSERT_TRUE(created);
  EXPECT_TRUE(create(queue, due_in("a", milliseconds(50))));
  EXPECT_FALSE(create(queue, due_in("b", milliseconds(0)))) << "that is past";
  settings.admission.refuse_late = false;
  queue.set_settings(settings);
  EXPECT_FALSE(create(queue, due_in("b", milliseconds(0)))) << "so it is with every setting";
}

TEST_P(QueueAdmission, WhereNothingIsInWorkAFreshTaskWaitsForNobody) {
  for (const Order order : {Order::kNewestFirst, Order::kAdaptive, Order::kOldestFirst}) {
    QueueSettings settings;
    settings.order = order;
    settings.admission.refuse_late = true;
    auto& queue = world.start(settings);
    const std::string name = std::to_string(static_cast<int>(order));
    // One in five seconds, done at once; between them no processor is at work, and so nobody waits.
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(create(queue, due_in("t" + name + std::to_string(i), milliseconds(1'000))));
      const auto taken = take(queue);
      ASSERT_EQ(taken->size(), 1u);
      ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
      world.pass(milliseconds(5'000));
    }
  }
}

TEST_P(QueueAdmission, WhatIsThereAlreadyIsNeverLate) {
  QueueSettings settings;
  settings.admission.refuse_late = true;
  auto& queue = world.start(settings);
  auto task = due_in("a", milliseconds(1'000));
  task.key = "k";
  task.replace = true;
  ASSERT_TRUE(create(queue, task));
  world.pass(milliseconds(2'000));
  const auto again = create(queue, task);
  ASSERT_TRUE(again) << "the answer to the first request got lost: " << again.error().message;
  EXPECT_FALSE(again->created);
  task.id = "b";
  EXPECT_FALSE(create(queue, task));
}

TEST_P(QueueAdmission, ATtlIsTheStoredOne) {
  QueueSettings settings;
  settings.order = Order::kOldestFirst;
  settings.admission.refuse_late = true;
  auto& queue = world.start(settings);
  observe(queue, milliseconds(100));
  const auto later = std::chrono::ceil<seconds>(world.clock.wall().time_since_epoch()) + milliseconds(100);
  world.pass(std::chrono::ceil<milliseconds>(later - world.clock.wall().time_since_epoch()));
  // Its ttl ends with a whole second, here 1.9 s from now.
  std::vector<NewTask> backlog(5);
  for (auto& created : world.wait(queue.create(std::move(backlog)))) ASSERT_TRUE(created);
  NewTask task;
  task.ttl = milliseconds(1'000);
  EXPECT_TRUE(create(queue, task));
}

TEST_P(QueueAdmission, UpdatesOfOneKeyInOneBatchTakeOnePlace) {
  QueueSettings settings;
  settings.admission.max_waiting = 5;
  settings.admission.reserved_share = 0;
  auto& queue = world.start(settings);
  for (const bool replace : {true, false}) {
    std::vector<NewTask> batch;
    for (int i = 0; i < 20; ++i) {
      NewTask task;
      task.key = replace ? "replaced" : "once";
      task.replace = replace;
      batch.push_back(std::move(task));
    }
    for (auto& created : world.wait(queue.create(std::move(batch)))) EXPECT_TRUE(created);
  }
  EXPECT_EQ(world.books().stock["PENDING"], 2u);
  EXPECT_EQ(queue.refusals().tasks, 0u);
  expect_balance();
}

TEST_P(QueueAdmission, ConcurrencyIsWhatThePolicySaysWhileNoProcessorIsAtWork) {
  auto& queue = world.start();
  ASSERT_TRUE(queue.change_policy({{"CONCURRENCY", "adaptive"}, {"CONCURRENCY_MIN", "3"}}));
  ASSERT_TRUE(queue.downstream().concurrency);
  EXPECT_EQ(queue.downstream().concurrency->limit(), 3u);
  ASSERT_TRUE(queue.change_policy({{"CONCURRENCY", "7"}}));
  EXPECT_FALSE(queue.downstream().concurrency);
}

}  // namespace
}  // namespace freshet
