// Deduplicate and replace-latest by key, whoever put the tasks. In both worlds.
#include <algorithm>

#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class QueueKeys : public QueueFixture {
 protected:
  static NewTask keyed(const std::string& id, const std::string& key, bool replace = false) {
    NewTask task;
    task.id = id;
    task.key = key;
    task.replace = replace;
    return task;
  }
  // As a client that knows nothing of `liveKey`.
  void put_keyed(const std::string& id, const std::string& key, const std::string& status = "PENDING") {
    world.put(Item{{"taskId", Value(id)},
                   {"taskStatus", Value(status)},
                   {"taskCreated", Value::number(world.now_ms())},
                   {"key", Value(key)}});
  }
  // As if a newer task of its key came to replace it.
  void put_marked(const std::string& id) {
    world.put(Item{{"taskId", Value(id)},
                   {"taskStatus", Value("PENDING")},
                   {"taskCreated", Value::number(world.now_ms())},
                   {"replacedBy", Value("x")}});
    world.pass(milliseconds(200));
  }
  void end_as_client(const std::string& id) {
    UpdateItemInput ended;
    ended.table = "QueueTable";
    ended.key.set("taskId", Value(id));
    ended.update = "SET taskStatus = :s";
    ended.placeholders.values.set(":s", Value("SUCCESS"));
    ASSERT_TRUE(world.wait(world.store->update_item(ended)));
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueKeys, ::testing::Values(false, true), store_name);

TEST_P(QueueKeys, ARedrivenTaskHasItsKeyAgain) {
  QueueSettings settings;
  settings.max_attempts = 1;
  Queue& queue = world.start(settings);
  ASSERT_TRUE(create(queue, keyed("one", "k")));
  ASSERT_TRUE(settle(queue, Kind::kFail, take(queue)->at(0)));
  ASSERT_EQ(world.status("one"), "DEAD");
  EXPECT_FALSE(world.read("one").contains("liveKey"));
  ASSERT_EQ(*world.wait(queue.redrive({"DEAD", {}, 1000, {}})), 1u);
  auto second = create(queue, keyed("two", "k"));
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->created);
  EXPECT_EQ(second->id, "one");
  expect_balance();
}

// Nothing can replace a task without a key, whatever a client has written.
TEST_P(QueueKeys, ATaskThatIsMarkedAsReplacedButHasNoKeyIsTriedAgain) {
  QueueSettings settings;
  settings.backoff = {milliseconds(100), milliseconds(100), 1, 0};
  Queue& queue = world.start(settings);
  put_marked("a");
  const auto taken = take(queue);
  ASSERT_EQ(ids(taken), "a");
  ASSERT_TRUE(settle(queue, Kind::kFail, taken->at(0)));
  EXPECT_EQ(world.status("a"), "DELAYED");
  world.pass(seconds(1));
  EXPECT_EQ(ids(take(queue)), "a");
}

TEST_P(QueueKeys, TheLeaseOfATaskThatIsMarkedAsReplacedButHasNoKeyEnds) {
  QueueSettings settings;
  settings.lease = seconds(2);
  settings.backoff = {milliseconds(100), milliseconds(100), 1, 0};
  Queue& queue = world.start(settings);
  put_marked("a");
  ASSERT_EQ(ids(take(queue)), "a");
  world.pass(seconds(8));
  EXPECT_EQ(ids(take(queue)), "a");
}

TEST_P(QueueKeys, ATaskThatAClientPutHoldsItsKey) {
  Queue& queue = world.start();
  put_keyed("sdk", "k");
  world.pass(milliseconds(200));
  auto second = create(queue, keyed("two", "k"));
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->created);
  EXPECT_EQ(second->id, "sdk");
  ASSERT_TRUE(create(queue, keyed("three", "k", true))->created);
  EXPECT_EQ(world.status("sdk"), "CANCELLED");
  EXPECT_EQ(world.read("sdk").string_or("replacedBy"), "three");
  EXPECT_EQ(ids(take(queue, 9)), "three");
  expect_balance();
}

TEST_P(QueueKeys, TheKeyOfATaskThatWasThereBeforeTheQueueIsSeen) {
  put_keyed("before", "k");
  put_keyed("held", "h", "TAKEN");
  Queue& queue = world.start();
  world.pass(milliseconds(200));
  EXPECT_EQ(create(queue, keyed("two", "k"))->id, "before");
  EXPECT_EQ(create(queue, keyed("three", "h"))->id, "held");
}

TEST_P(QueueKeys, AKeyGoesWithATaskThatAClientEnded) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("one", "k")));
  end_as_client("one");
  EXPECT_TRUE(create(queue, keyed("two", "k"))->created) << "at once";
  world.pass(milliseconds(200));
  EXPECT_FALSE(world.read("one").contains("liveKey"));
  EXPECT_EQ(world.read("one").string_or("key"), "k");
}

