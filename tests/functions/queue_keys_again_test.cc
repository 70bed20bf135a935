// A create with `replace` that is sent again ends what a crash or a full store left, and nothing else. A client may
// hang up during its create. In both worlds.
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

NewTask keyed(const std::string& id, const std::string& key, bool replace = false) {
  NewTask task;
  task.id = id;
  task.key = key;
  task.replace = replace;
  return task;
}

class QueueKeysAgain : public QueueFixture {
 protected:
  // As a queue that died before it replaced the others.
  void put_as_queue(const std::string& id, const std::string& status) {
    world.pass(milliseconds(5));
    Item item{
        {"taskId", Value(id)},         {"taskStatus", Value(status)}, {"taskCreated", Value::number(world.now_ms())},
        {"attempt", Value::number(0)}, {"key", Value("k")},           {"replace", Value::boolean(true)}};
    if (status == "PENDING") item.set("liveKey", Value("k"));
    world.put(std::move(item));
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueKeysAgain, ::testing::Values(false, true), store_name);

// The new task is put before the others end, and the daemon may die in between.
TEST_P(QueueKeysAgain, ARepeatedCreateEndsWhatACrashLeft) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("old", "k")));
  ASSERT_TRUE(create(queue, keyed("other", "l")));
  put_as_queue("new", "PENDING");
  auto again = create(queue, keyed("new", "k", true));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->created);
  EXPECT_EQ(world.status("old"), "CANCELLED");
  EXPECT_EQ(world.read("old").string_or("replacedBy"), "new");
  EXPECT_EQ(ids(take(queue, 9)), "new other");
  expect_balance();
}

TEST_P(QueueKeysAgain, ARepeatedCreateMarksWhatIsInWork) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("old", "k")));
  auto held = take(queue);
  ASSERT_EQ(ids(held), "old");
  put_as_queue("new", "PENDING");
  ASSERT_TRUE(create(queue, keyed("new", "k", true)));
  EXPECT_EQ(world.read("old").string_or("replacedBy"), "new");
  ASSERT_TRUE(settle(queue, Kind::kFail, held->at(0)));
  EXPECT_EQ(world.status("old"), "CANCELLED");
  expect_balance();
}

// A producer may send a whole batch again. What is in work has its mark, so nothing is left to do.
TEST_P(QueueKeysAgain, ARepeatedCreateDoesNotFollowThoseThatReplacedEachOther) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("old", "k")));
  ASSERT_EQ(ids(take(queue)), "old");
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(create(queue, keyed("new" + std::to_string(i), "k", true)));
  EXPECT_EQ(world.read("old").string_or("replacedBy"), "new0");
  const auto cost = [&](const char* id) {
    const uint64_t before = world.store_calls();
    EXPECT_TRUE(create(queue, keyed(id, "k", true)));
    return world.store_calls() - before;
  };
  const uint64_t newest = cost("new59");
  EXPECT_LE(cost("new0"), newest + 10) << "calls of the store";
  expect_balance();
}

TEST_P(QueueKeysAgain, ARepeatedCreateOfATaskThatHasRunEndsOlderOnes) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("old", "k")));
  put_as_queue("new", "SUCCESS");
  ASSERT_TRUE(create(queue, keyed("new", "k", true)));
  EXPECT_EQ(world.status("old"), "CANCELLED");
  expect_balance();
}

TEST_P(QueueKeysAgain, ARepeatedCreateOfATaskThatIsCancelledEndsNothing) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("old", "k")));
  put_as_queue("new", "CANCELLED");
  ASSERT_TRUE(create(queue, keyed("new", "k", true)));
  EXPECT_EQ(world.status("old"), "PENDING");
  expect_balance();
}

TEST_P(QueueKeysAgain, ARepeatedCreateLeavesNewerTasks) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("one", "k", true)));
  ASSERT_TRUE(create(queue, keyed("two", "k", true)));
  auto again = create(queue, keyed("one", "k", true));
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->created);
  EXPECT_EQ(world.status("one"), "CANCELLED");
  EXPECT_EQ(ids(take(queue, 9)), "two");
  expect_balance();
}

// The operator wants it run, although a newer one of its key has run.
TEST_P(QueueKeysAgain, ARepeatedCreateLeavesARedrivenTask) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("old", "k")));
  world.pass(milliseconds(5));
  ASSERT_TRUE(create(queue, keyed("new", "k", true)));
  auto taken = take(queue, 9);
  ASSERT_EQ(ids(taken), "new");
  ASSERT_TRUE(settle(queue, Kind::kComplete, taken->at(0)));
  ASSERT_EQ(*world.wait(queue.redrive({"CANCELLED", {"old"}, 1, {}})), 1u);
  EXPECT_FALSE(create(queue, keyed("new", "k", true))->created);
  EXPECT_EQ(world.status("old"), "PENDING");
  EXPECT_EQ(ids(take(queue, 9)), "old");
  expect_balance();
}

// Its clock may be behind the daemon's, so that it looks older than it is.
TEST_P(QueueKeysAgain, ARepeatedCreateLeavesATaskThatAClientPut) {
  Queue& queue = world.start();
  const int64_t earlier = world.now_ms() - 50;
  ASSERT_TRUE(create(queue, keyed("new", "k", true)));
  world.put(Item{{"taskId", Value("put")},
                 {"taskStatus", Value("PENDING")},
                 {"taskCreated", Value::number(earlier)},
                 {"key", Value("k")}});
  world.pass(milliseconds(200));
  ASSERT_EQ(world.read("put").string_or("liveKey"), "k");
  EXPECT_FALSE(create(queue, keyed("new", "k", true))->created);
  EXPECT_EQ(world.status("put"), "PENDING");
  expect_balance();
}

