// The flight recorder notes each change of a task's state in a real queue, whoever made it.
#include "functions/queue/flight_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/functions/world.h"

namespace freshet {
namespace {

using testing::ElementsAre;

class FlightRecorderTest : public testing::TestWithParam<bool> {
 protected:
  QueueWorld world_{GetParam()};
  Queue* queue_ = &world_.start();
  std::unique_ptr<FlightRecorder> recorder_ = begin();

  std::unique_ptr<FlightRecorder> begin() {
    auto recorder = std::make_unique<FlightRecorder>(world_.clock, *world_.queues);
    world_.store->watch_moves(recorder.get());
    return recorder;
  }
  ~FlightRecorderTest() override { world_.store->watch_moves(nullptr); }

  std::vector<RecordedEvent> events() const {
    std::vector<RecordedEvent> out;
    const QueueRecording* recording = recorder_->book().find("QueueTable");
    if (recording == nullptr) return out;
    recording->read({}, SIZE_MAX, [&](const RecordedEvent& event) {
      out.push_back(event);
      return true;
    });
    return out;
  }
  // "PENDING->TAKEN" for each move.
  std::vector<std::string> moves() const {
    std::vector<std::string> out;
    for (const RecordedEvent& event : events()) {
      if (event.kind != RecordedEvent::Kind::kMove) continue;
      out.push_back(std::string(kTaskStageNames[static_cast<size_t>(event.move.from)]) + "->" +
                    std::string(kTaskStageNames[static_cast<size_t>(event.move.to)]));
    }
    return out;
  }
  void create(NewTask task) {
    const auto created = world_.wait(queue_->create({std::move(task)}));
    ASSERT_TRUE(created.at(0)) << created.at(0).error().message;
  }
  std::vector<TakenTask> take(int most = 1, const std::string& owner = "worker") {
    TakeInput input;
    input.max = most;
    input.owner = owner;
    auto taken = world_.wait(queue_->take(std::move(input)));
    EXPECT_TRUE(taken);
    return taken ? *taken : std::vector<TakenTask>();
  }
  void settle(Settlement one) {
    const auto settled = world_.wait(queue_->settle({std::move(one)}));
    ASSERT_TRUE(settled.at(0)) << settled.at(0).error().message;
  }
};

INSTANTIATE_TEST_SUITE_P(Store, FlightRecorderTest, testing::Bool(),
                         [](const auto& world) { return world.param ? "late" : "atOnce"; });

TEST_P(FlightRecorderTest, ALifeHasItsTimesAndWhatDecidesAboutTheTask) {
  NewTask task;
  task.id = "a";
  task.deadline_in = milliseconds(5'000);
  task.group = "tenant";
  task.key = "order-1";
  task.priority = 7;
  task.max_attempts = 2;
  task.cost = 1.5;
  task.payload = Value("secret");
  create(std::move(task));
  world_.pass(milliseconds(250));
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1u);
  world_.pass(milliseconds(400));
  Settlement done = settlement(Settlement::Kind::kComplete, taken[0]);
  done.cost = 2;
  settle(std::move(done));

  EXPECT_THAT(moves(), ElementsAre("->PENDING", "PENDING->TAKEN", "TAKEN->SUCCESS"));
  const auto seen = events();
  ASSERT_TRUE(seen[0].move.about);
  const RecordedTask& about = *seen[0].move.about;
  EXPECT_NEAR(static_cast<double>(about.due_in->count()), 5'000, 100);
  EXPECT_FALSE(about.due_by_ttl);
  EXPECT_EQ(about.group, "tenant");
  EXPECT_EQ(about.key, "order-1");
  EXPECT_EQ(about.priority, 7);
  EXPECT_EQ(about.max_attempts, 2);
  EXPECT_EQ(about.cost, 1.5);
  EXPECT_TRUE(seen[1].move.pulled);
  EXPECT_EQ(seen[2].move.cost, 2);
  EXPECT_EQ(seen[0].move.task, seen[2].move.task);
  EXPECT_NEAR(static_cast<double>((seen[1].at - seen[0].at) / milliseconds(1)), 250, 100);
  EXPECT_NEAR(static_cast<double>((seen[2].at - seen[1].at) / milliseconds(1)), 400, 100);
}

TEST_P(FlightRecorderTest, ATaskWithNothingButAnEndSaysWhenThatIs) {
  create(named({"first"})[0]);
  NewTask task;
  task.deadline_in = milliseconds(5'000);
  create(task);
  task.ttl = seconds(3);
  create(task);
  task.deadline_in.reset();
  task.ttl = seconds(100);
  create(task);
  std::vector<std::pair<int64_t, bool>> ends;
  for (const RecordedEvent& event : events()) {
    ASSERT_TRUE(event.move.about);
    ASSERT_TRUE(event.move.about->due_in || ends.empty());
    const auto due = event.move.about->due_in.value_or(milliseconds(0));
    ends.emplace_back(std::chrono::round<seconds>(due).count(), event.move.about->due_by_ttl);
  }
  ASSERT_EQ(ends.size(), 4u);
  EXPECT_EQ(ends[1], std::pair(int64_t{5}, false));
  EXPECT_TRUE(ends[2].second);
  EXPECT_NEAR(static_cast<double>(ends[2].first), 3, 1);
  EXPECT_TRUE(ends[3].second);
  EXPECT_NEAR(static_cast<double>(ends[3].first), 100, 1);
}

TEST_P(FlightRecorderTest, ATaskThatIsGivenBackDiffersFromOneThatFailed) {
  create(named({"a"})[0]);
  settle(settlement(Settlement::Kind::kRelease, take()[0]));
  Settlement failed = settlement(Settlement::Kind::kFail, take()[0]);
  failed.delay = milliseconds(10'000);
  settle(std::move(failed));
  const auto seen = events();
  EXPECT_THAT(moves(),
              ElementsAre("->PENDING", "PENDING->TAKEN", "TAKEN->PENDING", "PENDING->TAKEN", "TAKEN->DELAYED"));
  EXPECT_TRUE(seen[2].move.given_back);
  EXPECT_FALSE(seen[4].move.given_back);
}

TEST_P(FlightRecorderTest, ShedsSayWhy) {
  NewTask task;
  task.deadline_in = milliseconds(1'000);
  create(std::move(task));
  world_.pass(seconds(3));
  EXPECT_THAT(moves(), ElementsAre("->PENDING", "PENDING->SHED"));
  EXPECT_EQ(events()[1].move.because, ShedBecause::kDeadline);
}

TEST_P(FlightRecorderTest, CancelAndReplacementDiffer) {
  NewTask first;
  first.id = "a";
  first.key = "k";
  create(first);
  NewTask second;
  second.id = "b";
  second.key = "k";
  second.replace = true;
  create(second);
  world_.pass(seconds(1));
  ASSERT_TRUE(world_.wait(queue_->cancel({"b"})).at(0));
  std::vector<bool> replaced;
  for (const RecordedEvent& event : events()) {
    if (event.move.to == TaskStage::kCancelled) replaced.push_back(event.move.replaced);
  }
  EXPECT_THAT(replaced, ElementsAre(true, false));
}

TEST_P(FlightRecorderTest, ItHasWhatClientsPutAndDelete) {
  world_.put_pending("a", world_.now_ms());
  world_.pass(seconds(1));
  DeleteItemInput gone;
  gone.table = "QueueTable";
  gone.key.set("taskId", Value("a"));
  ASSERT_TRUE(world_.wait(world_.store->delete_item(std::move(gone))));
  EXPECT_THAT(moves(), ElementsAre("->PENDING", "PENDING->"));
}

TEST_P(FlightRecorderTest, AMoveOfATaskThatWaitedForLongSaysWhatDecidesAboutIt) {
  NewTask task;
  task.group = "tenant";
  create(std::move(task));
  for (int second = 0; second < 61; ++second) {
    world_.pass(seconds(1));
    recorder_->tick();
  }
  create(named({"young"})[0]);
  ASSERT_EQ(take(2).size(), 2u);
  const auto seen = events();
  ASSERT_THAT(moves(), ElementsAre("->PENDING", "->PENDING", "PENDING->TAKEN", "PENDING->TAKEN"));
  for (size_t i : {2u, 3u}) {
    const bool is_old = seen[i].move.task == seen[0].move.task;
    ASSERT_EQ(seen[i].move.about.has_value(), is_old);
    if (!is_old) continue;
    EXPECT_EQ(seen[i].move.about->group, "tenant");
    EXPECT_NEAR(static_cast<double>(seen[i].move.about->age->count()), 61'000, 50);
  }
}

TEST_P(FlightRecorderTest, OtherTablesAreNotRecorded) {
  TableDefinition other = queue_table();
  other.name = "Other";
  ASSERT_TRUE(world_.wait(world_.store->create_table(other)));
  PutItemInput input;
  input.table = "Other";
  input.item = Item{{"taskId", Value("a")}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(1)}};
  ASSERT_TRUE(world_.wait(world_.store->put_item(std::move(input))));
  EXPECT_EQ(recorder_->book().find("Other"), nullptr);
}

TEST_P(FlightRecorderTest, AStepOfTheWallClockIsNotedAndChangesNoTimes) {
  create(named({"a"})[0]);
  const WallTime before = world_.clock.wall();
  const BootTime boot_before = world_.clock.boot();
  world_.pass(seconds(1));
  world_.clock.step_wall(std::chrono::hours(2));
  recorder_->tick();
  world_.pass(seconds(1));
  ASSERT_EQ(take().size(), 1u);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1].kind, RecordedEvent::Kind::kClockStep);
  EXPECT_EQ(seen[1].step, std::chrono::hours(2));
  EXPECT_NEAR(static_cast<double>((seen[2].at - seen[0].at) / milliseconds(1)), 2'000, 50);
  EXPECT_EQ(recorder_->book().boot_of(before, world_.clock.boot()), boot_before);
  EXPECT_EQ(recorder_->book().boot_of(world_.clock.wall(), world_.clock.boot()), world_.clock.boot());
}

TEST_P(FlightRecorderTest, LimitsAndRefusalsAreNotedWhenTheyChange) {
  QueueReading reading;
  reading.rate_limit = 20;
  reading.concurrency = 8;
  const auto refused = static_cast<size_t>(QueueFlow::kDownstreamRefusals);
  reading.flows[refused] = 1'000;
  recorder_->read("QueueTable", reading);
  recorder_->read("QueueTable", reading);
  reading.flows[refused] = 1'004;
  reading.rate_limit = 10;
  recorder_->read("QueueTable", reading);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].limits.rate_limit, 20);
  EXPECT_EQ(seen[0].limits.concurrency, 8u);
  EXPECT_EQ(seen[1].limits.rate_limit, 10);
  EXPECT_EQ(seen[2].kind, RecordedEvent::Kind::kCount);
  EXPECT_EQ(seen[2].count.flow, QueueFlow::kDownstreamRefusals);
  EXPECT_EQ(seen[2].count.count, 4u) << "since the reading before";
}

TEST_P(FlightRecorderTest, ATableThatIsCreatedAnewHasARecordingOfItsOwn) {
  create(named({"old"})[0]);
  const BootTime began = recorder_->extent_of("QueueTable").from;
  EXPECT_EQ(began, recorder_->began());
  ASSERT_TRUE(world_.wait(world_.store->delete_table("QueueTable")));
  world_.pass(seconds(1));
  ASSERT_TRUE(world_.wait(world_.store->create_table(queue_table())));
  world_.pass(seconds(30));  // The queue looks around, and keeps the table's books again.
  world_.put_pending("new", world_.now_ms());
  EXPECT_THAT(moves(), ElementsAre("->PENDING"));
  EXPECT_GT(recorder_->extent_of("QueueTable").from, began);
  EXPECT_FALSE(recorder_->extent_of("QueueTable").forgot);
}

TEST_P(FlightRecorderTest, ARecordingIsCompleteFromWhereEachTaskIsDescribedAgain) {
  create(named({"a"})[0]);
  const BootTime last = world_.clock.boot();
  const auto past = FlightRecorder::kMostAge + FlightRecorder::kKeptBeyond;
  world_.clock.advance(past - seconds(60));
  recorder_->tick();
  EXPECT_FALSE(recorder_->extent_of("QueueTable").forgot) << "a client may still be reading it";
  world_.clock.advance(seconds(61));
  recorder_->tick();
  const auto extent = recorder_->extent_of("QueueTable");
  EXPECT_TRUE(extent.forgot);
  EXPECT_NEAR(static_cast<double>((extent.from - last) / milliseconds(1)), 30'000, 100);
  EXPECT_EQ(recorder_->extent_of("Quiet").from, recorder_->began());
}

// Moves of before are not recorded, as the queue was not found by its name.
TEST_P(FlightRecorderTest, AQueueIsOpenOnceItIsFound) {
  recorder_.reset();
  world_.store->watch_moves(nullptr);
  world_.queues = std::make_unique<Queues>(*world_.services, EventLog(), QueueIdentity{"n", "again"}, nullptr,
                                           &world_.store->wall_guard());
  auto opening = world_.queues->open("QueueTable", QueueSettings());
  while (world_.queues->find("QueueTable") == nullptr) world_.pass(milliseconds(1));
  const BootTime found = world_.clock.boot();
  const auto opened = world_.wait(std::move(opening));
  ASSERT_TRUE(opened);
  for (const BootTime since : {(*opened)->pause_changes().complete_from, (*opened)->policy_changes(0).first.boot}) {
    EXPECT_LE(since, found);
    EXPECT_GT(since + milliseconds(2), found);
  }
}

TEST_P(FlightRecorderTest, AnAgeIsTrueWhateverAClientWroteAndHoweverTheClockWasSet) {
  const auto age = [&](int64_t created) {
    const ItemRef task = ItemRef::encode(
        Item{{"taskId", Value("a")}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(created)}});
    return recorder_->about(task, TaskStage::kPending, world_.clock.wall(), false, queue_->ttl_in_milliseconds()).age;
  };
  const int64_t created = world_.now_ms();
  world_.pass(seconds(10));
  EXPECT_EQ(age(created), seconds(10));
  world_.clock.step_wall(-std::chrono::hours(1));
  recorder_->tick();
  EXPECT_EQ(age(created), seconds(10));
  world_.pass(seconds(1));
  EXPECT_EQ(age(created), seconds(11));
  EXPECT_EQ(age(world_.now_ms()), seconds(0));
  EXPECT_LT(age(INT64_MAX), seconds(0));
  EXPECT_GT(age(INT64_MIN), std::chrono::hours(24));
}

TEST_P(FlightRecorderTest, ATtlInMillisecondsIsReadAsTheQueueReadsIt) {
  TableDefinition table = queue_table();
  table.ttl_in_milliseconds = true;
  world_.wait(world_.store->delete_table("QueueTable"));
  world_.pass(seconds(1));
  ASSERT_TRUE(world_.wait(world_.store->create_table(table)));
  world_.pass(seconds(30));  // The queue looks around.
  PutItemInput input;
  input.table = "QueueTable";
  input.item = Item{{"taskId", Value("a")},
                    {"taskStatus", Value("PENDING")},
                    {"taskCreated", Value::number(world_.now_ms())},
                    {"ttl", Value::number(world_.now_ms() + 90'000)}};
  ASSERT_TRUE(world_.wait(world_.store->put_item(std::move(input))));
  const auto seen = events();
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_TRUE(seen[0].move.about && seen[0].move.about->due_in);
  EXPECT_NEAR(static_cast<double>(seen[0].move.about->due_in->count()), 90'000, 1'000);
  EXPECT_TRUE(seen[0].move.about->due_by_ttl);
}

TEST_P(FlightRecorderTest, ARedrivenTaskComesAgain) {
  create(named({"a"})[0]);
  Settlement failed = settlement(Settlement::Kind::kFail, take()[0]);
  failed.final = true;
  settle(std::move(failed));
  RedriveInput redrive;
  redrive.state = "FAILURE";
  ASSERT_EQ(*world_.wait(queue_->redrive(redrive)), 1u);
  EXPECT_EQ(moves().back(), "FAILURE->PENDING");
  EXPECT_TRUE(events().back().move.about);
}

}  // namespace
}  // namespace freshet
