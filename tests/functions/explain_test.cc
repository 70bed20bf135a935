// Why a task is where it is: what the queue says of each, and what the shed log keeps. In both worlds.
#include "runtime/retry_later.h"
#include "tests/functions/processor_fixture.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class ExplainTest : public QueueFixture {
 protected:
  Explanation explain(Queue& queue, const std::string& id) {
    auto out = world.wait(queue.explain(id));
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : Explanation{};
  }
  static std::string all(const Explanation& explanation) {
    std::string out;
    for (const auto& why : explanation.why) out += why + "\n";
    return out;
  }
  static std::string line(const Explanation& explanation, size_t i = 0) {
    if (i >= explanation.log.size()) return "none";
    const Item item = explanation.log[i].decode();
    return std::string(item.string_or("what")) + " " + std::string(item.string_or("policy")) + " " +
           std::string(item.string_or("reason")) + " " + std::string(item.string_or("by")) + " depth " +
           std::to_string(item.int_or("depth", -1));
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, ExplainTest, ::testing::Bool(), store_name);

TEST_P(ExplainTest, ATaskThatWaitsHasItsPlace) {
  QueueSettings settings;
  settings.deadline_margin = DeadlineMargin::kP90;
  auto& queue = world.start(settings);
  create(queue, {"a", "b"});
  world.pass(milliseconds(100));
  create(queue, {"c"});
  world.pass(milliseconds(50));
  const auto a = explain(queue, "a");
  EXPECT_EQ(a.ahead, 1u) << "b is of the same millisecond";
  EXPECT_EQ(a.depth, 3u);
  EXPECT_GE(a.age, milliseconds(150));
  EXPECT_NE(all(a).find("takes go from the newest task: 1 come before it"), std::string::npos) << all(a);
  EXPECT_NE(all(a).find("no processor is at work"), std::string::npos) << all(a);
  EXPECT_NE(std::find(a.policy.begin(), a.policy.end(), std::pair<std::string, std::string>("DEADLINE_MARGIN", "p90")),
            a.policy.end());
  EXPECT_EQ(explain(queue, "c").ahead, 0u);
  EXPECT_TRUE(a.log.empty());
}

