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

// Every write has a token of its own.
std::string token() {
  static int number = 0;
  return "n:1:w" + std::to_string(++number);
}

EditItemInput claim_of(const ItemRef& task, const std::string& lease, WallTime now = kAtFirst) {
  return recognisable(claim(kTable, task, Claim{lease, seconds(30), "worker"}, now), token(), {});
}

EditItemInput ended(const ItemRef& task, std::string_view to, std::string_view end) {
  Outcome outcome;
  outcome.to = to;
  outcome.give_back = end == end_of_claim::kReleased;
  outcome.failed = !outcome.give_back;
  return recognisable(end_claim(kTable, task, outcome, end, {}, {}, kAtFirst), token(), end);
}

EditItemInput release_of(const ItemRef& task) {
  return ended(task, state::kPending, end_of_claim::kReleased);
}

EditItemInput lapse_of(const ItemRef& task) {
  return ended(task, state::kPending, end_of_claim::kEnded);
}

EditItemInput cancel_of(const ItemRef& task) {
  return recognisable(end_waiting(kTable, task, state::kCancelled, {}, {}, kAtFirst), token(), {});
}

// As the store would decide it: every guarded attribute is as it was seen.
bool would_be_done(const EditItemInput& write, const ItemRef& now) {
  return std::all_of(write.unchanged.begin(), write.unchanged.end(), [&](std::string_view name) {
    const auto seen = name.empty() ? std::nullopt : write.seen.find(name);
    const auto there = name.empty() ? std::nullopt : now.find(name);
    return seen ? there && there->decode() == seen->decode() : !there;
  });
}

TEST(OwnWrite, AClaimIsKnownByItsToken) {
  const auto task = pending();
  const auto write = claim_of(task, "n:1:1");
  EXPECT_EQ(fate_of(write, task), Fate::kNotDone);
  const auto taken = after(write, task);
  EXPECT_EQ(int_of(taken, "taskRev", 0), 1);
  EXPECT_EQ(fate_of(write, taken), Fate::kDone);
  EXPECT_EQ(fate_of(write, after(claim_of(task, "n:1:2"), task)), Fate::kOvertaken) << "another one was faster";
  EXPECT_EQ(fate_of(write, ItemRef()), Fate::kUnknown) << "it may have been done before the task went";
  const auto marked = after(request_cancel(kTable, taken, kAtFirst + seconds(1)), taken);
  EXPECT_EQ(fate_of(write, marked), Fate::kDone) << "a mark on the held task does not make the claim another's";
  EXPECT_EQ(fate_of(write, after(release_of(taken), taken)), Fate::kUnknown) << "others came after it";
}

TEST(OwnWrite, AnAttemptThatWasGivenBackBringsNoOldStateBack) {
  const auto task = pending();
  const auto late = claim_of(task, "n:1:1");
  const auto taken = after(claim_of(task, "n:1:2"), task);
  const auto back = after(release_of(taken), taken);
  EXPECT_EQ(attempt_of(back), attempt_of(task));
  EXPECT_EQ(text_of(back, "taskStatus"), text_of(task, "taskStatus"));
  EXPECT_FALSE(would_be_done(late, back)) << "state and attempt are as it saw them, and it is void all the same";
  EXPECT_TRUE(would_be_done(late, task));
  const auto again = claim_of(back, "n:1:3");
  EXPECT_TRUE(would_be_done(again, back));
  EXPECT_FALSE(would_be_done(again, after(cancel_of(back), back)));
}

TEST(OwnWrite, ALateWriteDoesNotHitTheNextTaskOfTheSameId) {
  PutItemInput put;
  put.item = pending().decode();
  const auto first = std::get<PutItemInput>(recognisable(WriteInput(put), token())).item;
  const auto second = std::get<PutItemInput>(recognisable(WriteInput(put), token())).item;
  const auto late = cancel_of(ItemRef::encode(first));
  EXPECT_TRUE(would_be_done(late, ItemRef::encode(first)));
  EXPECT_FALSE(would_be_done(late, ItemRef::encode(second))) << "the same id, state, attempt and time";
  EXPECT_EQ(fate_of(late, ItemRef::encode(second)), Fate::kUnknown);
  Item of_client = pending().decode();
  of_client.set("taskCreated", Value::number(2));
  EXPECT_FALSE(would_be_done(cancel_of(pending()), ItemRef::encode(of_client)));
}