TEST_P(QueueKeys, AClaimThatIsFasterThanTheStreamTakesTheKeyAlong) {
  Queue& queue = world.start();
  put_keyed("sdk", "k");
  auto taken = take(queue);
  ASSERT_EQ(ids(taken), "sdk");
  EXPECT_EQ(world.read("sdk").string_or("liveKey"), "k");
  EXPECT_FALSE(create(queue, keyed("two", "k"))->created);
  ASSERT_TRUE(settle(queue, Kind::kComplete, taken->at(0)));
  EXPECT_TRUE(create(queue, keyed("two", "k"))->created);
  world.pass(milliseconds(200));
  EXPECT_FALSE(world.read("sdk").contains("liveKey"));
}

TEST_P(QueueKeys, ReplaceEndsAllThatWaitHoweverMany) {
  Queue& queue = world.start();
  for (int i = 0; i < 250; ++i) put_keyed("sdk" + std::to_string(i), "k");
  world.pass(milliseconds(2'000));
  ASSERT_TRUE(create(queue, keyed("latest", "k", true))->created);
  EXPECT_EQ(world.stock("PENDING"), 1u);
  EXPECT_EQ(world.stock("CANCELLED"), 250u);
  EXPECT_EQ(ids(take(queue, 9)), "latest");
  expect_balance();
}

// An attribute `replace` was any client's own until tasks of the queue had one.
TEST_P(QueueKeys, OnlyATaskThatSaysThatItReplacesWaitsForItsKey) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("one", "k")));
  ASSERT_EQ(ids(take(queue)), "one");
  const auto put = [&](const char* id, Value replace) {
    world.put(Item{{"taskId", Value(id)},
                   {"taskStatus", Value("PENDING")},
                   {"taskCreated", Value::number(world.now_ms())},
                   {"key", Value("k")},
                   {"liveKey", Value("k")},
                   {"replace", std::move(replace)}});
  };
  put("false", Value::boolean(false));
  put("text", Value("the old one"));
  put("true", Value::boolean(true));
  world.pass(milliseconds(200));
  const auto taken = ids(take(queue, 9));
  EXPECT_TRUE(taken == "false text" || taken == "text false") << taken;
  EXPECT_EQ(world.status("true"), "PENDING");
}

// A take goes on behind what it has claimed of a page. All of these have one taskCreated: once it began at the first of
// them again with every page, and had looked at its last page before it came to what it could take.
TEST_P(QueueKeys, ATakeGoesOnBehindWhatItClaimedAmongTasksOfOneMillisecond) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("one", "k")));
  ASSERT_EQ(ids(take(queue)), "one");
  const int64_t created = world.now_ms();
  const auto put = [&](const std::string& id, bool waits) {
    Item item{{"taskId", Value(id)}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(created)}};
    if (waits) {
      for (const char* name : {"key", "liveKey"}) item.set(name, Value("k"));
      item.set("replace", Value::boolean(true));
    }
    world.put(item);
  };
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    const std::string id = "free" + std::to_string(10 + i);
    put(id, false);
    if (i % 2 == 0) put("waits" + std::to_string(i), true);
    expected = id + (expected.empty() ? "" : " ") + expected;
  }
  for (int i = 0; i < 60; ++i) put("newer" + std::to_string(i), true);
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue, 20)), expected);
}

TEST_P(QueueKeys, ALatestWaitsWhileOneOfItsKeyIsInWork) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("one", "k", true)));
  auto one = take(queue);
  ASSERT_EQ(ids(one), "one");
  ASSERT_TRUE(create(queue, keyed("two", "k", true))->created);
  create(queue, {"other"});
  EXPECT_EQ(ids(take(queue, 9)), "other") << "nothing else waits";
  EXPECT_EQ(world.status("two"), "PENDING");
  const auto said = world.wait(queue.explain("two"));
  ASSERT_TRUE(said);
  const auto why = sentences(*said);
  EXPECT_NE(
      std::find(why.begin(), why.end(), "another task of its key is in work: as it replaces others, it waits for that"),
      why.end());
  EXPECT_FALSE(*world.wait(queue.has_work())) << "nothing that could be started";
  TakeInput input;
  input.wait = seconds(10);
  auto waiting = queue.take(input);
  world.pass(milliseconds(50));
  EXPECT_FALSE(waiting.is_ready());
  ASSERT_TRUE(settle(queue, Kind::kComplete, one->at(0)));
  world.pass(milliseconds(50));
  ASSERT_TRUE(waiting.is_ready()) << "it is told at once";
  EXPECT_EQ(ids(waiting.take()), "two");
  EXPECT_FALSE(world.read("one").contains("replacedBy")) << "it was done";
  expect_balance();
}