// A store that is full for a moment takes new tasks and refuses to end old ones.
class QueueKeysAgainFull : public ::testing::Test {
 protected:
  QueueWorld world{true};
  Queue& queue = world.start();

  void create(const char* id) {
    std::vector<NewTask> one;
    one.push_back(keyed(id, "k", true));
    auto created = world.wait(queue.create(std::move(one)));
    ASSERT_TRUE(created[0]) << created[0].error().message;
  }
  void take_and_complete(const char* id) {
    auto taken = world.wait(queue.take(TakeInput{}));
    ASSERT_EQ(ids(taken), id);
    ASSERT_TRUE(world.wait(queue.settle({settlement(Settlement::Kind::kComplete, taken->at(0))}))[0]);
  }
};

TEST_F(QueueKeysAgainFull, ARepeatedCreateOfATaskThatIsItselfToEndDoesNotSaveIt) {
  create("one");
  world.refuse_edits(true);
  create("two");
  create("three");
  create("two");
  world.refuse_edits(false);
  take_and_complete("three");
  EXPECT_EQ(ids(world.wait(queue.take(TakeInput{}))), "") << "an older one ran after a newer";
  world.pass(seconds(3));
  EXPECT_EQ(world.read("one").string_or("replacedBy"), "three");
  EXPECT_EQ(world.read("two").string_or("replacedBy"), "three");
}

TEST_F(QueueKeysAgainFull, NorDoesOneThatComesWhenTheStoreHasRoomAgain) {
  create("one");
  world.refuse_edits(true);
  create("two");
  create("three");
  world.refuse_edits(false);
  create("two");
  EXPECT_EQ(world.read("one").string_or("replacedBy"), "three");
  EXPECT_EQ(world.read("two").string_or("replacedBy"), "three");
  take_and_complete("three");
  EXPECT_EQ(ids(world.wait(queue.take(TakeInput{}))), "") << "an older one ran after a newer";
}

// A task that was to end for another one lives on if that one has gone since.
TEST_F(QueueKeysAgainFull, ARepeatedCreateEndsNothingForATaskThatHasGone) {
  create("one");
  create("two");
  ASSERT_EQ(world.read("one").string_or("replacedBy"), "two");
  world.refuse_edits(true);
  create("three");
  world.refuse_edits(false);
  ASSERT_TRUE(world.wait(queue.cancel({"three"}))[0]);
  create("one");
  EXPECT_EQ(world.status("two"), "PENDING");
  world.pass(seconds(3));
  take_and_complete("two");
}

// An operator cancels it and then wants it run: it has come later than the one that was to replace it.
TEST_F(QueueKeysAgainFull, ATaskThatWasToEndAndIsRedrivenLivesOn) {
  create("one");
  world.refuse_edits(true);
  create("two");
  world.refuse_edits(false);
  ASSERT_TRUE(world.wait(queue.cancel({"one"}))[0]);
  ASSERT_EQ(*world.wait(queue.redrive({"CANCELLED", {"one"}, 1, {}})), 1u);
  EXPECT_EQ(world.status("one"), "PENDING");
  world.pass(seconds(3));  // The queue looks around, and ends what the store refused to end.
  EXPECT_EQ(world.status("one"), "PENDING");
  take_and_complete("two");
  take_and_complete("one");
}

TEST_F(QueueKeysAgainFull, SoDoesOneThatAJobRedrives) {
  create("one");
  world.refuse_edits(true);
  create("two");
  world.refuse_edits(false);
  ASSERT_TRUE(world.wait(queue.cancel({"one"}))[0]);
  BulkInput input;
  input.action = BulkInput::Action::kRedrive;
  input.states = {"CANCELLED"};
  ASSERT_TRUE(world.wait(queue.start_job(input, {})));
  world.pass(seconds(3));
  EXPECT_EQ(world.status("one"), "PENDING");
}

// A create that waits for another one of its key has put nothing yet.
TEST(QueueKeysHangUp, AClientThatHangsUpWhileItWaitsForItsKeyCreatesNothing) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    QueueWorld world(true, seed);
    Queue& queue = world.start();
    std::vector<NewTask> first;
    first.push_back(keyed("first", "k", true));
    auto going = queue.create(std::move(first));
    std::vector<NewTask> second;
    second.push_back(keyed("second", "k", true));
    { auto given_up = queue.create(std::move(second)); }
    ASSERT_TRUE(world.wait(std::move(going))[0]);
    world.pass(seconds(1));
    EXPECT_EQ(world.status("first"), "PENDING");
    EXPECT_EQ(world.status("second"), "");
  }
}

// Nobody is left to tell them when the store has answered.
TEST_P(QueueKeysAgain, WhoWaitsForWorkIsToldOfATaskWhoseClientHungUp) {
  Queue& queue = world.start();
  queue.set_pulled(true);
  TakeInput input;
  input.wait = seconds(60);
  auto waiting = queue.take(input);
  world.pass(milliseconds(50));
  std::vector<NewTask> one;
  one.push_back(keyed("one", "k"));
  { auto asked = queue.create(std::move(one)); }
  world.pass(milliseconds(100));
  ASSERT_TRUE(waiting.is_ready());
  EXPECT_EQ(ids(waiting.take()), "one");
}

}  // namespace
}  // namespace freshet
