// Why a task is where it is: what the queue says of each, and what the shed log keeps. In both worlds.
#include "functions/queue/attributes.h"
#include "functions/queue_states.h"
#include "runtime/api/retry_later.h"
#include "tests/functions/explain_fixture.h"
#include "tests/functions/processor_fixture.h"

namespace freshet {
namespace {

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
  EXPECT_EQ(a.ahead, 2u) << "c is newer, and b of the same millisecond came after it";
  EXPECT_EQ(a.depth, 3u);
  EXPECT_GE(a.age, milliseconds(150));
  EXPECT_NE(all(a).find("the newest task is taken first: 2 come before it"), std::string::npos) << all(a);
  EXPECT_NE(all(a).find("the queue has no task runner (TASK_RUNNER=none), and no worker waits for a task"),
            std::string::npos)
      << all(a);
  EXPECT_NE(std::find(a.policy.begin(), a.policy.end(), std::pair<std::string, std::string>("DEADLINE_MARGIN", "p90")),
            a.policy.end());
  const auto c = explain(queue, "c");
  EXPECT_EQ(c.ahead, 0u);
  EXPECT_NE(all(c).find("the newest task is taken first: none comes before it"), std::string::npos) << all(c);
  EXPECT_TRUE(a.log.empty());
}

// Under ORDER=adaptive the end depends on what takes found, and on nothing else.
TEST_P(ExplainTest, ALookDoesNotChangeTheEndThatTheNextTakeUses) {
  QueueSettings settings;
  settings.order = Order::kAdaptive;
  auto& queue = world.start(settings);
  create(queue, {"old"});
  world.pass(milliseconds(10));
  create(queue, {"new"});
  EXPECT_NE(all(explain(queue, "old")).find("the oldest task is taken first, as the queue drains"), std::string::npos);
  ASSERT_TRUE(world.wait(queue.has_work()));
  world.pass(milliseconds(150));
  const auto taken = take(queue);
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->size(), 1u);
  EXPECT_EQ(text_of(taken->at(0).task, attribute::kId), "old");
}

// A take of all says in which order they go: the number before each is its place there, tasks of one millisecond
// included.
TEST_P(ExplainTest, TheNumberBeforeATaskIsItsPlaceInATakeOfAll) {
  struct Case {
    const char* name;
    Order order;
    bool lanes;
    bool deadlines;
  };
  for (const Case& each :
       {Case{"lifo", Order::kNewestFirst, false, false}, Case{"fifo", Order::kOldestFirst, false, false},
        Case{"lanes", Order::kNewestFirst, true, false}, Case{"deadline", Order::kDeadline, false, true},
        Case{"deadline in lanes", Order::kDeadline, true, true}}) {
    SCOPED_TRACE(each.name);
    QueueWorld other(GetParam());
    QueueSettings settings;
    settings.order = each.order;
    settings.deadline_margin = DeadlineMargin::kOff;
    auto& queue = other.start(settings);
    for (int i = 0; i < 12; ++i) {
      NewTask task;
      task.id = "t" + std::to_string((i * 7) % 12);  // The order of the names is another one.
      if (each.lanes) task.group = "g";
      if (each.deadlines && i % 4 != 3) task.deadline = other.clock.wall() + seconds(1 + i % 3);
      ASSERT_TRUE(other.wait(queue.create({task})).at(0));
      if (i % 5 == 4) other.pass(milliseconds(10));
    }
    std::map<std::string, uint64_t> ahead;
    for (int i = 0; i < 12; ++i) {
      const auto id = "t" + std::to_string(i);
      const auto out = other.wait(queue.explain(id));
      ASSERT_TRUE(out && out->ahead) << id;
      ahead[id] = *out->ahead;
    }
    TakeInput all;
    all.max = 12;
    const auto taken = other.wait(queue.take(all));
    ASSERT_EQ(taken->size(), 12u);
    for (uint64_t i = 0; i < 12; ++i) {
      const std::string id((*taken)[i].task.decode().string_or("taskId"));
      EXPECT_EQ(ahead[id], i) << id;
    }
  }
}

