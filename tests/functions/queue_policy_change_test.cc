// Policies that are changed while the queue is used, and redrives that choose. In both worlds.
#include "tests/functions/queue_fixture.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

class PolicyChange : public QueueFixture {};

INSTANTIATE_TEST_SUITE_P(Stores, PolicyChange, ::testing::Bool(), store_name);

TEST_P(PolicyChange, IsReadAndChangedAndKeepsTheRest) {
  QueueSettings settings;
  settings.start_topic = "topic";
  settings.look_around = milliseconds(700);
  settings.backoff.jitter = 0.25;
  auto& queue = world.start(settings);
  create(queue, {"a", "b"});
  EXPECT_EQ(queue.policy().at("ORDER"), "lifo");
  const auto changed = queue.change_policy({{"ORDER", "fifo"}, {"MAX_WAITING", "3"}});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->at("ORDER"), "fifo");
  EXPECT_EQ(changed->at("RESERVED_SHARE"), "0.1");
  EXPECT_EQ(queue.settings().start_topic, "topic");
  EXPECT_EQ(queue.settings().look_around, milliseconds(700));
  EXPECT_EQ(queue.settings().backoff.jitter, 0.25);
  EXPECT_EQ(ids(take(queue)), "a");
  create(queue, {"c", "d"});
  EXPECT_FALSE(create(queue, named({"e"})[0]));
  ASSERT_TRUE(queue.change_policy({{"MAX_WAITING_BYTES", "100000"}}));
  ASSERT_TRUE(queue.change_policy({{"MAX_WAITING", "0"}}));
  EXPECT_EQ(queue.policy().at("RESERVED_SHARE"), "0.1") << "there is still a bound to share";
  ASSERT_TRUE(queue.change_policy({{"MAX_WAITING_BYTES", "0"}}));
  EXPECT_FALSE(queue.policy().contains("RESERVED_SHARE"));
  EXPECT_TRUE(create(queue, named({"e"})[0]));
}

TEST_P(PolicyChange, WhatContradictsOrMakesNoSenseChangesNothing) {
  auto& queue = world.start();
  const auto before = queue.policy();
  const auto error_of = [&](QueuePolicy changes) {
    const auto changed = queue.change_policy(changes);
    EXPECT_EQ(queue.policy(), before);
    return changed ? std::string() : changed.error().message;
  };
  EXPECT_EQ(error_of({{"ORDER", "fifo"}, {"RESERVED_SHARE", "0.5"}}),
            "RESERVED_SHARE and CRITICAL_PRIORITY have no effect without MAX_WAITING or MAX_WAITING_BYTES: set one of "
            "these, too");
  EXPECT_EQ(error_of({{"ORDER", "random"}}), "ORDER is 'random': it must be 'lifo', 'fifo', 'adaptive' or 'deadline'");
  EXPECT_EQ(error_of({{"MAX_WAITING", "-1"}}), "MAX_WAITING is '-1': it must be a whole number from 0 to 1000000000");
  EXPECT_EQ(error_of({{"CONCURRENCY", "adaptive"}, {"PAGE_LIMIT", "4"}}),
            "PAGE_LIMIT starts whole pages, so that CONCURRENCY=adaptive decides nothing: set one of the two");
  EXPECT_EQ(error_of({{"CONCURRENCY_MAX", "4"}}),
            "CONCURRENCY_MIN and CONCURRENCY_MAX have no effect without CONCURRENCY=adaptive: set that, too");
  EXPECT_EQ(
      error_of({{"LINGER_MS", "4"}}),
      "'LINGER_MS' is no setting that can be changed here: it holds from a start on, so write it into the queue's "
      "template");
  for (const char* name : {"RATE", "rate_limit", "RATE_LIMT", "rate-limit"}) {
    EXPECT_EQ(error_of({{name, "5"}}),
              "'" + std::string(name) + "' is no setting that can be changed here (did you mean 'RATE_LIMIT'?)");
  }
  EXPECT_NE(
      error_of({{"SPEED", "4"}}).find("'SPEED' is no setting that can be changed here: there are BACKOFF_BASE_MS,"),
      std::string::npos);
}