// However its work ends, it does not wait again beside the newer one.
TEST_P(QueueKeys, AReplacedTaskIsNotTriedAgain) {
  for (const char* how : {"fail", "release", "lease", "restart"}) {
    SCOPED_TRACE(how);
    const std::string key = how;
    Queue* queue = &world.start();
    ASSERT_TRUE(create(*queue, keyed(key + "1", key, true)));
    TakeInput input;
    input.lease = milliseconds(500);
    auto taken = world.wait(queue->take(input));
    ASSERT_EQ(ids(taken), key + "1");
    ASSERT_TRUE(create(*queue, keyed(key + "2", key, true)));
    ASSERT_TRUE(create(*queue, keyed(key + "3", key, true)));
    EXPECT_EQ(world.read(key + "1").string_or("replacedBy"), key + "2");
    if (key == "fail" || key == "release") {
      ASSERT_TRUE(settle(*queue, key == "fail" ? Kind::kFail : Kind::kRelease, taken->at(0)));
    }
    if (key == "lease") world.pass(milliseconds(600));
    if (key == "restart") queue = &world.start();
    EXPECT_EQ(world.status(key + "1"), "CANCELLED");
    EXPECT_FALSE(world.read(key + "1").contains("lease"));
    taken = take(*queue, 9);
    EXPECT_EQ(ids(taken), key + "3");
    ASSERT_TRUE(settle(*queue, Kind::kComplete, taken->at(0)));
  }
  expect_balance();
}

TEST_P(QueueKeys, AReplacedTaskThatFailsForGoodIsAFailure) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("one", "k", true)));
  auto taken = take(queue);
  ASSERT_TRUE(create(queue, keyed("two", "k", true)));
  auto failed = settlement(Kind::kFail, taken->at(0));
  failed.final = true;
  ASSERT_TRUE(settle(queue, std::move(failed)));
  EXPECT_EQ(world.status("one"), "FAILURE");
  ASSERT_EQ(*world.wait(queue.redrive({"FAILURE", {"one"}, 1, {}})), 1u);
  EXPECT_EQ(ids(take(queue, 9)), "two one") << "who redrives wants it run";
  expect_balance();
}

// Creates a task with the key "k".
void create_replacing(QueueWorld& world, Queue& queue, const char* id) {
  NewTask task;
  task.id = id;
  task.key = "k";
  task.replace = true;
  auto created = world.wait(queue.create({task}));
  ASSERT_TRUE(created[0]) << created[0].error().message;
  EXPECT_TRUE(created[0]->created) << id;
}

// A store that is full for a moment takes the new task and refuses to end the old one.
TEST(QueueKeysFull, WhatCouldNotBeReplacedDoesNotRunAfterTheNewerOne) {
  for (const bool in_work : {false, true}) {
    SCOPED_TRACE(in_work ? "the old one is in work" : "the old one waits");
    QueueWorld world(true);
    Queue& queue = world.start();
    const auto create = [&](const char* id) { create_replacing(world, queue, id); };
    const auto take = [&] { return world.wait(queue.take(TakeInput{})); };
    const auto settle = [&](Settlement::Kind kind, const TakenTask& task) {
      ASSERT_TRUE(world.wait(queue.settle({settlement(kind, task)}))[0]);
    };
    create("one");
    auto one = in_work ? take() : Result<std::vector<TakenTask>>();
    world.refuse_edits(true);
    create("two");
    world.refuse_edits(false);
    if (in_work) {
      ASSERT_EQ(ids(one), "one");
      settle(Settlement::Kind::kRelease, one->at(0));
    }
    auto two = take();
    ASSERT_EQ(ids(two), "two");
    settle(Settlement::Kind::kComplete, two->at(0));
    EXPECT_EQ(ids(take()), "") << "an older one ran after a newer";
    world.pass(seconds(3));
    EXPECT_EQ(world.status("one"), "CANCELLED");
    EXPECT_EQ(world.read("one").string_or("replacedBy"), "two");
    create("three");
    EXPECT_EQ(ids(take()), "three") << "the key is free";
    auto balanced = check_balance(world.books());
    EXPECT_TRUE(balanced) << balanced.error().message;
  }
}

