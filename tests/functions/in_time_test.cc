// Queue and processor count how tasks end, and which attempts were of use.
#include "tests/functions/processor_fixture.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

InTimeCounts counts_of(QueueWorld& world, Queue& queue) {
  auto stats = world.wait(queue.stats());
  EXPECT_TRUE(stats);
  return stats ? stats->in_time.since_start : InTimeCounts();
}

HttpResponse answer(int status) {
  HttpResponse response;
  response.status = status;
  return response;
}

class InTimeTest : public ProcessorTest {
 protected:
  void create(Queue& queue, const char* id, std::optional<milliseconds> deadline = {}) {
    NewTask task;
    task.id = id;
    if (deadline) task.deadline = WallTime(milliseconds(world.now_ms())) + *deadline;
    std::vector<NewTask> one;
    one.push_back(std::move(task));
    ASSERT_TRUE(world.wait(queue.create(std::move(one)))[0]);
  }
};

TEST_P(InTimeTest, DoneByTheDeadlineLateAndWithoutDeadline) {
  environment["CONCURRENCY"] = "4";
  Queue& queue = start();
  create(queue, "early", milliseconds(60'000));
  create(queue, "late", milliseconds(300));
  create(queue, "plain");
  world.http.duration = milliseconds(500);
  process();
  const InTimeCounts counts = counts_of(world, queue);
  EXPECT_EQ(counts.in_time, 2u);
  EXPECT_EQ(counts.no_deadline, 1u);
  EXPECT_EQ(counts.late, 1u);
  EXPECT_EQ(counts.calls, 3u);
  EXPECT_EQ(counts.wasted, 1u);
  const Punctuality& more = queue.punctuality();
  EXPECT_EQ(more.wastes(WastedCall::kLate), 1u);
  // 500 ms each, in the bucket up to 500 ms; from the creation on a little more.
  EXPECT_NEAR(more.work().sum_seconds(), 1.5, 0.01);
  EXPECT_GE(more.completion().sum_seconds(), 1.5);
}

TEST_P(InTimeTest, FailuresCountWhenTheTaskIsGivenUpAndEachAttemptIsWasted) {
  environment["MAX_ATTEMPTS"] = "2";
  environment["BACKOFF_BASE_MS"] = "60000";
  Queue& queue = start();
  create(queue, "fails");
  world.http.answer = [](const HttpRequest&) { return answer(500); };
  process();
  EXPECT_EQ(counts_of(world, queue).ended(), 0u);
  world.pass(seconds(130));
  process();
  EXPECT_EQ(world.status("fails"), "DEAD");
  const InTimeCounts counts = counts_of(world, queue);
  EXPECT_EQ(counts.failed, 1u);
  EXPECT_EQ(counts.calls, 2u);
  EXPECT_EQ(queue.punctuality().wastes(WastedCall::kFailed), 2u);
}

TEST_P(InTimeTest, TheDownstreamsRefusalsByTheirKind) {
  environment["MAX_ACTIVE_MS"] = "100";
  Queue& queue = start();
  create(queue, "a");
  world.http.answer = [](const HttpRequest&) { return answer(429); };
  process();
  world.pass(milliseconds(10'000));
  world.http.answer = [](const HttpRequest&) { return answer(503); };
  process();
  world.pass(milliseconds(10'000));
  world.http.answer = [](const HttpRequest&) -> Result<HttpResponse> {
    return never_sent(ErrorCode::kUnavailable, "connection refused");
  };
  process();
  const Punctuality& counts = queue.punctuality();
  EXPECT_EQ(counts.downstream_refusals(DownstreamRefusal::kTooManyRequests), 1u);
  EXPECT_EQ(counts.downstream_refusals(DownstreamRefusal::kUnavailable), 1u);
  EXPECT_EQ(counts.downstream_refusals(DownstreamRefusal::kUnreachable), 1u);
  EXPECT_EQ(counts.downstream_refusals(DownstreamRefusal::kRelease), 0u);
  EXPECT_EQ(counts.wastes(WastedCall::kBounced), 3u);
  EXPECT_EQ(counts.stats(world.clock.boot()).since_start.calls, 3u);
  EXPECT_EQ(counts.work().sum_seconds(), 0);  // A refusal is no work.
}

TEST_P(InTimeTest, AProgramThatEndsWith75Refuses) {
  environment["TASK_RUNNER"] = "exec:/bin/work";
  environment["MAX_ACTIVE_MS"] = "100";
  Queue& queue = start();
  create(queue, "a");
  world.spawner.answer = [](const ProcessSpec&) {
    ProcessResult result;
    result.exit_status = 75;
    return result;
  };
  process();
  EXPECT_EQ(queue.punctuality().downstream_refusals(DownstreamRefusal::kTemporary), 1u);
}

TEST_P(InTimeTest, WhatIsShedIsNotInTimeAndCostsNoCall) {
  environment["MAX_ACTIVE_MS"] = "100";
  Queue& queue = start();
  create(queue, "stale", milliseconds(50));
  world.pass(milliseconds(200));
  process();
  EXPECT_EQ(world.status("stale"), "SHED");
  const InTimeCounts counts = counts_of(world, queue);
  EXPECT_EQ(counts.shed, 1u);
  EXPECT_EQ(counts.calls, 0u);
  EXPECT_EQ(*counts.share(), 0);
}

TEST_P(InTimeTest, ARefusedCreationIsCountedAndNoEnd) {
  environment["MAX_WAITING"] = "2";
  Queue& queue = start();
  const auto results = world.wait(queue.create(named({"a", "b", "c", "d"})));
  EXPECT_FALSE(results[3]);
  const InTimeCounts counts = counts_of(world, queue);
  EXPECT_EQ(counts.refused, 2u);
  EXPECT_EQ(counts.ended(), 0u);
}

// It counts once in the end, whatever became of its first life.
TEST_P(InTimeTest, ARedrivenTasksFirstEndIsUndone) {
  environment["MAX_ATTEMPTS"] = "1";
  Queue& queue = start();
  create(queue, "fails");
  world.http.answer = [](const HttpRequest&) { return answer(500); };
  process();
  ASSERT_EQ(world.status("fails"), "DEAD");
  EXPECT_EQ(world.wait(queue.stats())->in_time.put_back.failed, 0u);
  RedriveInput input;
  input.state = "DEAD";
  ASSERT_EQ(*world.wait(queue.redrive(std::move(input))), 1u);
  const InTimeStats stats = world.wait(queue.stats())->in_time;
  EXPECT_EQ(stats.since_start.failed, 1u);
  EXPECT_EQ(stats.put_back.failed, 1u);
}

class InTimePullTest : public QueueFixture {};

TEST_P(InTimePullTest, WorkersTakesAreCallsAndTheirTimeIsSinceTheClaim) {
  Queue& queue = world.start();
  create(queue, {"a", "b", "c"});
  auto taken = take(queue, 3);
  ASSERT_EQ(taken->size(), 3u);
  world.pass(milliseconds(2'000));
  ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
  ASSERT_TRUE(settle(queue, Kind::kRelease, (*taken)[1]));
  Settlement give_up = settlement(Kind::kFail, (*taken)[2]);
  give_up.final = true;
  ASSERT_TRUE(settle(queue, std::move(give_up)));
  const InTimeCounts counts = counts_of(world, queue);
  EXPECT_EQ(counts.calls, 3u);
  EXPECT_EQ(counts.in_time, 1u);
  EXPECT_EQ(counts.failed, 1u);
  EXPECT_EQ(counts.wasted, 2u);
  EXPECT_EQ(queue.punctuality().downstream_refusals(DownstreamRefusal::kRelease), 1u);
  EXPECT_NEAR(queue.punctuality().work().sum_seconds(), 4, 0.1);
}

TEST_P(InTimePullTest, ALeaseThatEndsWastesItsAttemptOnce) {
  QueueSettings settings;
  settings.lease = milliseconds(1'000);
  Queue& queue = world.start(settings);
  create(queue, {"a"});
  auto taken = take(queue);
  ASSERT_EQ(taken->size(), 1u);
  world.pass(milliseconds(5'000));
  EXPECT_NE(world.status("a"), "TAKEN");
  EXPECT_FALSE(settle(queue, Kind::kComplete, (*taken)[0]));  // Too late: nobody wants it.
  EXPECT_EQ(counts_of(world, queue).wasted, 1u);
  EXPECT_EQ(queue.punctuality().wastes(WastedCall::kLeaseEnded), 1u);
}

TEST_P(InTimePullTest, ATaskThatAClientDeletesIsALostAttemptAndOneThatItEndsIsAnEnd) {
  Queue& queue = world.start();
  create(queue, {"deleted", "ended"});
  auto taken = take(queue, 2);
  ASSERT_EQ(taken->size(), 2u);
  world.put(Item{
      {"taskId", Value("ended")}, {"taskStatus", Value("SUCCESS")}, {"taskCreated", Value::number(world.now_ms())}});
  DeleteItemInput gone;
  gone.table = "QueueTable";
  gone.key.set("taskId", Value("deleted"));
  ASSERT_TRUE(world.wait(world.store->delete_item(std::move(gone))));
  world.pass(milliseconds(2'000));
  for (const auto& task : *taken) EXPECT_FALSE(settle(queue, Kind::kComplete, task));
  const InTimeCounts counts = counts_of(world, queue);
  EXPECT_EQ(counts.in_time, 1u);
  EXPECT_EQ(counts.wasted, 1u);
  EXPECT_EQ(queue.punctuality().wastes(WastedCall::kLost), 1u);
}

TEST_P(InTimePullTest, ACancelledTaskIsNoEndOfWork) {
  Queue& queue = world.start();
  create(queue, {"waits", "held"});
  auto taken = take(queue);
  ASSERT_EQ(taken->size(), 1u);
  for (const auto& cancelled : world.wait(queue.cancel({"waits", "held"}))) ASSERT_TRUE(cancelled);
  ASSERT_TRUE(settle(queue, Kind::kFail, (*taken)[0]));
  const InTimeCounts counts = counts_of(world, queue);
  EXPECT_EQ(counts.ended(), 0u);
  EXPECT_EQ(queue.punctuality().wastes(WastedCall::kCancelled), 1u);
  EXPECT_EQ(counts.wasted, 1u);
}

INSTANTIATE_TEST_SUITE_P(Stores, InTimeTest, ::testing::Bool(), store_name);
INSTANTIATE_TEST_SUITE_P(Stores, InTimePullTest, ::testing::Bool(), store_name);

}  // namespace
}  // namespace freshet