TEST(OwnWrite, TheEndOfAClaimIsKnownByTheLastEnd) {
  const auto task = pending();
  const auto taken = after(claim_of(task, "n:1:1"), task);
  const auto write = release_of(taken);
  EXPECT_EQ(claim_end(write).lease, "n:1:1");
  EXPECT_EQ(claim_end(write).end, "released");
  EXPECT_EQ(fate_of(write, taken), Fate::kNotDone);
  const auto back = after(write, taken);
  EXPECT_EQ(fate_of(write, back), Fate::kDone);
  EXPECT_TRUE(ended_so(back, "n:1:1", "released"));
  EXPECT_FALSE(ended_so(back, "n:1:1", "completed"));
  EXPECT_FALSE(ended_so(back, "n:1", "released"));
  const auto taken_again = after(claim_of(back, "n:1:2"), back);
  EXPECT_EQ(fate_of(write, taken_again), Fate::kDone) << "it has gone on since";
  const auto done = recognisable(complete(kTable, taken, Value("r"), kAtFirst), token(), end_of_claim::kCompleted);
  EXPECT_EQ(fate_of(done, back), Fate::kOvertaken) << "the claim ended otherwise";
  EXPECT_EQ(fate_of(done, taken_again), Fate::kOvertaken);
  EXPECT_EQ(fate_of(done, after(done, taken)), Fate::kDone);
  const auto ended_again = after(release_of(taken_again), taken_again);
  EXPECT_EQ(fate_of(write, ended_again), Fate::kUnknown) << "the next end has overwritten what would tell it";
}

TEST(OwnWrite, ALapseDoesNotPassForTheFailureThatTheHolderMeant) {
  const auto task = pending();
  const auto taken = after(claim_of(task, "n:1:1"), task);
  const auto failed = ended(taken, state::kFailure, end_of_claim::kFailed);
  const auto lapsed = after(lapse_of(taken), taken);
  EXPECT_EQ(fate_of(failed, lapsed), Fate::kOvertaken);
  const auto taken_again = after(claim_of(lapsed, "n:1:2"), lapsed);
  EXPECT_EQ(fate_of(failed, taken_again), Fate::kOvertaken);
  EXPECT_FALSE(ended_so(taken_again, "n:1:1", "failed"));
}

TEST(OwnWrite, AHeartbeatIsDoneOnceSuchABeatIsThere) {
  const auto task = pending();
  const auto taken = after(claim_of(task, "n:1:1"), task);
  const auto write = recognisable(heartbeat(kTable, taken, 3), token(), {});
  EXPECT_EQ(fate_of(write, taken), Fate::kNotDone);
  EXPECT_EQ(fate_of(write, after(heartbeat(kTable, taken, 4), taken)), Fate::kDone);
  const auto other = after(release_of(taken), taken);
  EXPECT_EQ(fate_of(write, other), Fate::kOvertaken);
  const auto again = after(claim_of(other, "n:1:2"), other);
  EXPECT_EQ(fate_of(write, after(heartbeat(kTable, again, 5), again)), Fate::kOvertaken) << "of another claim";
  EXPECT_FALSE(would_be_done(write, after(heartbeat(kTable, taken, 4), taken)))
      << "a late one does not take the beat back";
}

TEST(OwnWrite, ATaskOfBeforeHasNoMarksAndGetsThem) {
  const auto task = pending();
  const auto write = claim_of(task, "n:1:1");
  EXPECT_EQ(fate_of(write, pending(7)), Fate::kUnknown);
  EXPECT_EQ(fate_of(claim_of(pending(7), "n:1:1"), pending(7)), Fate::kNotDone);
  EXPECT_EQ(int_of(after(claim_of(pending(7), "n:1:1"), pending(7)), "taskRev", 0), 8);
}

TEST(OwnWrite, ANumberOfAClientIsNoOverflow) {
  Item task = pending().decode();
  task.set("taskRev", Value(*Decimal::parse("1e30")));
  const auto there = ItemRef::encode(task);
  const auto taken = after(claim_of(there, "n:1:1"), there);
  EXPECT_GT(int_of(taken, "taskRev", 0), 0);
  task.set("taskRev", Value(*Decimal::parse("-1e30")));
  EXPECT_EQ(int_of(after(claim_of(ItemRef::encode(task), "n:1:1"), ItemRef::encode(task)), "taskRev", 0), 1);
}

TEST(OwnWrite, ATaskThatIsSetAsideIsGuardedAndGrowsByNothing) {
  const auto task = pending();
  const auto taken = after(claim_of(task, "n:1:1"), task);
  const auto back = after(release_of(taken), taken);
  const auto write = recognisable(set_aside(kTable, back), token(), {});
  EXPECT_TRUE(would_be_done(write, back));
  EXPECT_EQ(write.edits.size(), set_aside(kTable, back).edits.size());
  const auto again = after(claim_of(back, "n:1:2"), back);
  EXPECT_FALSE(would_be_done(write, after(release_of(again), again))) << "it was taken and given back meanwhile";
}