TEST_P(PolicyChange, AnotherMarginShedsAtOnce) {
  auto& queue = world.start();
  ASSERT_TRUE(queue.change_policy({{"DEADLINE_MARGIN", "p90"}}));
  for (int i = 0; i < 12; ++i) {
    create(queue, {"x"});
    auto taken = take(queue);
    world.pass(milliseconds(1'000));
    ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
    DeleteItemInput gone;
    gone.table = "QueueTable";
    gone.key.set("taskId", Value("x"));
    ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
  }
  ASSERT_TRUE(queue.change_policy({{"DEADLINE_MARGIN", "off"}}));
  NewTask soon;
  soon.id = "soon";
  soon.deadline = world.clock.wall() + milliseconds(900);
  ASSERT_TRUE(create(queue, soon));
  world.pass(milliseconds(100));
  EXPECT_EQ(world.status("soon"), "PENDING");
  ASSERT_TRUE(queue.change_policy({{"DEADLINE_MARGIN", "p90"}}));
  world.pass(milliseconds(1'100));
  EXPECT_EQ(world.status("soon"), "SHED");
}

// Changing settings under load: every task is done once or shed, none is lost, none has two holders.
TEST_P(PolicyChange, SwitchingUnderLoadLosesNothingAndStartsNothingTwice) {
  const std::vector<QueuePolicy> kPolicies = {
      {{"ORDER", "fifo"}},          {{"ORDER", "lifo"}},
      {{"ORDER", "adaptive"}},      {{"ORDER", "deadline"}},
      {{"DEADLINE_MARGIN", "p90"}}, {{"DEADLINE_MARGIN", "yield"}, {"ORDER", "adaptive"}},
      {{"DEADLINE_MARGIN", "off"}}, {{"MAX_WAITING", "20"}},
      {{"MAX_WAITING", "0"}},       {{"MAX_WAITING_BYTES", "3000"}},
      {{"MAX_WAITING_BYTES", "0"}}, {{"REFUSE_LATE", "on"}},
      {{"REFUSE_LATE", "off"}},     {{"MAX_ATTEMPTS", "3"}, {"BACKOFF_BASE_MS", "10"}}};
  for (const auto seed : test_seeds(5)) {
    SCOPED_TRACE(seed);
    QueueWorld fresh(GetParam(), seed);
    Random random(seed);
    auto& queue = fresh.start();
    std::map<std::string, int> starts;
    std::vector<TakenTask> held;
    uint64_t created = 0, ended = 0;
    for (int step = 0; step < 300; ++step) {
      ASSERT_TRUE(queue.change_policy(kPolicies[random.below(kPolicies.size())]));
      std::vector<NewTask> tasks(random.below(6));
      for (auto& task : tasks) {
        if (random.below(3) == 0) task.deadline = fresh.clock.wall() + milliseconds(random.below(400) + 1);
        if (random.below(3) == 0) task.group = "g" + std::to_string(random.below(4));
      }
      for (auto& made : fresh.wait(queue.create(std::move(tasks)))) created += made && made->created;
      // Two takers at once.
      TakeInput input;
      input.max = static_cast<int>(random.below(4)) + 1;
      auto first = queue.take(input);
      auto second = queue.take(input);
      auto one = fresh.wait(std::move(first));
      auto other = fresh.wait(std::move(second));
      for (auto* taken : {&one, &other}) {
        ASSERT_TRUE(*taken);
        for (auto& task : **taken) {
          EXPECT_EQ(++starts[std::string(task.task.decode().string_or("taskId"))], 1);
          held.push_back(std::move(task));
        }
      }
      while (held.size() > random.below(8)) {
        std::vector<Settlement> done;
        done.push_back(settlement(Kind::kComplete, held.back()));
        held.pop_back();
        ended += fresh.wait(queue.settle(std::move(done)))[0].has_value();
      }
      fresh.pass(milliseconds(random.below(30)));
    }
    EXPECT_EQ(fresh.stock("SUCCESS"), ended);
    EXPECT_EQ(fresh.stock("TAKEN"), held.size());
    uint64_t stock = 0;
    for (const auto& [status, count] : fresh.books().stock) stock += count;
    EXPECT_EQ(stock, created);
    EXPECT_TRUE(check_balance(fresh.books()));
  }
}

TEST_P(PolicyChange, ARedriveChoosesByAttributes) {
  auto& queue = world.start();
  for (int i = 0; i < 30; ++i) {
    NewTask task;
    task.id = "t" + std::to_string(i);
    task.group = i % 3 == 0 ? "eu" : "us";
    task.attributes.set("tries", Value::number(i % 2));
    ASSERT_TRUE(create(queue, task));
    ASSERT_TRUE(world.wait(queue.cancel({task.id}))[0]);
  }
  RedriveInput input;
  input.state = "CANCELLED";
  input.where = {{"group", "eu"}, {"tries", "1"}};
  input.limit = 3;
  EXPECT_EQ(*world.wait(queue.redrive(input)), 3u);
  input.limit = 100;
  EXPECT_EQ(*world.wait(queue.redrive(input)), 2u);
  EXPECT_EQ(world.stock("PENDING"), 5u);
  EXPECT_EQ(*world.wait(queue.redrive(input)), 0u);
  input.where = {{"nothing", "1"}};
  EXPECT_EQ(*world.wait(queue.redrive(input)), 0u);
  input.ids = {"t0", "t1"};
  input.where = {{"group", "us"}};
  EXPECT_EQ(*world.wait(queue.redrive(input)), 1u);
  EXPECT_EQ(world.status("t1"), "PENDING");
}

TEST(Redrive, SaysHowManyItMovedBeforeTheStoreWasFull) {
  QueueWorld world(true);
  Queue& queue = world.start();
  for (const char* id : {"a", "b", "c", "d"}) {
    NewTask task;
    task.id = id;
    ASSERT_TRUE(world.wait(queue.create({task}))[0]);
    ASSERT_TRUE(world.wait(queue.cancel({id}))[0]);
  }
  world.refuse_edits(true);
  EXPECT_EQ(world.wait(queue.redrive({"CANCELLED", {}, 10, {}})).error().message, "full");
  for (const char* moved :
       {"full (1 task was put back to PENDING before that)", "full (2 tasks were put back to PENDING before that)"}) {
    world.refuse_edits(true, moved[6] - '0');
    const auto refused = world.wait(queue.redrive({"CANCELLED", {}, 10, {}}));
    EXPECT_EQ(refused.error().code, ErrorCode::kThroughputExceeded);
    EXPECT_EQ(refused.error().message, moved);
  }
  world.refuse_edits(false);
  EXPECT_EQ(world.stock("PENDING"), 3u);
  EXPECT_EQ(*world.wait(queue.redrive({"CANCELLED", {}, 10, {}})), 1u);
}

}  // namespace
}  // namespace freshet
