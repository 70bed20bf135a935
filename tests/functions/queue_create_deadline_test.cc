// Deadlines at creation: in time from now, by default, and such as have passed.
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class QueueCreateDeadline : public QueueFixture {
 protected:
  static NewTask task_of(const std::string& id) {
    NewTask task;
    task.id = id;
    return task;
  }
  NewTask due_in(const std::string& id, milliseconds time) {
    NewTask task = task_of(id);
    task.deadline = world.clock.wall() + time;
    return task;
  }
  int64_t deadline_of(const std::string& id) { return world.read(id).int_or("deadline", 0); }
  std::string refusal(Queue& queue, NewTask task) {
    const auto refused = create(queue, std::move(task));
    if (refused) return refused->created ? "created" : "there already";
    EXPECT_EQ(refused.error().code, ErrorCode::kValidation);
    return refused.error().message;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueCreateDeadline, ::testing::Bool(), store_name);

TEST_P(QueueCreateDeadline, ATimeFromNowIsKeptAsAPointInTime) {
  Queue& queue = world.start();
  NewTask task = task_of("a");
  task.deadline_in = milliseconds(5'000);
  const auto now = world.now_ms();
  ASSERT_TRUE(create(queue, task));
  EXPECT_GE(deadline_of("a"), now + 5'000);
  EXPECT_LE(deadline_of("a"), world.now_ms() + 5'000);
  world.pass(milliseconds(6'000));
  EXPECT_EQ(world.status("a"), "SHED");
  NewTask both = due_in("both", milliseconds(100));
  both.deadline_in = milliseconds(100);
  EXPECT_EQ(refusal(queue, both),
            "deadline and deadlineMs both say until when the task is worth starting: leave out deadline");
  NewTask never = task_of("never");
  never.deadline_in = milliseconds(5'000);
  never.delay = milliseconds(5'000);
  EXPECT_EQ(
      refusal(queue, never),
      "the task may start after its delay, 5000 ms, and not after deadlineMs, 5000 ms: it could never start; both "
      "count from now, so deadlineMs must be the longer one");
  expect_balance();
}

TEST_P(QueueCreateDeadline, TheQueuesDefaultIsForTasksWithoutOne) {
  QueueSettings settings;
  settings.default_deadline = milliseconds(5'000);
  Queue& queue = world.start(settings);
  ASSERT_TRUE(create(queue, task_of("default")));
  EXPECT_NEAR(static_cast<double>(deadline_of("default")), static_cast<double>(world.now_ms() + 5'000), 100);
  ASSERT_TRUE(create(queue, due_in("own", milliseconds(90'000))));
  EXPECT_GT(deadline_of("own"), world.now_ms() + 80'000);
  NewTask delayed = task_of("delayed");
  delayed.delay = milliseconds(10'000);
  ASSERT_TRUE(create(queue, delayed));
  EXPECT_GT(deadline_of("delayed"), world.now_ms() + 14'000) << "it is not stale before it may start";
  ASSERT_TRUE(queue.change_policy({{"DEFAULT_DEADLINE_MS", "0"}}));
  ASSERT_TRUE(create(queue, task_of("none")));
  EXPECT_EQ(deadline_of("none"), 0);
}

TEST_P(QueueCreateDeadline, OneThatHasPassedIsRefusedWithAHint) {
  Queue& queue = world.start();
  const auto now = world.now_ms();
  const auto message = refusal(queue, due_in("late", milliseconds(-1'500)));
  EXPECT_NE(message.find("its deadline, " + std::to_string(now - 1'500)), std::string::npos) << message;
  EXPECT_NE(message.find("the daemon's clock shows "), std::string::npos) << message;
  EXPECT_NE(message.find(" ms ago"), std::string::npos) << message;
  NewTask seconds_given = task_of("seconds");
  seconds_given.deadline = WallTime(milliseconds(1'800'000'100));
  EXPECT_NE(refusal(queue, seconds_given).find("if it is in seconds, which would be 2027-01-15, write 1800000100000"),
            std::string::npos);
  EXPECT_TRUE(world.read("late").empty());
  EXPECT_EQ(queue.refusals().passed, 2u);
  EXPECT_EQ(queue.refusals().late, 0u);
  const auto sheds = world.wait(queue.sheds(10));
  ASSERT_TRUE(sheds);
  ASSERT_FALSE(sheds->empty());
  EXPECT_EQ(sheds->at(0).decode().string_or("what"), "refused");
  expect_balance();
}

TEST_P(QueueCreateDeadline, ACreateThatIsSentAgainIsAnsweredAsTheFirst) {
  Queue& queue = world.start();
  NewTask task = due_in("a", milliseconds(1'000));
  EXPECT_EQ(refusal(queue, task), "created");
  NewTask keyed = due_in("", milliseconds(1'000));
  keyed.key = "k";
  const auto first = create(queue, keyed);
  ASSERT_TRUE(first && first->created);
  ASSERT_EQ(take(queue, 2)->size(), 2u);  // In work, so that their end does not come with their deadline.
  world.pass(milliseconds(5'000));
  EXPECT_EQ(refusal(queue, task), "there already");
  const auto again = create(queue, keyed);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->id, first->id);
  EXPECT_EQ(queue.refusals().passed, 0u);
  // One that was shed at its deadline is there, too.
  NewTask shed = due_in("shed", milliseconds(500));
  EXPECT_EQ(refusal(queue, shed), "created");
  world.pass(milliseconds(1'000));
  ASSERT_EQ(world.status("shed"), "SHED");
  EXPECT_EQ(refusal(queue, shed), "there already");
  expect_balance();
}

TEST_P(QueueCreateDeadline, EachTaskOfABatchHasItsOwnAnswer) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, due_in("there", milliseconds(500))));
  world.pass(milliseconds(1'000));
  std::vector<NewTask> tasks{due_in("good", milliseconds(9'000)), due_in("late", milliseconds(-1)),
                             due_in("there", milliseconds(-500)), task_of("plain")};
  const auto answers = world.wait(queue.create(std::move(tasks)));
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_TRUE(answers[0] && answers[0]->created);
  EXPECT_FALSE(answers[1]);
  ASSERT_TRUE(answers[2]);
  EXPECT_FALSE(answers[2]->created);
  EXPECT_TRUE(answers[3] && answers[3]->created);
}

TEST_P(QueueCreateDeadline, ATaskThatAClientPutsGetsTheDefaultToo) {
  QueueSettings settings;
  settings.default_deadline = milliseconds(5'000);
  Queue& queue = world.start(settings);
  world.put_pending("put", world.now_ms() - 3'600'000);
  Item own{{"taskId", Value("own")},
           {"taskStatus", Value("PENDING")},
           {"taskCreated", Value::number(world.now_ms())},
           {"deadline", Value::number(world.now_ms() + 60'000)}};
  world.put(own);
  world.pass(milliseconds(200));
  EXPECT_NEAR(static_cast<double>(deadline_of("put")), static_cast<double>(world.now_ms() + 5'000), 300);
  EXPECT_EQ(deadline_of("own"), own.int_or("deadline", 0));
  world.pass(milliseconds(6'000));
  EXPECT_EQ(world.status("put"), "SHED");
  EXPECT_EQ(ids(take(queue, 9)), "own");
  expect_balance();
}

// It may be the clock that is wrong.
TEST_P(QueueCreateDeadline, NothingIsRefusedWhileTheClockIsInDoubt) {
  Queue& queue = world.start();
  NewTask task = due_in("a", milliseconds(60'000));
  world.clock.step_wall(std::chrono::hours(24));
  EXPECT_EQ(refusal(queue, task), "created");
  world.pass(milliseconds(2'000));
  EXPECT_EQ(world.status("a"), "PENDING");
  world.clock.step_wall(-std::chrono::hours(24));
  world.pass(milliseconds(2'000));
  EXPECT_EQ(ids(take(queue)), "a");
}

}  // namespace
}  // namespace freshet