// Python's time.time() * 1000 has a fraction.
TEST_P(ExplainTest, ADeadlineWithAFractionIsExplained) {
  QueueSettings settings;
  settings.order = Order::kDeadline;
  settings.deadline_margin = DeadlineMargin::kOff;
  auto& queue = world.start(settings);
  for (int i = 0; i < 2; ++i) {
    const int64_t deadline = world.now_ms() + 60'000 + i;
    world.put(Item{{"taskId", Value("t" + std::to_string(i))},
                   {"taskStatus", Value("PENDING")},
                   {"taskCreated", Value::number(world.now_ms())},
                   {"deadline", Value(*Decimal::parse(std::to_string(deadline) + ".45"))}});
  }
  world.pass(milliseconds(100));
  EXPECT_EQ(explain(queue, "t0").ahead, 0u);
  EXPECT_EQ(explain(queue, "t1").ahead, 1u);
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
  EXPECT_EQ(all(shed), "it was shed: it had not started by its deadline\n");
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

// A flood of refusals costs no line each, or it would push the sheds out of the ring.
TEST_P(ExplainTest, AFloodOfRefusalsIsOneLineThatCounts) {
  QueueSettings settings;
  settings.admission.max_waiting = 1;
  auto& queue = world.start(settings);
  create(queue, {"a"});
  for (int i = 0; i < 10; ++i) world.wait(queue.create(std::vector<NewTask>(100)));
  world.pass(seconds(2));
  ASSERT_FALSE(create(queue, named({"last"})[0]));
  world.pass(seconds(2));
  EXPECT_EQ(queue.refusals().tasks, 1001u);
  const auto lines = world.wait(queue.sheds(1000));
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 1u);
  const Item line = (*lines)[0].decode();
  EXPECT_EQ(line.int_or("count", 0), 1001);
  EXPECT_EQ(line.int_or("untold", 0), 1000);
  EXPECT_GE(line.int_or("until", 0), line.int_or("at", 0) + 2'000);
  EXPECT_EQ(explain(queue, "last").log.size(), 1u) << "the line names it";
}

// A minute without any is the end of a spell; and a daemon that stops leaves nothing uncounted.
TEST_P(ExplainTest, ASpellEndsAfterAMinute) {
  QueueSettings settings;
  settings.admission.max_waiting = 1;
  auto& queue = world.start(settings);
  create(queue, {"a"});
  ASSERT_FALSE(create(queue, named({"b"})[0]));
  world.pass(seconds(50));
  ASSERT_FALSE(create(queue, named({"c"})[0]));
  world.pass(seconds(61));
  ASSERT_FALSE(create(queue, named({"d"})[0]));
  ASSERT_FALSE(create(queue, named({"e"})[0]));
  const auto released = queue.release_held();
  world.pass(seconds(2));
  EXPECT_TRUE(released.is_ready());
  const auto lines = world.wait(queue.sheds(1000));
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].decode().int_or("count", 0), 2);
  EXPECT_EQ((*lines)[1].decode().int_or("count", 0), 2);
}

TEST_P(ExplainTest, ALineThatTheStoreRefusedIsWrittenLater) {
  QueueSettings settings;
  settings.admission.max_waiting = 1;
  auto& queue = world.start(settings);
  create(queue, {"a"});
  auto table = world.wait(world.store->delete_table(std::string(kQueueStates)));
  ASSERT_TRUE(table);
  ASSERT_FALSE(create(queue, named({"b"})[0]));
  world.pass(milliseconds(100));
  ASSERT_TRUE(world.wait(world.store->create_table(table->definition)));
  world.pass(seconds(5));
  EXPECT_EQ(explain(queue, "b").log.size(), 1u);
}

// Tasks that the sweep removed are read from the stream and reported once, however soon the daemon ends.
TEST_P(ExplainTest, ARestartTellsNoShedAgain) {
  world.start();
  for (int life = 1; life <= 3; ++life) {
    Queue& queue = *world.queues->find_queue("QueueTable");
    NewTask brief;
    brief.id = "brief" + std::to_string(life);
    brief.ttl = milliseconds(1);
    brief.delay = seconds(60);
    ASSERT_TRUE(create(queue, brief));
    for (int i = 0; i < 10'000 && world.wait(queue.sheds(100))->size() < static_cast<size_t>(life); ++i) {
      world.pass(milliseconds(10));
    }
    Queue& again = world.start();
    EXPECT_EQ(world.wait(again.sheds(100))->size(), static_cast<size_t>(life));
    EXPECT_EQ(world.wait(again.stats())->shed_total, static_cast<uint64_t>(life));
  }
}

