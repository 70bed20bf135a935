// Where one run of the processor ends and the next one begins, and heartbeats under leases of different length. In
// both worlds.
#include "tables/value/json.h"
#include "tests/functions/processor_fixture.h"

namespace freshet {
namespace {

class ProcessorRuns : public ProcessorTest {
 protected:
  std::unique_ptr<Running> run;

  // As the topic does it: the next run starts when the one before has ended.
  void pass(milliseconds time) {
    for (milliseconds passed{0}; passed < time; passed += milliseconds(10)) {
      if (!run || run->ended()) run = std::make_unique<Running>(world, process_tasks, environment);
      world.pass(milliseconds(10));
    }
  }
  void create_slow(Queue& queue, const char* id, milliseconds duration) {
    world.http.duration = duration;
    create(queue, {id});
    pass(milliseconds(50));
    ASSERT_EQ(world.status(id), "TAKEN");
    world.http.duration = milliseconds(50);
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, ProcessorRuns, ::testing::Values(false, true),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

TEST_P(ProcessorRuns, ASlowTaskDoesNotIdleTheOtherSlots) {
  environment["CONCURRENCY"] = "4";
  environment["MAX_ACTIVE_MS"] = "5000";
  Queue& queue = start();
  create_slow(queue, "slow", milliseconds(25'000));
  for (int i = 0; i < 40; ++i) {
    const std::string id = "quick" + std::to_string(i);
    create(queue, {id.c_str()});
    pass(milliseconds(500));
    ASSERT_EQ(world.status(id), "SUCCESS") << "half a second after it came, beside three free slots";
  }
  EXPECT_EQ(world.status("slow"), "TAKEN");
  pass(milliseconds(6'000));
  EXPECT_EQ(world.status("slow"), "SUCCESS");
  EXPECT_EQ(world.http.requests.size(), 41u) << "each once";
  EXPECT_EQ(world.read("slow").int_or("attempt", 0), 1);
}

TEST_P(ProcessorRuns, TheRunsTogetherHaveNoMoreSlots) {
  world.set_faults({});  // It counts milliseconds: needs the trait of immediate answers, or that each one comes.
  environment["CONCURRENCY"] = "3";
  environment["MAX_ACTIVE_MS"] = "1000";
  Queue& queue = start();
  create_slow(queue, "slow0", milliseconds(9'000));
  create_slow(queue, "slow1", milliseconds(6'000));
  world.wait(queue.create(std::vector<NewTask>(300)));
  pass(milliseconds(15'000));
  EXPECT_EQ(world.stock("SUCCESS"), 302u);
  EXPECT_EQ(world.http.most_in_work, 3);
}

TEST_P(ProcessorRuns, WithAdaptiveConcurrencyTheNextRunHasTheFreeSlots) {
  world.set_faults({});  // It counts milliseconds: needs the trait of immediate answers, or that each one comes.
  environment["CONCURRENCY"] = "adaptive";
  environment["CONCURRENCY_MIN"] = "4";
  environment["CONCURRENCY_MAX"] = "4";
  environment["MAX_ACTIVE_MS"] = "1000";
  Queue& queue = start();
  create_slow(queue, "slow", milliseconds(20'000));
  world.wait(queue.create(std::vector<NewTask>(400)));
  pass(milliseconds(12'000));
  EXPECT_EQ(world.stock("SUCCESS"), 400u);
  EXPECT_EQ(world.status("slow"), "TAKEN");
  EXPECT_EQ(world.http.most_in_work, 4);
}

// The slots of an earlier run count, too: when one becomes free, the run that waits for its own hands over.
TEST_P(ProcessorRuns, ASlotThatAnEarlierRunFreesIsNotIdle) {
  environment["CONCURRENCY"] = "2";
  environment["MAX_ACTIVE_MS"] = "5000";
  Queue& queue = start();
  create_slow(queue, "first", milliseconds(12'000));
  pass(milliseconds(6'000));
  create_slow(queue, "second", milliseconds(25'000));
  pass(milliseconds(5'000));
  ASSERT_EQ(queue.downstream().left, 1u) << "both slots are in use, and the second run picks no more";
  create(queue, {"quick"});
  pass(milliseconds(2'000));
  ASSERT_EQ(world.status("first"), "SUCCESS");
  EXPECT_EQ(world.status("quick"), "SUCCESS");
  EXPECT_EQ(world.status("second"), "TAKEN");
}

TEST_P(ProcessorRuns, MoreSlotsByThePolicyAreNotIdle) {
  environment["CONCURRENCY"] = "1";
  environment["MAX_ACTIVE_MS"] = "1000";
  Queue& queue = start();
  create_slow(queue, "slow", milliseconds(25'000));
  create(queue, {"quick"});
  pass(milliseconds(2'000));
  ASSERT_EQ(world.status("quick"), "PENDING");
  ASSERT_TRUE(queue.change_policy({{"CONCURRENCY", "2"}}));
  pass(milliseconds(1'000));
  EXPECT_EQ(world.status("quick"), "SUCCESS");
  EXPECT_EQ(world.status("slow"), "TAKEN");
}

TEST_P(ProcessorRuns, ARunSaysHowManyItLeft) {
  environment["CONCURRENCY"] = "2";
  environment["MAX_ACTIVE_MS"] = "1000";
  Queue& queue = start();
  create_slow(queue, "slow", milliseconds(5'000));
  world.pass(milliseconds(1'500));
  ASSERT_TRUE(run->ended());
  EXPECT_FALSE(queue.has_processor()) << "whoever puts a task starts the next run";
  EXPECT_EQ(*run->outcome(world),
            "{\"taken\":1,\"succeeded\":0,\"failed\":0,\"bounced\":0,\"shed\":0,\"lost\":0,\"left\":1,"
            "\"tailCall\":false}");
}

TEST_P(ProcessorRuns, WhatARunLeftKeepsItsLeaseAndCanBeCancelled) {
  environment["CONCURRENCY"] = "2";
  environment["MAX_ACTIVE_MS"] = "1000";
  environment["LEASE_MS"] = "1000";
  Queue& queue = start();
  create_slow(queue, "slow", milliseconds(60'000));
  world.pass(milliseconds(10'000));
  ASSERT_TRUE(run->ended());
  EXPECT_EQ(world.status("slow"), "TAKEN");
  EXPECT_EQ(world.http.requests.size(), 1u) << "never taken again";
  world.wait(queue.cancel({"slow"}));
  world.pass(milliseconds(1'000));
  EXPECT_EQ(world.status("slow"), "CANCELLED");
  EXPECT_EQ(world.http.in_work, 0);
}

using ProcessorAtAFullStore = ProcessorRuns;
INSTANTIATE_TEST_SUITE_P(Stores, ProcessorAtAFullStore, ::testing::Values(true),
                         [](const auto&) { return std::string("late"); });

// It once tried again at once, for ever: a store that answers at once then held the loop (seed 1795660126533).
TEST_P(ProcessorAtAFullStore, WhatARunLeftIsSettledFiveTimesASecond) {
  environment["CONCURRENCY"] = "2";
  environment["MAX_ACTIVE_MS"] = "1000";
  Queue& queue = start();
  create_slow(queue, "slow", milliseconds(5'000));
  world.pass(milliseconds(1'500));
  ASSERT_TRUE(run->ended());
  world.refuse_edits(true);
  world.pass(milliseconds(5'000));
  ASSERT_EQ(world.http.in_work, 0);
  const uint64_t before = world.store_calls();
  world.pass(milliseconds(1'000));
  EXPECT_GE(world.store_calls(), before + 5);
  EXPECT_LE(world.store_calls(), before + 30) << "a try each 200 ms";
  world.refuse_edits(false);
  world.pass(milliseconds(1'000));
  EXPECT_EQ(world.status("slow"), "SUCCESS");
  EXPECT_EQ(world.http.requests.size(), 1u);
}

TEST_P(ProcessorRuns, TheTimeoutOfItsInvocationEndsWhatARunLeft) {
  environment["CONCURRENCY"] = "2";
  environment["TASK_TIMEOUT_MS"] = "600000";
  environment["MAX_ACTIVE_MS"] = "1000";
  Queue& queue = start();
  create_slow(queue, "slow", milliseconds(600'000));
  world.pass(seconds(119));
  EXPECT_EQ(world.status("slow"), "TAKEN");
  world.pass(seconds(2));
  EXPECT_EQ(world.status("slow"), "DELAYED");
  EXPECT_EQ(world.read("slow").string_or("error"), "the processor was ended while this was in work");
  EXPECT_EQ(world.http.in_work, 0);
  EXPECT_EQ(queue.downstream().left, 0u);
}

TEST_P(ProcessorRuns, AStopGivesBackWhatARunLeft) {
  environment["CONCURRENCY"] = "2";
  environment["MAX_ACTIVE_MS"] = "1000";
  Queue& queue = start();
  create_slow(queue, "slow", milliseconds(60'000));
  world.pass(seconds(2));
  ASSERT_TRUE(run->ended());
  world.queues->drain();
  auto returned = world.queues->all_returned(world.clock.boot() + seconds(5));
  EXPECT_FALSE(world.wait(std::move(returned))) << "it may go on until then";
  EXPECT_EQ(world.http.in_work, 1);
  auto released = world.queues->release_held(BootTime::max());
  world.pass(seconds(1));
  EXPECT_EQ(world.http.in_work, 0) << "its work is ended";
  EXPECT_EQ(world.status("slow"), "PENDING");
  EXPECT_EQ(world.read("slow").int_or("attempt", -1), 0);
  EXPECT_EQ(queue.held(), 0u);
}

TEST_P(ProcessorRuns, AQueueThatGoesEndsWhatARunLeft) {
  environment["CONCURRENCY"] = "2";
  environment["MAX_ACTIVE_MS"] = "1000";
  create_slow(start(), "slow", milliseconds(60'000));
  world.pass(seconds(2));
  ASSERT_TRUE(run->ended());
  world.queues.reset();
  EXPECT_EQ(world.http.in_work, 0);
}

// A run that cannot take anything any more is no reason to wait for what it has in work.
TEST(ProcessorRunsFull, ARefusedTakeDoesNotIdleTheOtherSlots) {
  QueueWorld world(true);
  const Environment environment{{"QUEUE_TABLE", "QueueTable"},
                                {"TASK_RUNNER", "http://handler/work"},
                                {"CONCURRENCY", "2"},
                                {"LINGER_MS", "60000"}};
  Queue& queue = world.start(process_settings(environment)->queue);
  world.http.duration = seconds(20);
  Running first(world, process_tasks, environment);
  world.wait(queue.create(named({"slow"})));
  world.pass(seconds(1));
  ASSERT_EQ(world.status("slow"), "TAKEN");
  world.refuse_edits(true);
  world.wait(queue.create(named({"quick"})));
  world.pass(seconds(1));
  world.refuse_edits(false);
  EXPECT_TRUE(first.ended()) << "with the error, and not when the slow one has ended";
  world.http.duration = milliseconds(50);
  Running second(world, process_tasks, environment);
  world.pass(seconds(1));
  EXPECT_EQ(world.status("quick"), "SUCCESS");
  world.pass(seconds(20));
  EXPECT_EQ(world.status("slow"), "SUCCESS");
}

// The lease that a task has is the one that it was claimed with.
TEST_P(ProcessorRuns, AShorterLeaseTakesNothingFromAHealthyProcessor) {
  environment["CONCURRENCY"] = "4";
  Queue& queue = start();
  create_slow(queue, "before", milliseconds(50'000));
  ASSERT_TRUE(queue.change_policy({{"LEASE_MS", "900"}}));
  create_slow(queue, "after", milliseconds(30'000));
  world.pass(seconds(25));
  EXPECT_EQ(world.http.requests.size(), 2u) << "each is in work once";
  for (const char* id : {"before", "after"}) {
    EXPECT_EQ(world.status(id), "TAKEN") << id;
    EXPECT_EQ(world.read(id).int_or("attempt", 0), 1) << id;
  }
  EXPECT_GT(world.read("after").int_or("leaseBeat", 0), 70);
  EXPECT_LT(world.read("before").int_or("leaseBeat", 0), 5) << "a third of its own minute";
  ASSERT_TRUE(queue.change_policy({{"LEASE_MS", "86400000"}}));
  world.pass(seconds(30));
  EXPECT_EQ(world.stock("SUCCESS"), 2u);
}

// A client shortens the lease of a task that it sees, by the attribute that all observers go by.
TEST_P(ProcessorRuns, ALeaseThatAClientHasShortenedIsKept) {
  environment["LEASE_MS"] = "3000";
  Queue& queue = start();
  create_slow(queue, "a", milliseconds(20'000));
  UpdateItemInput shorter;
  shorter.table = "QueueTable";
  shorter.key.set("taskId", Value("a"));
  shorter.update = "SET leaseMs = :m";
  shorter.placeholders.values.set(":m", Value::number(300));
  ASSERT_TRUE(world.wait(world.store->update_item(shorter)));
  world.pass(seconds(10));
  EXPECT_EQ(world.http.requests.size(), 1u);
  EXPECT_EQ(world.read("a").int_or("attempt", 0), 1);
  EXPECT_GT(world.read("a").int_or("leaseBeat", 0), 60);
}

// The store takes no heartbeat for a while that is shorter than the lease.
TEST(ProcessorRunsFull, ARefusedHeartbeatIsTriedAgainWhileTheLeaseLasts) {
  QueueWorld world(true);
  const Environment environment{
      {"QUEUE_TABLE", "QueueTable"}, {"TASK_RUNNER", "http://handler/work"}, {"LEASE_MS", "3000"}};
  Queue& queue = world.start(process_settings(environment)->queue);
  world.http.duration = seconds(20);
  world.wait(queue.create(named({"a"})));
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(900));
  world.refuse_edits(true);
  world.pass(milliseconds(1'700));
  world.refuse_edits(false);
  world.pass(seconds(10));
  EXPECT_EQ(world.http.requests.size(), 1u);
  EXPECT_EQ(world.read("a").int_or("attempt", 0), 1);
}

}  // namespace
}  // namespace freshet
