// Purge, cancel and redrive of many tasks: what is changed, what is left alone, the books. In both worlds.
#include "tests/functions/bulk_fixture.h"

namespace freshet {
namespace {

using BulkJobsOfAQueue = BulkFixture;

INSTANTIATE_TEST_SUITE_P(Stores, BulkJobsOfAQueue, ::testing::Values(false, true), store_name);

TEST_P(BulkJobsOfAQueue, APurgeTakesWhatMatchesOutOfTheTable) {
  Queue& queue = world.start();
  fill(queue, 0, 300, "eu");
  fill(queue, 0, 50, "us");
  const auto job = run(queue, input(Action::kPurge, {"PENDING"}, {{"group", "eu"}}));
  EXPECT_EQ(counts(job), "done: 300 matched, 300 changed, 0 moved, 0 failed");
  EXPECT_EQ(world.stock("PENDING"), 50u);
  EXPECT_EQ(world.read("eu-7"), Item());
  expect_balance();
  Books books = world.books();
  EXPECT_EQ((books.flow[Arrow{"PENDING", "", Cause::kQueue}]), 300u);
  EXPECT_EQ(world.wait(queue.stats())->shed_total, 0u);  // None of them was shed.
  const auto lines = audited();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "purge: purge of PENDING tasks where group=eu ended: 300 matched, 300 changed, 0 had moved, 0 failed");
  EXPECT_EQ(lines[1], "purge: purge of PENDING tasks where group=eu began");
}

TEST_P(BulkJobsOfAQueue, ADryRunCountsAndChangesNothing) {
  Queue& queue = world.start();
  fill(queue, 0, 30, "eu");
  auto dry = input(Action::kPurge, {"PENDING"}, {{"group", "eu"}});
  dry.dry_run = true;
  const auto job = run(queue, dry);
  EXPECT_EQ(counts(job), "done: 30 matched, 0 changed, 0 moved, 0 failed");
  EXPECT_EQ(job.example.decode().string_or("taskId"), "eu-0");
  EXPECT_EQ(world.stock("PENDING"), 30u);
  EXPECT_TRUE(audited().empty());
}

TEST_P(BulkJobsOfAQueue, WhatComesAfterTheBeginIsLeftAlone) {
  Queue& queue = world.start();
  fill(queue, 0, 200, "eu");
  world.pass(milliseconds(10));
  auto begun = start(queue, input(Action::kPurge, {"PENDING"}));
  ASSERT_TRUE(begun);
  world.pass(milliseconds(2));
  fill(queue, 1'000, 1'020, "eu");
  for (int i = 0; i < 10'000 && queue.job(begun->id)->at_work(); ++i) world.pass(milliseconds(1));
  EXPECT_EQ(queue.job(begun->id)->changed, 200u);
  EXPECT_EQ(world.stock("PENDING"), 20u);
  expect_balance();
}

TEST_P(BulkJobsOfAQueue, OnlyWhatIsOldEnough) {
  Queue& queue = world.start();
  fill(queue, 0, 10, "old");
  world.pass(milliseconds(3'600'000));
  fill(queue, 0, 10, "new");
  auto old = input(Action::kPurge, {"PENDING"});
  old.older_than = milliseconds(1'800'000);
  EXPECT_EQ(counts(run(queue, old)), "done: 10 matched, 10 changed, 0 moved, 0 failed");
  EXPECT_EQ(world.status("new-3"), "PENDING");
}

TEST_P(BulkJobsOfAQueue, ACancelEndsWhatWaitsAndMarksWhatIsInWork) {
  Queue& queue = world.start();
  fill(queue, 0, 5, "eu");
  auto held = take(queue);
  ASSERT_TRUE(held && held->size() == 1);
  NewTask delayed;
  delayed.id = "delayed";
  delayed.group = "eu";
  delayed.delay = milliseconds(60'000);
  ASSERT_TRUE(create(queue, std::move(delayed)));
  const auto job = run(queue, input(Action::kCancel, {}, {{"group", "eu"}}));
  EXPECT_EQ(counts(job), "done: 6 matched, 6 changed, 0 moved, 0 failed");
  EXPECT_EQ(world.stock("CANCELLED"), 5u);
  EXPECT_EQ(world.stock("TAKEN"), 1u);
  settle(queue, Kind::kFail, held->at(0));
  EXPECT_EQ(world.stock("CANCELLED"), 6u);
  expect_balance();
}

TEST_P(BulkJobsOfAQueue, ARedrivePutsBackWhatMatches) {
  QueueSettings settings;
  settings.max_attempts = 1;
  Queue& queue = world.start(settings);
  fill(queue, 0, 20, "eu");
  fill(queue, 0, 20, "us");
  auto all = take(queue, 40);
  for (const auto& task : *all) settle(queue, Kind::kFail, task);
  ASSERT_EQ(world.stock("DEAD"), 40u);
  auto some = input(Action::kRedrive, {}, {{"group", "us"}});
  some.limit = 15;
  EXPECT_EQ(counts(run(queue, some)), "done: 15 matched, 15 changed, 0 moved, 0 failed");
  EXPECT_EQ(world.stock("PENDING"), 15u);
  EXPECT_EQ(take(queue, 40)->size(), 15u);
  expect_balance();
}

// Workers take tasks while they are purged: each is changed by one of the two.
TEST_P(BulkJobsOfAQueue, EveryTaskIsAccountedForBesideLiveTraffic) {
  Queue& queue = world.start();
  fill(queue, 0, 500, "eu");
  world.pass(milliseconds(10));
  auto begun = start(queue, input(Action::kPurge, {"PENDING"}));
  ASSERT_TRUE(begun);
  uint64_t done = 0;
  for (int i = 0; i < 100'000 && queue.job(begun->id)->at_work(); ++i) {
    auto taken = take(queue, 3);
    ASSERT_TRUE(taken);
    for (const auto& task : *taken) {
      ASSERT_TRUE(settle(queue, Kind::kComplete, task));
      ++done;
    }
    world.pass(milliseconds(1));
  }
  const auto job = *queue.job(begun->id);
  EXPECT_EQ(job.phase, BulkJob::Phase::kDone);
  EXPECT_EQ(job.changed + done, 500u);
  EXPECT_EQ(job.matched, job.changed + job.moved + job.failed);
  EXPECT_EQ(world.stock("SUCCESS"), done);
  EXPECT_EQ(world.stock("PENDING"), 0u);
  expect_balance();
}

TEST_P(BulkJobsOfAQueue, ARateIsKept) {
  Queue& queue = world.start();
  fill(queue, 0, 100, "eu");
  world.pass(milliseconds(10));
  auto slow = input(Action::kPurge, {"PENDING"});
  slow.rate = 20;
  auto begun = start(queue, slow);
  ASSERT_TRUE(begun);
  world.pass(milliseconds(2'500));
  const auto half = queue.job(begun->id)->changed;
  EXPECT_GE(half, 40u);
  EXPECT_LE(half, 55u);
  world.pass(milliseconds(3'000));
  EXPECT_EQ(queue.job(begun->id)->changed, 100u);
}

TEST_P(BulkJobsOfAQueue, AJobCanBeStopped) {
  Queue& queue = world.start();
  fill(queue, 0, 100, "eu");
  world.pass(milliseconds(10));
  auto slow = input(Action::kPurge, {"PENDING"});
  slow.rate = 10;
  auto begun = start(queue, slow);
  ASSERT_TRUE(begun);
  world.pass(milliseconds(3'000));
  ASSERT_TRUE(queue.stop_job(begun->id, {"OTHER", {}, {}}));
  world.pass(milliseconds(1'000));
  const auto job = *queue.job(begun->id);
  EXPECT_EQ(job.phase, BulkJob::Phase::kStopped);
  EXPECT_GT(job.changed, 0u);
  EXPECT_EQ(world.stock("PENDING"), 100 - job.changed);
  EXPECT_EQ(queue.stop_job(begun->id, {}).error().code, ErrorCode::kConflict);
  EXPECT_NE(audited().at(0).find("was stopped by OTHER: "), std::string::npos) << audited().at(0);
}

TEST_P(BulkJobsOfAQueue, AJobThatTheEndOfTheDaemonCutsOffIsToldAsSuch) {
  Queue* queue = &world.start();
  fill(*queue, 0, 100, "eu");
  world.pass(milliseconds(10));
  auto slow = input(Action::kPurge, {"PENDING"});
  slow.rate = 10;
  auto begun = start(*queue, slow);
  ASSERT_TRUE(begun);
  world.pass(milliseconds(2'000));
  queue = &world.start();
  const auto job = queue->job(begun->id);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->phase, BulkJob::Phase::kCutOff);
  EXPECT_EQ(audited().at(0), "purge: purge of PENDING tasks was cut off by the end of the daemon");
  // Once.
  queue = &world.start();
  EXPECT_TRUE(queue->jobs().empty());
  EXPECT_EQ(audited().size(), 2u);
  const auto again = run(*queue, input(Action::kPurge, {"PENDING"}));
  EXPECT_GT(again.id, begun->id);
  EXPECT_EQ(world.stock("PENDING"), 0u);
  expect_balance();
}

// A client may put a task anew under its id between the job's look at it and its change.
TEST_P(BulkJobsOfAQueue, ATaskThatIsPutAnewIsLeftAlone) {
  Queue& queue = world.start();
  for (int moment = 0; moment < 40; ++moment) {
    for (int i = 0; i < 5; ++i) world.put_pending("t" + std::to_string(i), world.now_ms());
    world.pass(milliseconds(10));
    auto begun = start(queue, input(Action::kPurge, {"PENDING"}));
    ASSERT_TRUE(begun);
    world.pass(milliseconds(1 + moment));
    for (int i = 0; i < 5; ++i) world.put_pending("t" + std::to_string(i), world.now_ms());
    for (int i = 0; i < 10'000 && queue.job(begun->id)->at_work(); ++i) world.pass(milliseconds(1));
    EXPECT_EQ(world.stock("PENDING"), 5u) << "put anew " << moment + 1 << " ms after the job began";
  }
  expect_balance();
}

// Those that ended first are forgotten first, however early the others began.
TEST_P(BulkJobsOfAQueue, ALongJobIsKnownOnceItHasEnded) {
  Queue& queue = world.start();
  fill(queue, 0, 30, "eu");
  world.pass(milliseconds(10));
  auto slow = input(Action::kPurge, {"PENDING"});
  slow.rate = 1;
  const auto begun = start(queue, slow);
  ASSERT_TRUE(begun);
  uint64_t first = 0;
  for (size_t i = 0; i < BulkJobs::kMostKept; ++i) {
    const auto job = run(queue, input(Action::kPurge, {"DEAD"}));
    if (first == 0) first = job.id;
  }
  ASSERT_TRUE(queue.job(begun->id)->at_work());
  for (int i = 0; i < 60 && queue.job(begun->id) && queue.job(begun->id)->at_work(); ++i) world.pass(seconds(1));
  world.pass(milliseconds(100));
  const auto job = queue.job(begun->id);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(counts(*job), "done: 30 matched, 30 changed, 0 moved, 0 failed");
  EXPECT_FALSE(queue.job(first)) << "the one that ended first";
  EXPECT_EQ(queue.jobs().size(), BulkJobs::kMostKept);
}

TEST_P(BulkJobsOfAQueue, WhatCanNeverMatchIsRefused) {
  Queue& queue = world.start();
  const auto refused = [&](BulkInput wrong) { return start(queue, std::move(wrong)).error().message; };
  EXPECT_EQ(refused(input(Action::kPurge, {})),
            "'states' must say which tasks to purge: DELAYED, PENDING, SUCCESS, FAILURE, DEAD, SHED, CANCELLED");
  EXPECT_EQ(refused(input(Action::kPurge, {"TAKEN"})),
            "tasks in state 'TAKEN' cannot be changed by a purge: it is for DELAYED, PENDING, SUCCESS, FAILURE, DEAD, "
            "SHED, CANCELLED; cancel those that are in work");
  EXPECT_EQ(refused(input(Action::kRedrive, {"PENDING"})),
            "tasks in state 'PENDING' cannot be changed by a redrive: it is for DEAD, FAILURE, CANCELLED, SHED");
  EXPECT_EQ(refused(input(Action::kPurge, {"DEAD"}, {{"priority", "high"}})),
            "'where' 'priority=high' never matches: 'priority' is a whole number, as in priority=5");
  EXPECT_EQ(refused(input(Action::kPurge, {"DEAD"}, {{"taskStatus", "DEAD"}})),
            "'where' cannot choose by taskStatus: the state is chosen beside it ('states', --state)");
  EXPECT_EQ(refused(input(Action::kPurge, {"DEAD"}, {{"group", std::string(2'000'000, 'x')}})),
            "'where' has 2000005 bytes; it may have at most 1000000: choose the tasks by a shorter attribute");
  EXPECT_TRUE(queue.jobs().empty());
  EXPECT_TRUE(audited().empty());
}

TEST_P(BulkJobsOfAQueue, AJobOfAClientThatHangsUpGoesOn) {
  Queue& queue = world.start();
  fill(queue, 0, 10, "eu");
  world.pass(milliseconds(10));
  { auto asked = queue.start_job(input(Action::kPurge, {"PENDING"}), {}); }
  world.pass(milliseconds(5'000));
  ASSERT_EQ(queue.jobs().size(), 1u);
  EXPECT_EQ(counts(queue.jobs()[0]), "done: 10 matched, 10 changed, 0 moved, 0 failed");
}

TEST_P(BulkJobsOfAQueue, SoManyAtATime) {
  Queue& queue = world.start();
  fill(queue, 0, 100, "eu");
  world.pass(milliseconds(10));
  auto slow = input(Action::kPurge, {"PENDING"});
  slow.rate = 1;
  for (size_t i = 0; i < BulkJobs::kMostAtWork; ++i) ASSERT_TRUE(start(queue, slow));
  const auto more = start(queue, slow);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kTooManyRequests);
}

// A client's condition may be long; the line about it is not, and its end has the outcome.
TEST_P(BulkJobsOfAQueue, ALongConditionIsShortenedInTheLines) {
  Queue& queue = world.start();
  std::string long_text;
  for (int i = 0; i < 300'000; ++i) long_text += "é";
  const auto job = run(queue, input(Action::kPurge, {"PENDING"}, {{"group", "a" + long_text}}));
  EXPECT_EQ(counts(job), "done: 0 matched, 0 changed, 0 moved, 0 failed") << job.error;
  world.pass(milliseconds(100));  // A job is done before its last line is written.
  const auto lines = audited();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_LT(lines[0].size(), 400u);
  EXPECT_TRUE(lines[0].starts_with("purge: purge of PENDING tasks where group=aéé")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with("… ended: 0 matched, 0 changed, 0 had moved, 0 failed")) << lines[0];
}

// A store that refuses is not asked at full speed: the rate bounds what is tried.
TEST(BulkJobsOfAFullStore, TheRateHoldsForWhatIsRefused) {
  QueueWorld world(true);
  Queue& queue = world.start();
  std::vector<NewTask> tasks(100);
  for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
  world.refuse_edits(true);
  BulkInput input;
  input.action = BulkInput::Action::kCancel;
  input.rate = 10;
  const auto job = world.wait(queue.start_job(std::move(input), {}));
  ASSERT_TRUE(job);
  world.pass(milliseconds(3'000));
  EXPECT_TRUE(queue.job(job->id)->at_work());
  EXPECT_LE(queue.job(job->id)->failed, 40u);
}

}  // namespace
}  // namespace freshet