// A table that is made again under the same name has shed nothing yet.
TEST_P(ExplainTest, ANewTableCountsFromZero) {
  auto& queue = world.start();
  NewTask late;
  late.deadline = world.clock.wall() + milliseconds(100);
  ASSERT_TRUE(create(queue, late));
  world.pass(seconds(1));
  EXPECT_EQ(world.wait(queue.stats())->shed, (std::map<std::string, uint64_t>{{"deadline", 1}}));
  ASSERT_TRUE(world.wait(world.store->delete_table("QueueTable")));
  world.pass(seconds(2));
  ASSERT_TRUE(world.wait(world.store->create_table(queue_table())));
  world.pass(seconds(5));
  NewTask brief;
  brief.ttl = milliseconds(1);
  ASSERT_TRUE(create(queue, brief));
  world.pass(seconds(5));
  EXPECT_EQ(world.wait(queue.stats())->shed, (std::map<std::string, uint64_t>{{"ttl", 1}}));
}

// One that a client puts with a deadline in seconds is shed at once: it says what to write.
TEST_P(ExplainTest, ADeadlineInSecondsIsNamed) {
  auto& queue = world.start();
  world.put(Item{{"taskId", Value("seconds")},
                 {"taskStatus", Value("PENDING")},
                 {"taskCreated", Value::number(world.now_ms())},
                 {"deadline", Value::number(1'800'000'100)}});
  world.pass(milliseconds(1'500));
  const auto said = explain(queue, "seconds");
  EXPECT_EQ(codes(said), "shed early-deadline");
  EXPECT_NE(all(said).find("if it is in seconds, which would be 2027-01-15, write 1800000100000"), std::string::npos)
      << all(said);
}

// A client may write SHED by itself: that is no shed of the queue's.
TEST_P(ExplainTest, AClientsOwnMoveIsNoShed) {
  auto& queue = world.start();
  world.put(
      Item{{"taskId", Value("a")}, {"taskStatus", Value("SHED")}, {"taskCreated", Value::number(world.now_ms())}});
  const auto stats = world.wait(queue.stats());
  EXPECT_EQ(stats->depth.at("SHED"), 1u);
  EXPECT_EQ(stats->shed_total, 0u);
  EXPECT_TRUE(stats->shed.empty());
}

// A task that waits for its delay and will then be hopeless is explained as such.
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
  EXPECT_NE(why.find("it is too late, and will be shed when its delay is over: deadline"), std::string::npos) << why;
}

TEST_P(ExplainTest, ADeadTaskSaysThatItsAttemptsAreUsedUp) {
  QueueSettings settings;
  settings.max_attempts = 1;
  auto& queue = world.start(settings);
  create(queue, {"a"});
  auto taken = take(queue);
  ASSERT_TRUE(settle(queue, settlement(Settlement::Kind::kFail, (*taken)[0])));
  EXPECT_EQ(all(explain(queue, "a")), "its only attempt is used up; `freshet redrive` puts it back\n");
}

// With a reserved share of seven tenths, 300 of 1000 remain for others; the refusal names the share.
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

// The life of a task in order, with what became of each attempt.
TEST_P(ExplainTest, TheProcessorOfTheQueueIsNotNamed) {
  auto& queue = world.start();
  create(queue, {"a"});
  TakeInput input;
  input.owner = "process_tasks";
  ASSERT_EQ(world.wait(queue.take(std::move(input)))->size(), 1u);
  const auto taken = explain(queue, "a");
  EXPECT_EQ(taken.life.back().what.message, "taken: attempt 1");
  EXPECT_NE(all(taken).find("it is in work, attempt 1\n"), std::string::npos) << all(taken);
}

// A status that a client misspelt, or made up, is called so; and so is what else keeps a task from being served.
TEST_P(ExplainTest, AStatusThatIsNoneOfOursIsCalledSo) {
  auto& queue = world.start();
  const auto put = [&](const char* id, Value status) {
    world.put(
        Item{{"taskId", Value(id)}, {"taskStatus", std::move(status)}, {"taskCreated", Value::number(world.now_ms())}});
  };
  put("small", Value("pending"));
  put("waiting", Value("WAITING"));
  put("blank", Value("taken "));
  world.put(Item{{"taskId", Value("none")}});
  world.put(Item{{"taskId", Value("undated")}, {"taskStatus", Value("PENDING")}});
  world.pass(milliseconds(500));
  EXPECT_EQ(all(explain(queue, "small")),
            "its taskStatus is \"pending\", which is none of PENDING, DELAYED, TAKEN, SUCCESS, FAILURE, DEAD, SHED, "
            "CANCELLED: nobody will take it; write PENDING\n");
  EXPECT_EQ(codes(explain(queue, "small")), "unknown-status");
  EXPECT_NE(all(explain(queue, "waiting")).find("\"WAITING\", which is none of"), std::string::npos);
  EXPECT_NE(all(explain(queue, "blank")).find("write TAKEN"), std::string::npos) << all(explain(queue, "blank"));
  EXPECT_EQ(codes(explain(queue, "none")), "no-status");
  EXPECT_NE(codes(explain(queue, "undated")).find("no-created"), std::string::npos) << codes(explain(queue, "undated"));
  EXPECT_EQ(queue.unserved(), 3u) << "small, blank and undated; WAITING may be a client's own state";
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
  ASSERT_EQ(explanation->log.size(), 1u) << "an outage is one line";
  EXPECT_EQ(explanation->log[0].decode().string_or("what"), "bounced");
  EXPECT_EQ(explanation->log[0].decode().string_or("reason"), "the handler answered 503");
  EXPECT_EQ(queue.bounced_tasks(), 1u);
}

// An outage is one line of the shed log, and explain names the runner, for tasks that were not bounced, too.
TEST_P(ExplainBounceTest, AnUnreachableRunnerIsNamed) {
  environment["MAX_ACTIVE_MS"] = "20000";
  Queue& queue = start();
  create(queue, {"a", "b"});
  world.http.answer = [](const HttpRequest&) -> Result<HttpResponse> {
    return never_sent(ErrorCode::kUnavailable, "no connection to handler:80: Connection refused");
  };
  Running running(world, process_tasks, environment, "{}");
  world.pass(seconds(15));
  const auto lines = world.wait(queue.sheds(1000));
  ASSERT_EQ(lines->size(), 1u);
  EXPECT_GE((*lines)[0].decode().int_or("count", 0), 15) << "one half a second";
  const auto said = world.wait(queue.explain("a"));
  ASSERT_TRUE(said);
  const auto why = sentences(*said);
  const auto runner = std::find_if(why.begin(), why.end(), [](const std::string& one) {
    return one.starts_with(
        "the task runner http://handler/work cannot be reached: no connection to handler:80: "
        "Connection refused (");
  });
  EXPECT_NE(runner, why.end());
  EXPECT_TRUE(std::any_of(said->life.begin(), said->life.end(),
                          [](const LifeEvent& event) { return event.what.code == "bounced"; }));
  const auto stats = world.wait(queue.stats());
  ASSERT_TRUE(stats->runner_trouble);
  EXPECT_EQ(stats->runner_trouble->runner, "http://handler/work");
  EXPECT_FALSE(stats->runner_trouble->reachable);
  EXPECT_EQ(stats->runner_trouble->bounces, queue.bounced_tasks());
  DeleteItemInput gone;
  gone.table = "QueueTable";
  gone.key.set("taskId", Value("b"));
  ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
  const auto deleted = world.wait(queue.explain("b"));
  ASSERT_TRUE(deleted) << "the line of the outage names it";
  ASSERT_EQ(deleted->life.size(), 1u);
  EXPECT_TRUE(deleted->life[0].what.message.starts_with("the task runner handed back this task, "))
      << deleted->life[0].what.message;
  create(queue, {"late"});
  world.pass(seconds(2));
  const auto late = world.wait(queue.explain("late"));
  ASSERT_TRUE(late);
  ASSERT_GE(late->life.size(), 2u);
  EXPECT_EQ(late->life[0].what.code, "created") << "the outage began before it came";
  EXPECT_EQ(late->life[1].what.code, "bounced");
  EXPECT_FALSE(world.wait(queue.explain("nobody"))) << "an outage says nothing about a task that never was";
  world.http.answer = [](const HttpRequest&) { return HttpResponse{}; };
  ASSERT_TRUE(running.outcome(world));
  EXPECT_FALSE(world.wait(queue.stats())->runner_trouble) << "it takes tasks again";
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
  for (const auto& one : sentences(*explanation)) why += one + "\n";
  EXPECT_NE(why.find("every slot of the processor is in use: CONCURRENCY is 2"), std::string::npos) << why;
  EXPECT_NE(why.find("RATE_LIMIT is used up: the next task may start in "), std::string::npos) << why;
  ASSERT_TRUE(running.outcome(world));
}

}  // namespace
}  // namespace freshet