TEST(OwnWrite, ANewTaskIsKnownByItsToken) {
  PutItemInput put;
  put.item = pending().decode();
  const auto mine = recognisable(WriteInput(put), token());
  const auto other = recognisable(WriteInput(put), token());
  const auto there = ItemRef::encode(std::get<PutItemInput>(mine).item);
  EXPECT_EQ(fate_of(mine, ItemRef()), Fate::kNotDone);
  EXPECT_EQ(fate_of(mine, there), Fate::kDone);
  EXPECT_EQ(fate_of(mine, after(claim_of(there, "n:1:1"), there)), Fate::kDone);
  EXPECT_EQ(fate_of(other, there), Fate::kOvertaken) << "one like it, of the same millisecond, has the id";
  EXPECT_EQ(fate_of(mine, pending()), Fate::kOvertaken);
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
  void answer_nothing() {
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
  EXPECT_TRUE(world.read("a").string_or("lastEnd").starts_with(again->front().lease + " completed "));
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
  answer_nothing();
  auto unknown = settle(queue, Kind::kComplete, taken->front());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownOutcome) << unknown.error().message;
  none();
  auto settled = settle(queue, Kind::kComplete, taken->front());
  ASSERT_TRUE(settled) << settled.error().message;
  auto other = settle(queue, Kind::kRelease, taken->front());
  EXPECT_FALSE(other) << "it was completed, not given back";
  EXPECT_EQ(world.status("a"), "SUCCESS");
}

TEST_P(UnknownOutcomes, AClaimThatNobodyKnowsOfIsGivenBackOnceTheStoreTells) {
  QueueSettings settings;
  settings.lease = seconds(10);
  settings.look_around = milliseconds(200);
  Queue& queue = world.start(settings);
  create(queue, {"a"});
  answer_nothing();
  auto taken = take(queue);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kUnknownOutcome);
  EXPECT_EQ(world.status("a"), "TAKEN");
  none();
  auto again = take(queue, 1, seconds(8));
  ASSERT_EQ(ids(again), "a") << "before its lease of ten seconds is over";
  EXPECT_EQ(world.read("a").find("attempt")->get_if<Decimal>()->floor_int64(), 1) << "nobody has begun to work on it";
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
  std::set<std::string> held;
  std::vector<TakenTask> work;
  for (int round = 0; round < 400 && done.size() < 40; ++round) {
    // Two takes, before the work of either is settled.
    auto taken = take(queue, 4);
    for (auto& task : taken ? *taken : std::vector<TakenTask>()) {
      EXPECT_TRUE(held.insert(std::string(text_of(task.task, "taskId"))).second) << "a second valid lease";
      work.push_back(std::move(task));
    }
    if (round % 2 == 0) continue;
    for (auto& task : std::exchange(work, {})) {
      const std::string id(text_of(task.task, "taskId"));
      const bool back = round % 3 == 0;
      auto settled = settle(queue, back ? Kind::kRelease : Kind::kComplete, task);
      held.erase(id);
      if (settled && !back) ++done[id];
    }
  }
  world.set_faults({});
  world.pass(seconds(2));
  for (const auto& [id, times] : done) EXPECT_EQ(times, 1) << id;
  EXPECT_GE(done.size(), 30u) << "of some, nobody could tell whether they were done";
  expect_balance();
}

TEST_P(UnknownOutcomes, ASettlementThatIsSentAgainAfterTheTaskWentOnIsToldTheTruth) {
  Queue& queue = world.start();
  create(queue, {"a"});
  auto taken = take(queue);
  ASSERT_EQ(ids(taken), "a");
  ASSERT_TRUE(settle(queue, Kind::kRelease, taken->front()));
  EXPECT_TRUE(settle(queue, Kind::kRelease, taken->front())) << "it was given back under that lease";
  auto again = take(queue);
  ASSERT_EQ(ids(again), "a");
  EXPECT_TRUE(settle(queue, Kind::kRelease, taken->front())) << "and is taken by another since";
  EXPECT_FALSE(settle(queue, Kind::kComplete, taken->front())) << "it was not completed";
  EXPECT_EQ(world.status("a"), "TAKEN");
  EXPECT_TRUE(settle(queue, Kind::kComplete, again->front()));
}

// The embedded store loses no answer: its tasks have none of this.
TEST(SureWrites, AStoreThatAnswersAtOnceKeepsItsTasksAsTheyWere) {
  QueueWorld world(false);
  Queue& queue = world.start();
  auto created = world.wait(queue.create(named({"a"})));
  TakeInput input;
  auto taken = world.wait(queue.take(input));
  ASSERT_EQ(ids(taken), "a");
  std::vector<Settlement> one{settlement(Settlement::Kind::kComplete, taken->front())};
  ASSERT_TRUE(world.wait(queue.settle(std::move(one)))[0]);
  const Item task = world.read("a");
  EXPECT_EQ(task.find("taskRev"), nullptr);
  for (const auto* name : {"taskBorn", "lastWrite", "lastEnd"}) EXPECT_EQ(task.find(name), nullptr) << name;
}

}  // namespace
}  // namespace freshet
