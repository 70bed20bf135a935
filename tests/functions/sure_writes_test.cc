// A write whose answer never came is neither done nor undone until the task is read: each transition finds out.
#include "functions/queue/sure_writes.h"

#include <gtest/gtest.h>

#include "functions/queue/arrows.h"
#include "functions/queue/attributes.h"
#include "functions/queue/own_write.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

constexpr WallTime kAtFirst{milliseconds(1'800'000'000'000)};
const std::string kTable = "QueueTable";

ItemRef item(std::initializer_list<std::pair<const char*, Value>> attributes) {
  Item out;
  out.set("taskId", Value("a"));
  for (const auto& [name, value] : attributes) out.set(name, value);
  return ItemRef::encode(out);
}

ItemRef pending(int64_t rev = 0) {
  Item out = item({{"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(1)}, {"attempt", Value::number(0)}})
                 .decode();
  if (rev > 0) out.set("taskRev", Value::number(rev));
  return ItemRef::encode(out);
}

// The item with the edits carried out.
ItemRef after(const EditItemInput& write, const ItemRef& task) {
  Item out = task.decode();
  for (const auto& edit : write.edits) {
    if (edit.value) {
      out.set(std::string(edit.name), *edit.value);
    } else {
      out.erase(edit.name);
    }
  }
  return ItemRef::encode(out);
}

EditItemInput claim_of(const ItemRef& task, const std::string& lease, WallTime now = kAtFirst) {
  return recognisable(claim(kTable, task, Claim{lease, seconds(30), "worker"}, now));
}

EditItemInput release_of(const ItemRef& task) {
  Outcome outcome;
  outcome.to = state::kPending;
  outcome.give_back = true;
  return recognisable(end_claim(kTable, task, outcome, "released", {}, {}, kAtFirst));
}

TEST(OwnWrite, AClaimIsKnownByItsLease) {
  const auto task = pending();
  const auto write = claim_of(task, "n:1:1");
  EXPECT_EQ(fate_of(write, task), Fate::kNotDone);
  const auto taken = after(write, task);
  EXPECT_EQ(int_of(taken, "taskRev", 0), 1);
  EXPECT_EQ(fate_of(write, taken), Fate::kDone);
  EXPECT_EQ(fate_of(write, after(claim_of(task, "n:1:2"), task)), Fate::kOvertaken) << "another one was faster";
  EXPECT_EQ(fate_of(write, ItemRef()), Fate::kOvertaken);
  const auto marked = after(request_cancel(kTable, taken, kAtFirst + seconds(1)), taken);
  EXPECT_EQ(fate_of(write, marked), Fate::kDone) << "a mark on the held task does not make the claim another's";
}

TEST(OwnWrite, AnAttemptThatWasGivenBackBringsNoOldStateBack) {
  const auto task = pending();
  const auto late = claim_of(task, "n:1:1");
  const auto first = claim_of(task, "n:1:2");
  const auto taken = after(first, task);
  const auto back = after(release_of(taken), taken);
  EXPECT_EQ(attempt_of(back), attempt_of(task));
  EXPECT_EQ(text_of(back, "taskStatus"), text_of(task, "taskStatus"));
  EXPECT_EQ(fate_of(late, back), Fate::kOvertaken)
      << "state and attempt are as it saw them, and it is void all the same";
  EXPECT_NE(std::find(late.unchanged.begin(), late.unchanged.end(), attribute::kRev), late.unchanged.end());
}

TEST(OwnWrite, TheEndOfAClaimIsKnownByTheLastLease) {
  const auto task = pending();
  const auto taken = after(claim_of(task, "n:1:1"), task);
  const auto write = release_of(taken);
  EXPECT_EQ(lease_ended_by(write), "n:1:1");
  EXPECT_EQ(fate_of(write, taken), Fate::kNotDone);
  const auto back = after(write, taken);
  EXPECT_EQ(fate_of(write, back), Fate::kDone);
  const auto taken_again = after(claim_of(back, "n:1:2"), back);
  EXPECT_EQ(fate_of(write, taken_again), Fate::kDone) << "it has gone on since";
  const auto done = recognisable(complete(kTable, taken, Value("r"), kAtFirst));
  EXPECT_EQ(fate_of(done, back), Fate::kOvertaken) << "the claim ended otherwise";
  EXPECT_EQ(fate_of(done, taken_again), Fate::kOvertaken);
  EXPECT_EQ(fate_of(done, after(done, taken)), Fate::kDone);
}

TEST(OwnWrite, AHeartbeatIsDoneOnceSuchABeatIsThere) {
  const auto task = pending();
  const auto taken = after(claim_of(task, "n:1:1"), task);
  const auto write = recognisable(heartbeat(kTable, taken, 3));
  EXPECT_EQ(fate_of(write, taken), Fate::kNotDone);
  EXPECT_EQ(fate_of(write, after(heartbeat(kTable, taken, 4), taken)), Fate::kDone);
  const auto other = after(release_of(taken), taken);
  EXPECT_EQ(fate_of(write, other), Fate::kOvertaken);
  const auto again = after(claim_of(other, "n:1:2"), other);
  EXPECT_EQ(fate_of(write, after(heartbeat(kTable, again, 5), again)), Fate::kOvertaken) << "of another claim";
  EXPECT_EQ(write.unchanged[2], attribute::kLeaseBeat) << "a late one does not take the beat back";
}

TEST(OwnWrite, ATaskOfBeforeHasNoRevAndGetsOne) {
  const auto task = pending();
  const auto write = claim_of(task, "n:1:1");
  EXPECT_EQ(fate_of(write, pending(7)), Fate::kOvertaken);
  EXPECT_EQ(fate_of(claim_of(pending(7), "n:1:1"), pending(7)), Fate::kNotDone);
  EXPECT_EQ(int_of(after(claim_of(pending(7), "n:1:1"), pending(7)), "taskRev", 0), 8);
}

TEST(OwnWrite, ANewTaskIsKnownByWhatNoTransitionChanges) {
  PutItemInput put;
  put.item = pending().decode();
  put.item.set("payload", Value("p"));
  const auto there = ItemRef::encode(put.item);
  EXPECT_EQ(fate_of(put, ItemRef()), Fate::kNotDone);
  EXPECT_EQ(fate_of(put, there), Fate::kDone);
  EXPECT_EQ(fate_of(put, after(claim_of(there, "n:1:1"), there)), Fate::kDone);
  EXPECT_EQ(fate_of(put, pending()), Fate::kOvertaken) << "another task has the id";
}

// A queue on the simulated engine, with one kind of fault for every write.
class UnknownOutcomes : public QueueFixture {
 protected:
  void all(double SimFaults::*kind) {
    SimFaults faults;
    faults.*kind = 1;
    world.set_faults(faults);
  }
  void none() { world.set_faults({}); }
  // Writes are carried out, and neither they nor reads by key are answered.
  void tell_nothing() {
    SimFaults faults;
    faults.lost_after = 1;
    faults.refused = 1;
    world.set_faults(faults);
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, UnknownOutcomes, ::testing::Values(true), store_name);

TEST_P(UnknownOutcomes, AnswersLostAfterTheWriteChangeNothingOfATasksLife) {
  Queue& queue = world.start();
  all(&SimFaults::lost_after);
  NewTask task;
  task.id = "a";
  auto created = create(queue, std::move(task));
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_TRUE(created->created);
  auto taken = take(queue);
  ASSERT_EQ(ids(taken), "a");
  auto beaten = settle(queue, Kind::kHeartbeat, taken->front());
  ASSERT_TRUE(beaten) << beaten.error().message;
  auto released = settle(queue, Kind::kRelease, taken->front());
  ASSERT_TRUE(released) << released.error().message;
  auto again = take(queue);
  ASSERT_EQ(ids(again), "a");
  auto done = settle(queue, Kind::kComplete, again->front());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(world.status("a"), "SUCCESS");
  EXPECT_EQ(world.read("a").string_or("lastLease"), again->front().lease);
  EXPECT_GE(world.unknown_outcomes(), 6u);
  expect_balance();
}

TEST_P(UnknownOutcomes, AWriteThatTheStoreSentTwiceIsNoLoss) {
  Queue& queue = world.start();
  all(&SimFaults::twice);
  create(queue, {"a"});
  auto taken = take(queue);
  ASSERT_EQ(ids(taken), "a");
  auto done = settle(queue, Kind::kComplete, taken->front());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_GE(world.unknown_outcomes(), 3u);
}

TEST_P(UnknownOutcomes, AWriteThatNeverArrivesIsSentAgain) {
  Queue& queue = world.start();
  create(queue, {"a"});
  SimFaults half;
  half.lost_before = 0.5;
  world.set_faults(half);
  for (int i = 0; i < 10; ++i) {
    auto taken = take(queue);
    ASSERT_EQ(ids(taken), "a");
    auto back = settle(queue, Kind::kRelease, taken->front());
    ASSERT_TRUE(back) << back.error().message;
  }
  EXPECT_GT(world.unknown_outcomes(), 0u);
}

TEST_P(UnknownOutcomes, AStoreThatTellsNothingIsNoFailureAndTheSameCallIsAnsweredLater) {
  Queue& queue = world.start();
  create(queue, {"a"});
  auto taken = take(queue);
  ASSERT_EQ(ids(taken), "a");
  tell_nothing();
  auto unknown = settle(queue, Kind::kComplete, taken->front());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownOutcome) << unknown.error().message;
  none();
  auto told = settle(queue, Kind::kComplete, taken->front());
  ASSERT_TRUE(told) << told.error().message;
  auto other = settle(queue, Kind::kRelease, taken->front());
  EXPECT_FALSE(other) << "it was completed, not given back";
  EXPECT_EQ(world.status("a"), "SUCCESS");
}

TEST_P(UnknownOutcomes, AClaimThatNobodyKnowsOfCostsALeaseAndNoTask) {
  QueueSettings settings;
  settings.lease = seconds(10);
  settings.look_around = milliseconds(200);
  Queue& queue = world.start(settings);
  create(queue, {"a"});
  tell_nothing();
  auto taken = take(queue);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kUnknownOutcome);
  EXPECT_EQ(world.status("a"), "TAKEN");
  none();
  auto again = take(queue, 1, seconds(60));
  ASSERT_EQ(ids(again), "a");
  EXPECT_EQ(world.read("a").find("attempt")->get_if<Decimal>()->floor_int64(), 2);
}

TEST_P(UnknownOutcomes, NoTaskIsTakenTwiceAtATimeWhateverIsLost) {
  Queue& queue = world.start();
  SimFaults much;
  much.lost_before = much.lost_after = much.late = much.twice = 0.15;
  std::vector<NewTask> tasks(40);
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i].id = "t" + std::to_string(i);
  for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
  world.set_faults(much);
  std::map<std::string, int> done;
  for (int round = 0; round < 200 && done.size() < 40; ++round) {
    auto taken = take(queue, 7);
    if (!taken) continue;
    std::set<std::string> held;
    for (auto& task : *taken) EXPECT_TRUE(held.insert(std::string(text_of(task.task, "taskId"))).second);
    for (auto& task : *taken) {
      const std::string id(text_of(task.task, "taskId"));
      const bool back = round % 3 == 0;
      auto settled = settle(queue, back ? Kind::kRelease : Kind::kComplete, task);
      if (settled && !back) ++done[id];
    }
  }
  world.set_faults({});
  world.pass(seconds(2));
  EXPECT_EQ(done.size(), 40u);
  for (const auto& [id, times] : done) EXPECT_EQ(times, 1) << id;
  EXPECT_EQ(world.stock("SUCCESS"), 40u);
  expect_balance();
}

// The embedded store loses no answer: its tasks have none of this.
TEST(SureWrites, AStoreThatAnswersAtOnceKeepsItsTasksAsTheyWere) {
  World world(false);
  Queue& queue = world.start();
  auto created = world.wait(queue.create(named({"a"})));
  TakeInput input;
  auto taken = world.wait(queue.take(input));
  ASSERT_EQ(ids(taken), "a");
  std::vector<Settlement> one{settlement(Settlement::Kind::kComplete, taken->front())};
  ASSERT_TRUE(world.wait(queue.settle(std::move(one)))[0]);
  const Item task = world.read("a");
  EXPECT_EQ(task.find("taskRev"), nullptr);
  EXPECT_EQ(task.find("lastLease"), nullptr);
}

}  // namespace
}  // namespace freshet