TEST_P(ExplainTest, EachStateSaysWhy) {
  auto& queue = world.start();
  create(queue, {"taken"});
  auto taken = take(queue);
  EXPECT_NE(all(explain(queue, "taken")).find("it is in work, attempt 1"), std::string::npos);
  auto failed = settlement(Settlement::Kind::kFail, (*taken)[0]);
  failed.error = "the disk is full";
  failed.delay = milliseconds(5'000);
  ASSERT_TRUE(settle(queue, failed));
  const auto delayed = all(explain(queue, "taken"));
  EXPECT_NE(delayed.find("the backoff after attempt 1"), std::string::npos) << delayed;
  EXPECT_NE(delayed.find("its last error: the disk is full"), std::string::npos) << delayed;
  create(queue, {"gone"});
  ASSERT_TRUE(world.wait(queue.cancel({"gone"}))[0]);
  EXPECT_EQ(all(explain(queue, "gone")), "it was cancelled\n");
  const auto none = world.wait(queue.explain("nobody"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

TEST_P(ExplainTest, AShedTaskIsExplainedAlsoWhenItIsGone) {
  auto& queue = world.start();
  create(queue, {"stays"});
  NewTask late;
  late.id = "late";
  late.deadline = world.clock.wall() + milliseconds(300);
  ASSERT_TRUE(create(queue, late));
  world.pass(milliseconds(500));
  const auto shed = explain(queue, "late");
  EXPECT_EQ(all(shed), "it was shed: deadline\n");
  EXPECT_EQ(line(shed), "shed deadline deadline timer depth 1");
  DeleteItemInput gone;
  gone.table = "QueueTable";
  gone.key.set("taskId", Value("late"));
  ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
  const auto after = explain(queue, "late");
  EXPECT_FALSE(after.task);
  EXPECT_EQ(line(after), "shed deadline deadline timer depth 1");
}

TEST_P(ExplainTest, ARefusedTaskIsExplained) {
  QueueSettings settings;
  settings.admission.max_waiting = 2;
  auto& queue = world.start(settings);
  create(queue, {"a", "b"});
  ASSERT_FALSE(create(queue, named({"c"})[0]));
  world.pass(milliseconds(100));
  const auto refused = explain(queue, "c");
  EXPECT_FALSE(refused.task);
  EXPECT_EQ(line(refused), "refused MAX_WAITING=2 max-waiting create depth 2");
  const auto stats = world.wait(queue.stats());
  EXPECT_TRUE(stats->shed.empty()) << "a refusal is no shed";
}

// A flood of refusals costs no write each.
TEST_P(ExplainTest, OfAFloodOfRefusalsSomeAreWrittenDown) {
  QueueSettings settings;
  settings.admission.max_waiting = 1;
  auto& queue = world.start(settings);
  create(queue, {"a"});
  for (int i = 0; i < 10; ++i) world.wait(queue.create(std::vector<NewTask>(100)));
  world.pass(seconds(2));
  ASSERT_FALSE(create(queue, named({"last"})[0]));
  world.pass(milliseconds(100));
  EXPECT_EQ(queue.refusals().tasks, 1001u);
  const auto lines = world.wait(queue.sheds(1000));
  ASSERT_TRUE(lines);
  EXPECT_LT(lines->size(), 60u);
  EXPECT_GE(lines->size(), 20u);
  uint64_t untold = 0;
  for (const auto& one : *lines) untold += static_cast<uint64_t>(one.decode().int_or("untold", 0));
  EXPECT_EQ(lines->size() + untold, 1001u) << "those that have no line are counted";
}

// What waits behind its delay and is hopeless by then is told so.
TEST_P(ExplainTest, ADelayedTaskPastItsDeadlineIsTooLate) {
  auto& queue = world.start();
  NewTask task;
  task.id = "later";
  task.delay = milliseconds(5'000);
  task.deadline = world.clock.wall() + milliseconds(300);
  ASSERT_TRUE(create(queue, task));
  EXPECT_EQ(all(explain(queue, "later")).find("too late"), std::string::npos);
  world.pass(milliseconds(1'000));
  const auto why = all(explain(queue, "later"));
  EXPECT_NE(why.find("it is too late for it, and it will be shed when that has come: deadline"), std::string::npos)
      << why;
}

TEST_P(ExplainTest, ADeadTaskSaysThatItsAttemptsAreUsedUp) {
  QueueSettings settings;
  settings.max_attempts = 1;
  auto& queue = world.start(settings);
  create(queue, {"a"});
  auto taken = take(queue);
  ASSERT_TRUE(settle(queue, settlement(Settlement::Kind::kFail, (*taken)[0])));
  EXPECT_EQ(all(explain(queue, "a")), "its 1 attempts are used up\n");
}

// Of 1000 with seven tenths reserved others have 300; and who is refused learns of the share.
TEST_P(ExplainTest, ARefusalNamesTheReservedShare) {
  AdmissionSettings admission;
  admission.reserved_share = 0.7;
  EXPECT_EQ(usable(1000, admission, 0), 300u);
  QueueSettings settings;
  settings.admission.max_waiting = 4;
  settings.admission.reserved_share = 0.5;
  auto& queue = world.start(settings);
  create(queue, {"a", "b"});
  const auto refused = create(queue, named({"c"})[0]);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(
                "2 tasks wait and MAX_WAITING is 4, of which tasks of its priority may use 2; at the present rate"),
            std::string::npos)
      << refused.error().message;
}

class ExplainBounceTest : public ProcessorTest {};

INSTANTIATE_TEST_SUITE_P(Stores, ExplainBounceTest, ::testing::Bool(), store_name);

TEST_P(ExplainBounceTest, ABouncedTaskIsExplained) {
  environment["MAX_ACTIVE_MS"] = "1000";
  Queue& queue = start();
  create(queue, {"a"});
  world.http.answer = [](const HttpRequest&) {
    HttpResponse response;
    response.status = 503;
    response.headers.emplace_back("retry-after", "30");
    return response;
  };
  process();
  const auto explanation = world.wait(queue.explain("a"));
  ASSERT_TRUE(explanation);
  ASSERT_EQ(explanation->log.size(), 1u);
  EXPECT_EQ(explanation->log[0].decode().string_or("what"), "bounced");
  EXPECT_EQ(explanation->log[0].decode().string_or("reason"), "the handler answered 503");
  EXPECT_EQ(queue.bounced_tasks(), 1u);
}

// A task that is next, and does not start: no slot is free, or the rate is used up.
TEST_P(ExplainBounceTest, WhatTheProcessorWaitsForIsExplained) {
  environment["CONCURRENCY"] = "2";
  environment["RATE_LIMIT"] = "0.1";
  environment["RATE_BURST"] = "2";
  world.http.duration = seconds(5);
  Queue& queue = start();
  create(queue, {"a", "b", "c"});
  Running running(world, process_tasks, environment, "{}");
  world.pass(milliseconds(1'000));
  ASSERT_EQ(world.http.in_work, 2);
  const auto explanation = world.wait(queue.explain("a"));
  ASSERT_TRUE(explanation);
  std::string why;
  for (const auto& one : explanation->why) why += one + "\n";
  EXPECT_NE(why.find("every slot of the processor is in use: CONCURRENCY is 2"), std::string::npos) << why;
  EXPECT_NE(why.find("RATE_LIMIT is used up: the next task may start in "), std::string::npos) << why;
  ASSERT_TRUE(running.outcome(world));
}

}  // namespace
}  // namespace freshet