// The next of that key comes before the daemon has looked again: it is the newest, whatever was refused before it.
TEST(QueueKeysFull, WhoComesAfterARefusalIsNotReplaced) {
  for (const bool replaces : {true, false}) {
    SCOPED_TRACE(replaces ? "it replaces" : "it does not replace");
    QueueWorld world(true);
    Queue& queue = world.start();
    const auto create = [&](const char* id, bool replace) {
      NewTask task;
      task.id = id;
      task.key = "k";
      task.replace = replace;
      auto created = world.wait(queue.create({task}));
      ASSERT_TRUE(created[0]) << created[0].error().message;
      EXPECT_TRUE(created[0]->created) << id;
    };
    const auto take_and_complete = [&](const char* id) {
      auto taken = world.wait(queue.take(TakeInput{}));
      ASSERT_EQ(ids(taken), id);
      ASSERT_TRUE(world.wait(queue.settle({settlement(Settlement::Kind::kComplete, taken->at(0))}))[0]);
    };
    create("one", true);
    world.refuse_edits(true);
    create("two", true);
    world.refuse_edits(false);
    if (!replaces) take_and_complete("two");  // Only one task of the key is left, and it will end.
    create("three", replaces);
    take_and_complete("three");
    world.pass(seconds(3));
    EXPECT_EQ(world.status("three"), "SUCCESS");
    EXPECT_EQ(world.status("one"), "CANCELLED");
    EXPECT_EQ(world.status("two"), replaces ? "CANCELLED" : "SUCCESS");
    auto balanced = check_balance(world.books());
    EXPECT_TRUE(balanced) << balanced.error().message;
  }
}

// A task that is redriven, or put by a client, after a refusal did not exist to be replaced.
TEST(QueueKeysFull, WhatIsRedrivenOrPutAfterARefusalIsLeftAlone) {
  QueueWorld world(true);
  Queue& queue = world.start();
  const auto create = [&](const char* id) { create_replacing(world, queue, id); };
  create("old");
  auto taken = world.wait(queue.take(TakeInput{}));
  ASSERT_EQ(ids(taken), "old");
  auto failed = settlement(Settlement::Kind::kFail, taken->at(0));
  failed.final = true;
  ASSERT_TRUE(world.wait(queue.settle({std::move(failed)}))[0]);
  create("one");
  world.refuse_edits(true);
  create("two");
  world.refuse_edits(false);
  ASSERT_EQ(*world.wait(queue.redrive({"FAILURE", {"old"}, 1, {}})), 1u);
  Item put{{"taskId", Value("put")}, {"taskStatus", Value("PENDING")}, {"key", Value("k")}};
  put.set("taskCreated", Value::number(epoch_ms(world.clock.wall())));
  world.put(std::move(put));
  world.pass(seconds(3));
  EXPECT_EQ(world.status("one"), "CANCELLED");
  EXPECT_EQ(world.read("one").string_or("replacedBy"), "two");
  EXPECT_EQ(world.status("two"), "PENDING");
  EXPECT_EQ(world.status("old"), "PENDING") << "who redrives wants it run";
  EXPECT_EQ(world.status("put"), "PENDING") << "it is newer";
}

// A client ends what the daemon holds, or deletes it: the next of its key does not wait for the end of the lease.
TEST_P(QueueKeys, AKeyIsFreeWhenAClientHasEndedItsTask) {
  Queue& queue = world.start();
  for (const bool deletes : {false, true}) {
    ASSERT_TRUE(create(queue, keyed("one", "k", true)));
    ASSERT_EQ(ids(take(queue)), "one");
    ASSERT_TRUE(create(queue, keyed("two", "k", true)));
    EXPECT_EQ(ids(take(queue)), "");
    if (deletes) {
      DeleteItemInput gone;
      gone.table = "QueueTable";
      gone.key.set("taskId", Value("one"));
      ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
    } else {
      end_as_client("one");
    }
    world.pass(milliseconds(200));
    auto two = take(queue);
    ASSERT_EQ(ids(two), "two");
    ASSERT_TRUE(settle(queue, Kind::kComplete, two->at(0)));
    for (const char* id : {"one", "two"}) {
      DeleteItemInput gone;
      gone.table = "QueueTable";
      gone.key.set("taskId", Value(id));
      ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
    }
    world.pass(milliseconds(200));
  }
}

TEST_P(QueueKeys, ABatchKeepsItsOrderWhateverHasAKey) {
  Queue& queue = world.start();
  std::vector<NewTask> tasks{keyed("a", ""), keyed("b", "kb"), keyed("c", ""), keyed("d", "kd"), keyed("e", "")};
  for (auto& created : world.wait(queue.create(tasks))) ASSERT_TRUE(created);
  EXPECT_EQ(ids(take(queue, 9)), "e d c b a");
}

// A client may hang up before the store has answered: the task is not left beside those that it came to replace.
TEST_P(QueueKeys, ACreateOfAClientThatHangsUpReplacesAllTheSame) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, keyed("old", "k")));
  std::vector<NewTask> one;
  one.push_back(keyed("new", "k", true));
  { auto asked = queue.create(std::move(one)); }
  world.pass(seconds(1));
  EXPECT_EQ(world.status("new"), "PENDING");
  EXPECT_EQ(world.status("old"), "CANCELLED");
  expect_balance();
}

}  // namespace
}  // namespace freshet
