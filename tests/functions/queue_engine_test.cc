// One queue of one daemon on a DynamoDB-compatible engine: late answers, some of them lost, indexes that lag; no books,
// no streams, no TTL.
#include "functions/queue/attributes.h"
#include "tests/functions/world.h"

namespace freshet {
namespace {

using Kind = Settlement::Kind;

class EngineQueue : public ::testing::Test {
 protected:
  QueueWorld& world(milliseconds lag, SimFaults faults = {}, uint64_t seed = 1) {
    EngineStore engine;
    engine.index_lag = lag;
    engine.faults = faults;
    world_ = std::make_unique<QueueWorld>(engine, seed);
    return *world_;
  }
  Result<std::vector<TakenTask>> take(Queue& queue, int max = 1) {
    TakeInput input;
    input.max = max;
    return world_->wait(queue.take(input));
  }
  void create(Queue& queue, std::initializer_list<const char*> names) {
    for (auto& created : world_->wait(queue.create(named(names)))) ASSERT_TRUE(created) << created.error().message;
  }
  std::unique_ptr<QueueWorld> world_;
};

TEST_F(EngineQueue, TakesTheNewestAlthoughIndexesLag) {
  QueueWorld& here = world(milliseconds(1500));
  Queue& queue = here.start();
  create(queue, {"a", "b", "c"});
  EXPECT_EQ(ids(take(queue, 2)), "c b");
  create(queue, {"d"});
  EXPECT_EQ(ids(take(queue, 5)), "d a");
  EXPECT_EQ(ids(take(queue, 5)), "");
  EXPECT_EQ(here.stock("TAKEN"), 4u);
  EXPECT_EQ(here.stock("PENDING"), 0u);
}

// Each claim is sent once: nothing that has moved is tried again.
TEST_F(EngineQueue, HardlyAClaimFailsHoweverFarIndexesLag) {
  for (const milliseconds lag : {milliseconds(10), milliseconds(100), milliseconds(1500)}) {
    SCOPED_TRACE(lag.count());
    QueueWorld& here = world(lag);
    Queue& queue = here.start();
    std::vector<Async<Result<std::vector<TakenTask>>>> takes;
    size_t taken = 0;
    for (int i = 0; i < 300; ++i) {
      std::vector<NewTask> some(4);
      ASSERT_EQ(here.wait(queue.create(std::move(some))).size(), 4u);
      // Twelve takers at once.
      for (int j = 0; j < 12 && i % 3 == 0; ++j) {
        TakeInput input;
        input.max = 1;
        takes.push_back(queue.take(input));
      }
      for (auto& one : takes) taken += here.wait(std::move(one))->size();
      takes.clear();
    }
    EXPECT_EQ(taken, 1192u) << "all that were there by then";
    EXPECT_EQ(here.refused_writes(), 0u);
  }
}

TEST_F(EngineQueue, NoClaimFailsRightAfterAChangeOfOwner) {
  QueueWorld& here = world(milliseconds(1500));
  Queue& first = here.start();
  std::vector<NewTask> some(60);
  ASSERT_EQ(here.wait(first.create(std::move(some))).size(), 60u);
  here.pass(seconds(2));
  for (int i = 0; i < 20; ++i) {
    auto taken = take(first, 1);
    ASSERT_EQ(taken->size(), 1u);
    std::vector<Settlement> done{settlement(Kind::kComplete, taken->front())};
    ASSERT_TRUE(here.wait(first.settle(std::move(done))).front());
  }
  // The next owner remembers nothing, and the index still shows these tasks.
  Queue& next = here.start();
  for (int i = 0; i < 40; ++i) ASSERT_EQ(take(next, 1)->size(), 1u) << i;
  EXPECT_EQ(here.refused_writes(), 0u);
}

// Its owner was killed before the answer came, and the next one counts just before the engine carries it out.
TEST_F(EngineQueue, AWriteThatComesAfterTheCountIsSoonInTheBooks) {
  QueueWorld& here = world(milliseconds(10));
  Queue& killed = here.start();
  create(killed, {"a"});
  ASSERT_EQ(ids(take(killed)), "a");
  here.recount = seconds(3600);
  here.start({}, [&here] {
    here.pass(seconds(1));
    ASSERT_EQ(here.stock("TAKEN"), 1u);
    UpdateItemInput late;
    late.table = "QueueTable";
    late.key = {{"taskId", Value("a")}};
    late.update = "SET taskStatus = :s";
    late.placeholders.values.set(":s", Value("SUCCESS"));
    ASSERT_TRUE(here.wait(here.client().update_item(std::move(late))));
    here.pass(seconds(1));
  });
  here.pass(seconds(3600) / 10 + seconds(60));
  EXPECT_EQ(here.stock("TAKEN"), 0u);
  EXPECT_EQ(here.stock("SUCCESS"), 1u);
}

TEST_F(EngineQueue, ATasksLifeIsInTheBooks) {
  QueueWorld& here = world(milliseconds(500), SimFaults::some());
  QueueSettings settings;
  settings.backoff = {milliseconds(100), milliseconds(100), 1, 0};
  Queue& queue = here.start(settings);
  create(queue, {"done", "retried", "shed"});
  auto taken = take(queue, 3);
  ASSERT_EQ(taken->size(), 3u);
  std::vector<Settlement> ends;
  for (auto& task : *taken) {
    const auto id = text_of(task.task, attribute::kId);
    ends.push_back(settlement(id == "done" ? Kind::kComplete : Kind::kFail, task));
  }
  for (auto& settled : here.wait(queue.settle(std::move(ends)))) ASSERT_TRUE(settled) << settled.error().message;
  here.pass(seconds(2));
  EXPECT_EQ(here.stock("SUCCESS"), 1u);
  EXPECT_EQ(here.stock("PENDING"), 2u);
  EXPECT_EQ(here.wait(queue.stats())->depth.at("PENDING"), 2u);
  const auto balance = check_balance(here.books());
  EXPECT_TRUE(balance) << balance.error().message;
}

TEST_F(EngineQueue, TasksOfClientsAreTakenAndGetWhatTheyLack) {
  QueueWorld& here = world(milliseconds(300));
  QueueSettings settings;
  settings.default_deadline = seconds(60);
  Queue& queue = here.start(settings);
  here.put_pending("theirs", here.now_ms());
  Item keyed{
      {"taskId", Value("keyed")}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(here.now_ms())}};
  keyed.set("key", Value("k"));
  here.put(std::move(keyed));
  here.pass(seconds(12));
  EXPECT_EQ(here.read("theirs").int_or("deadline", 0) > 0, true);
  EXPECT_EQ(here.read("keyed").string_or("liveKey"), "k");
  auto taken = take(queue, 2);
  EXPECT_EQ(taken->size(), 2u) << ids(taken);
}

// Takes in quick succession share a page of the index (QueryInput::may_be_old), which lacks the client's task.
TEST_F(EngineQueue, AWaitingTakeGetsAClientsTaskAlthoughAnOlderPageLacksIt) {
  QueueWorld& here = world(milliseconds(0));
  QueueSettings settings;
  settings.look_around = seconds(60);
  Queue& queue = here.start(settings);
  here.pass(seconds(5));
  here.pass(milliseconds(260 - here.now_ms() % 250));  // Pages are shared within such a time.
  EXPECT_EQ(ids(take(queue)), "") << "its page is empty";
  here.put_pending("theirs", here.now_ms());
  here.pass(milliseconds(50));
  TakeInput input;
  input.wait = seconds(30);
  auto taking = queue.take(input);
  here.pass(milliseconds(100));
  EXPECT_FALSE(taking.is_ready()) << "it has the page of before";
  here.pass(milliseconds(300));
  ASSERT_TRUE(taking.is_ready());
  EXPECT_EQ(ids(taking.take()), "theirs");
}

TEST_F(EngineQueue, AClientsTaskStartsAProcessorAtTheNextLook) {
  QueueWorld& here = world(milliseconds(300));
  QueueSettings settings;
  settings.start_topic = "Starts";
  Queue& queue = here.start(settings);
  here.pass(seconds(5));
  for (int i = 0; i < 3; ++i) {
    queue.processor_began();
    queue.processor_ended();
    here.pass(milliseconds(1'700));
    const size_t before = here.topics.published.size();
    here.put_pending("theirs" + std::to_string(i), here.now_ms());
    here.pass(milliseconds(300) + seconds(1) + milliseconds(100));
    EXPECT_EQ(here.topics.published.size(), before + 1) << "the index lags 300 ms, and the queue looks each second";
    EXPECT_EQ(take(queue)->size(), 1u);
  }
  here.put_pending("unserved", here.now_ms());
  here.pass(seconds(14));
  EXPECT_EQ(here.topics.published.size(), 5u) << "no processor comes: another Start each five seconds";
}

TEST_F(EngineQueue, LeasesOfADaemonThatDiedEndAtTheNextStart) {
  QueueWorld& here = world(milliseconds(300));
  QueueSettings settings;
  settings.lease = seconds(30);
  create(here.start(settings), {"a", "b"});
  here.pass(seconds(1));
  {
    Queue& queue = here.start(settings);
    EXPECT_EQ(ids(take(queue, 1)), "b");
    here.pass(seconds(1));
  }
  Queue& queue = here.start(settings);
  EXPECT_EQ(ids(take(queue, 2)), "b a") << "at once, not when the lease ends";
}

TEST_F(EngineQueue, ADeadlineIsKeptWithoutTtlOfTheEngine) {
  QueueWorld& here = world(milliseconds(300));
  Queue& queue = here.start();
  std::vector<NewTask> tasks(1);
  tasks[0].id = "late";
  tasks[0].deadline_in = milliseconds(1000);
  ASSERT_TRUE(here.wait(queue.create(std::move(tasks)))[0]);
  here.pass(seconds(3));
  EXPECT_EQ(here.status("late"), "SHED");
  EXPECT_EQ(ids(take(queue, 1)), "");
}

// An engine takes minutes to build an index.
TEST_F(EngineQueue, WhileAnIndexIsMadeAgainAllElseGoesOn) {
  for (const char* name : {"freshet-lane-deadline-index", "task-status-created-index"}) {
    SCOPED_TRACE(name);
    QueueWorld& here = world(milliseconds(100));
    QueueSettings settings;
    settings.lease = seconds(3);
    settings.backoff = {milliseconds(100), milliseconds(100), 1, 0};
    Queue& queue = here.start(settings);
    create(queue, {"held"});
    ASSERT_EQ(ids(take(queue)), "held");
    std::vector<NewTask> tasks(1);
    tasks[0].id = "delayed";
    tasks[0].delay = seconds(4);
    ASSERT_TRUE(here.wait(queue.create(std::move(tasks)))[0]);
    here.drop_index(name);
    here.delay_changes(seconds(180));
    here.pass(seconds(2));
    const uint64_t calls = here.store_calls();
    here.pass(seconds(8));
    EXPECT_EQ(here.status("held"), "PENDING") << "its lease has ended";
    EXPECT_EQ(here.status("delayed"), "PENDING") << "its delay has ended";
    ASSERT_NE(queue.broken(), nullptr);
    EXPECT_EQ(queue.broken()->message, "the table of queue 'QueueTable' has lost index '" + std::string(name) +
                                           "', and it is made again: try again when it is there");
    const auto taken = take(queue, 2);
    const bool is_served = std::string_view(name) == "freshet-lane-deadline-index";
    EXPECT_EQ(taken ? ids(taken) : "refused", is_served ? "delayed held" : "refused");
    EXPECT_LT(here.store_calls() - calls, 400u) << "nothing asks in vain again and again";
    here.pass(seconds(190));
    EXPECT_EQ(queue.broken() ? queue.broken()->message : "", "");
    EXPECT_EQ(ids(take(queue, 2)), "delayed held");
  }
}

// An engine bills each query, and the daemon reads the stats of each queue every second.
TEST(QueueStatsOnAnEngine, AQueueWithoutWaitingTasksAsksForNoAges) {
  QueueWorld world(true);
  Queue& queue = world.start();
  world.pass(milliseconds(300));
  const auto least_calls = [&] {  // The queue calls the store by itself, too.
    uint64_t least = 100;
    for (int i = 0; i < 20; ++i) {
      const uint64_t before = world.store_calls();
      EXPECT_TRUE(world.wait(queue.stats()));
      least = std::min(least, world.store_calls() - before);
    }
    return least;
  };
  const uint64_t for_books = least_calls();
  EXPECT_LE(for_books, 2u);
  ASSERT_TRUE(world.wait(queue.create(named({"a"})))[0]);
  world.pass(milliseconds(100));
  EXPECT_GE(least_calls(), for_books + 2) << "the newest and the oldest, too";
}

}  // namespace
}  // namespace freshet
