// Tasks that a daemon creates in a queue that another daemon of its fleet serves.
#include "functions/queue/creation_elsewhere.h"

#include "functions/queue/attributes.h"
#include "tests/functions/world.h"

namespace freshet {
namespace {

class CreationElsewhereTest : public ::testing::Test {
 protected:
  void use(milliseconds lag = milliseconds(200), SimFaults faults = {}, uint64_t seed = 1) {
    EngineStore engine;
    engine.index_lag = lag;
    engine.faults = faults;
    elsewhere.reset();
    here = std::make_unique<QueueWorld>(engine, seed);
    elsewhere = std::make_unique<CreationElsewhere>(here->client(), here->scheduler, here->random,
                                                    here->store->wall_guard(), "other:1");
  }
  Result<std::vector<Result<CreatedTask>>> create(std::vector<NewTask> tasks) {
    return here->wait(elsewhere->create("QueueTable", settings, std::move(tasks)));
  }
  Result<std::vector<TakenTask>> take(Queue& queue, int max) {
    TakeInput input;
    input.max = max;
    return here->wait(queue.take(input));
  }
  static NewTask full(std::string id) {
    NewTask task;
    task.id = std::move(id);
    task.payload = Value("work");
    task.ttl = seconds(500);
    task.deadline_in = seconds(100);
    task.group = "g";
    task.priority = 7;
    task.max_attempts = 3;
    task.cost = 2.5;
    task.attributes.set("theirs", Value("x"));
    return task;
  }

  QueueSettings settings;
  std::unique_ptr<QueueWorld> here;
  std::unique_ptr<CreationElsewhere> elsewhere;
};

TEST_F(CreationElsewhereTest, TheItemIsTheQueuesButForItsLane) {
  use();
  settings.default_ttl = seconds(900);
  settings.keep = *KeepTimes::parse("50000");
  Queue& queue = here->start(settings);
  int written = 0;
  NewTask plain;
  plain.id = "plain";
  NewTask delayed = full("delayed");
  delayed.delay = seconds(30);
  for (const NewTask& task : {plain, full("all"), delayed}) {
    ASSERT_TRUE(here->wait(queue.create({task}))[0]);
    NewTask same = task;
    same.id += "-elsewhere";
    const auto created = create({same});
    ASSERT_TRUE(created && (*created)[0]);
    EXPECT_EQ((*created)[0]->id, same.id);
    EXPECT_TRUE((*created)[0]->created);
    Item theirs = here->read(task.id);
    Item mine = here->read(same.id);
    EXPECT_EQ(mine.string_or("taskBorn"), "other:1:w" + std::to_string(++written));
    for (const char* own : {"taskId", "taskBorn", "lane"}) {
      theirs.erase(own);
      mine.erase(own);
    }
    for (const char* time : {"taskCreated", "ttl", "queueTtl", "deadline", "notBefore"}) {
      EXPECT_EQ(mine.find(time) == nullptr, theirs.find(time) == nullptr) << time;
      EXPECT_NEAR(static_cast<double>(mine.int_or(time, 0)), static_cast<double>(theirs.int_or(time, 0)), 2000) << time;
      theirs.erase(time);
      mine.erase(time);
    }
    EXPECT_EQ(mine, theirs);
  }
}

TEST_F(CreationElsewhereTest, TimesFromNowDoNotEndEarlyAlthoughTheClockIsSetBack) {
  use();
  const int64_t now = here->now_ms();
  here->clock.step_wall(-milliseconds(3'600'000));
  ASSERT_TRUE(create({full("a")}));
  const Item item = here->read("a");
  EXPECT_GE(item.int_or("deadline", 0), now + 100'000);
  EXPECT_GE(item.int_or("ttl", 0), now / 1000 + 500);
}

TEST_F(CreationElsewhereTest, TheDaemonThatServesTheQueueFindsThem) {
  for (const bool has_lanes : {false, true}) {
    SCOPED_TRACE(has_lanes);
    use();
    Queue& queue = here->start(settings);
    if (has_lanes) {
      ASSERT_TRUE(here->wait(queue.create({full("its own")}))[0]);
      ASSERT_EQ(take(queue, 1)->size(), 1u);
    }
    NewTask delayed;
    delayed.id = "delayed";
    delayed.delay = milliseconds(500);
    ASSERT_TRUE(create({full("a"), full("b"), delayed}));
    here->pass(seconds(12));
    EXPECT_EQ(take(queue, 5)->size(), 3u);
    EXPECT_EQ(here->stock("TAKEN"), has_lanes ? 4u : 3u);
    EXPECT_EQ(here->stock("PENDING") + here->stock("DELAYED"), 0u);
  }
}

TEST_F(CreationElsewhereTest, WhatOnlyTheServingDaemonCanJudgeIsRefusedAsAWhole) {
  use();
  NewTask keyed;
  keyed.key = "k";
  NewTask late;
  late.deadline = here->clock.wall() - seconds(1);
  for (const NewTask& task : {keyed, late}) {
    const auto created = create({full("a"), task});
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, ErrorCode::kUnavailable);
  }
  for (const int bound : {0, 1, 2}) {
    settings.admission = {};
    if (bound == 0) settings.admission.max_waiting = 10;
    if (bound == 1) settings.admission.max_waiting_bytes = 10'000;
    if (bound == 2) settings.admission.refuse_late = true;
    const auto created = create({full("a")});
    ASSERT_FALSE(created) << bound;
    EXPECT_EQ(created.error().code, ErrorCode::kUnavailable);
  }
  EXPECT_EQ(here->status("a"), "") << "none of the batch is created";
}

TEST_F(CreationElsewhereTest, AWrongTaskIsRefusedAlone) {
  use();
  NewTask wrong = full("wrong");
  wrong.priority = 101;
  NewTask large = full("large");
  large.payload = Value(std::string(400'000, 'x'));
  const auto created = create({full("a"), wrong, large, full("b")});
  ASSERT_TRUE(created);
  EXPECT_TRUE((*created)[0] && (*created)[3]);
  EXPECT_EQ((*created)[1].error().code, ErrorCode::kValidation);
  EXPECT_EQ((*created)[2].error().code, ErrorCode::kValidation);
  EXPECT_EQ(here->status("b"), "PENDING");
}

// The serving daemon may have created them before its answer was lost, and may do so at the same time.
TEST_F(CreationElsewhereTest, NoTaskIsThereTwiceWhateverAnswersAreLost) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    use(milliseconds(200), SimFaults::some(), seed);
    Queue& queue = here->start(settings);
    const auto there = here->wait(queue.create({full("there")}));
    auto at_once = queue.create({full("there"), full("both")});
    const auto created = create({full("there"), full("both"), full("mine")});
    const auto answers = here->wait(std::move(at_once));
    ASSERT_TRUE(created);
    if (there[0] && (*created)[0]) {
      EXPECT_FALSE((*created)[0]->created);
    }
    if (answers[1] && (*created)[1]) {
      EXPECT_NE(answers[1]->created, (*created)[1]->created);
    }
    if ((*created)[2]) {
      EXPECT_EQ(here->status("mine"), "PENDING");
    }
  }
}

// The clock may be set back between two creates.
TEST_F(CreationElsewhereTest, CreationTimesNeverGoBack) {
  use();
  ASSERT_TRUE(create({full("a")}));
  here->clock.step_wall(-seconds(5));
  ASSERT_TRUE(create({full("b")}));
  EXPECT_GE(here->read("b").int_or("taskCreated", 0), here->read("a").int_or("taskCreated", 0));
}

}  // namespace
}  // namespace freshet
