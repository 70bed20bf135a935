// process_tasks, trigger, create_tasks and the runners, in both worlds.
#include "functions/queue/policy/service_time.h"
#include "functions/runners/http_runner.h"
#include "functions/runners/limit_headers.h"
#include "tables/value/json.h"
#include "tests/functions/processor_fixture.h"
#include "tests/sim/log_capture.h"

namespace freshet {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, ProcessorTest, ::testing::Values(false, true),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

TEST_P(ProcessorTest, WorksNewestFirstAndKeepsResults) {
  Queue& queue = start();
  create(queue, {"a", "b", "c"});
  world.http.answer = [](const HttpRequest&) {
    HttpResponse response;
    response.body = "{\"ok\":true}";
    return response;
  };
  EXPECT_EQ(process(),
            "{\"taken\":3,\"succeeded\":3,\"failed\":0,\"bounced\":0,\"shed\":0,\"lost\":0,\"tailCall\":false}");
  EXPECT_EQ(order(), "c b a");
  EXPECT_TRUE(world.read("a").find("result")->get_if<Map>()->contains("ok"));
  EXPECT_EQ(world.stock("SUCCESS"), 3u);
  EXPECT_EQ(world.http.urls[0], "http://handler/work");
  EXPECT_EQ(world.http.requests[0].target, "/work");
  EXPECT_EQ(world.http.timeouts[0], milliseconds(60'000));
}

TEST_P(ProcessorTest, TheHandlerSeesTheTaskAsPlainJson) {
  Queue& queue = start();
  NewTask task;
  task.id = "t";
  task.payload = Value(Map{{"n", Value::number(7)}});
  task.attributes.set("color", Value("red"));
  world.wait(queue.create({task}));
  process();
  auto seen = parse_plain_json(world.http.requests[0].body);
  ASSERT_TRUE(seen) << world.http.requests[0].body;
  const auto& map = *seen->get_if<Map>();
  EXPECT_EQ(map.string_or("taskId"), "t");
  EXPECT_EQ(map.int_or("attempt", 0), 1);
  EXPECT_EQ(map.find("payload")->get_if<Map>()->int_or("n", 0), 7);
  EXPECT_EQ(map.string_or("color"), "red");
  EXPECT_EQ(map.string_or("lease"), "n:life1:1");
  EXPECT_GT(map.int_or("taskCreated", 0), 0);
}

TEST_P(ProcessorTest, FillsFreeSlotsWithTheNewestWithoutABarrier) {
  environment["CONCURRENCY"] = "2";
  Queue& queue = start();
  create(queue, {"a", "b", "c"});
  world.http.duration = milliseconds(1'000);
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(500));
  create(queue, {"d"});
  world.pass(milliseconds(10'000));
  ASSERT_TRUE(running.ended());
  EXPECT_EQ(order(), "c b d a");
  EXPECT_EQ(world.http.most_in_work, 2);
}

TEST_P(ProcessorTest, AHandlerThatRedirectsIsToldWithItsAddress) {
  Queue& queue = start();
  create(queue, {"moved"});
  world.http.answer = [](const HttpRequest&) {
    HttpResponse response;
    response.status = 302;
    response.headers.emplace_back("Location", "https://api.example/new");
    return response;
  };
  process();
  EXPECT_EQ(world.read("moved").string_or("error"),
            "the handler answered 302 and sends on to https://api.example/new: name that address, as redirects are not "
            "followed");
}

TEST_P(ProcessorTest, FailuresBackOffAndBouncesGiveTheAttemptBack) {
  environment["MAX_ACTIVE_MS"] = "5000";  // The handler wants to be left alone for longer: nothing happens till then.
  Queue& queue = start();
  create(queue, {"bounces", "fails"});
  world.http.answer = [](const HttpRequest& request) {
    HttpResponse response;
    bool bounces = request.body.find("\"bounces\"") != std::string::npos;
    response.status = bounces ? 429 : 500;
    if (bounces) response.headers.emplace_back("retry-after", "30");
    response.body = "no\n";
    return response;
  };
  EXPECT_EQ(process(),
            "{\"taken\":2,\"succeeded\":0,\"failed\":1,\"bounced\":1,\"shed\":0,\"lost\":0,\"tailCall\":false}");
  Item fails = world.read("fails");
  EXPECT_EQ(fails.string_or("taskStatus"), "DELAYED");
  EXPECT_EQ(fails.int_or("attempt", -1), 1);
  EXPECT_EQ(fails.string_or("error"), "the handler answered 500: no");
  EXPECT_NEAR(static_cast<double>(fails.int_or("notBefore", 0) - world.now_ms()), 55'000, 1'000);
  Item bounces = world.read("bounces");
  EXPECT_EQ(bounces.string_or("taskStatus"), "DELAYED");
  EXPECT_EQ(bounces.int_or("attempt", -1), 0);
  EXPECT_NEAR(static_cast<double>(bounces.int_or("notBefore", 0) - world.now_ms()), 25'000, 1'000);
}

TEST_P(ProcessorTest, AHandlerThatAsksToBeLeftAloneIs) {
  environment["CONCURRENCY"] = "4";
  environment["MAX_ACTIVE_MS"] = "20000";
  Queue& queue = start();
  create(queue, {"a", "b", "c", "d", "e", "f", "g", "h"});
  const auto begun = world.now_ms();
  std::vector<int64_t> calls;
  world.http.answer = [&](const HttpRequest&) {
    calls.push_back(world.now_ms() - begun);
    HttpResponse response;
    response.status = calls.size() == 1 ? 429 : 200;
    if (calls.size() == 1) response.headers.emplace_back("retry-after", "10");
    return response;
  };
  process();
  ASSERT_EQ(calls.size(), 9u);
  EXPECT_LT(calls[3], 1'000) << "those that had begun go on";
  EXPECT_GE(calls[4], 10'000) << "no other of the queue's tasks is started before";
  EXPECT_EQ(world.stock("SUCCESS"), 8u);
}

TEST_P(ProcessorTest, FailuresAreFinalOnRequest) {
  environment["ON_FAILURE"] = "fail";
  Queue& queue = start();
  create(queue, {"a"});
  world.http.answer = [](const HttpRequest&) { return fail(ErrorCode::kTimeout, "no answer within 60000 ms"); };
  process();
  EXPECT_EQ(world.status("a"), "FAILURE");
  EXPECT_EQ(world.read("a").string_or("error"), "no answer within 60000 ms");
}

TEST_P(ProcessorTest, StopsPickingInTimeAndCallsItsTail) {
  environment["MAX_ACTIVE_MS"] = "2500";
  Queue& queue = start();
  create(queue, {"a", "b", "c", "d", "e"});
  world.http.duration = milliseconds(1'000);
  auto report = process();
  EXPECT_EQ(report, "{\"taken\":3,\"succeeded\":3,\"failed\":0,\"bounced\":0,\"shed\":0,\"lost\":0,\"tailCall\":true}");
  ASSERT_EQ(world.topics.published.size(), 1u);
  EXPECT_EQ(world.topics.published[0].topic_arn, "trigger");
  EXPECT_EQ(world.topics.published[0].message, "Start");
}

TEST_P(ProcessorTest, LingersForNewWork) {
  environment["LINGER_MS"] = "5000";
  Queue& queue = start();
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(4'000));
  create(queue, {"a"});
  world.pass(milliseconds(100));
  EXPECT_EQ(world.status("a"), "SUCCESS");
  world.pass(milliseconds(4'000));
  EXPECT_FALSE(running.ended());
  world.pass(milliseconds(2'000));
  EXPECT_TRUE(running.ended());
}

TEST_P(ProcessorTest, TheFakeRunnerBouncesBeyondItsSlotsInPages) {
  environment["TASK_RUNNER"] = "fake";
  environment["PAGE_LIMIT"] = "10";
  environment["FAKE_MS"] = "15000";
  Queue& queue = start();
  create(queue, {"a", "b", "c", "d", "e"});
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(1'000));
  EXPECT_EQ(world.stock("TAKEN"), 3u);
  EXPECT_EQ(world.stock("PENDING"), 2u) << "no other page before this one has ended";
  EXPECT_EQ(world.status("a"), "PENDING");
  EXPECT_EQ(world.read("a").int_or("attempt", -1), 0);
  world.pass(milliseconds(40'000));
  ASSERT_TRUE(running.ended());
  EXPECT_EQ(world.stock("SUCCESS"), 5u);
  EXPECT_EQ(*world.read("a").find("result"), Value(Map{{"fake", Value::boolean(true)}}))
      << "nobody takes it for real work";
}

TEST_P(ProcessorTest, ABounceDoesNotSpin) {
  environment["TASK_RUNNER"] = "fake";
  environment["CONCURRENCY"] = "10";
  environment["FAKE_SLOTS"] = "1";
  environment["FAKE_MS"] = "2000";
  Queue& queue = start();
  create(queue, {"a", "b"});
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(1'900));
  auto books = world.books();
  EXPECT_LE((books.flow[{"PENDING", "TAKEN", Cause::kQueue}]), 7u);
  world.pass(milliseconds(10'000));
  EXPECT_EQ(world.stock("SUCCESS"), 2u);
}

TEST_P(ProcessorTest, HeartbeatsKeepLongWorkAndACancelEndsIt) {
  environment["LEASE_MS"] = "3000";
  Queue& queue = start();
  create(queue, {"a"});
  world.http.duration = seconds(60);
  Running running(world, process_tasks, environment);
  world.pass(seconds(20));
  EXPECT_EQ(world.status("a"), "TAKEN");
  EXPECT_EQ(world.http.requests.size(), 1u) << "never taken again";
  EXPECT_GT(world.read("a").int_or("leaseBeat", 0), 15);
  world.wait(queue.cancel({"a"}));
  world.pass(seconds(2));
  EXPECT_EQ(world.status("a"), "CANCELLED");
  EXPECT_EQ(world.http.in_work, 0) << "the request is abandoned";
}

TEST_P(ProcessorTest, TransitionsOfASmallFlowAreInTheLog) {
  Queue& queue = start();
  LogCapture lines;
  EventLog log(world.clock, lines, LogLevel::kInfo);
  create(queue, {"a"});
  EXPECT_EQ(process(log),
            "{\"taken\":1,\"succeeded\":1,\"failed\":0,\"bounced\":0,\"shed\":0,\"lost\":0,\"tailCall\":false}");
  EXPECT_EQ(lines.count("TRANSITION_TASK"), 2u);
  EXPECT_EQ(lines.count(R"("function":")"), lines.lines.size()) << "so that logs finds them by their function";
  EXPECT_EQ(lines.count(R"("fromTaskStatus":"TAKEN","toTaskStatus":"SUCCESS")"), 1u);
  world.wait(queue.create(std::vector<NewTask>(100)));
  process(log);
  EXPECT_EQ(world.stock("SUCCESS"), 101u);
  EXPECT_LT(lines.count("TRANSITION_TASK"), 200u) << "a large one does not drown the rest";
}

TEST_P(ProcessorTest, AHandlerThatCannotBeReachedCostsNoAttempt) {
  environment["MAX_ATTEMPTS"] = "2";
  environment["CONCURRENCY"] = "4";
  Queue& queue = start();
  create(queue, {"a", "b", "c", "d", "e", "f"});
  world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "cannot connect"); };
  Running running(world, process_tasks, environment);
  world.pass(seconds(10));
  EXPECT_EQ(world.stock("PENDING") + world.stock("TAKEN"), 6u);
  EXPECT_GE(world.http.requests.size(), 2u * 4) << "it is tried again";
  EXPECT_LE(world.http.requests.size(), 22u * 4) << "but not in a hot loop";
  world.http.answer = [](const HttpRequest&) { return HttpResponse{}; };
  world.pass(seconds(2));
  EXPECT_EQ(world.stock("SUCCESS"), 6u);
  EXPECT_EQ(world.read("a").int_or("attempt", -1), 1);
}

TEST_P(ProcessorTest, AnAnswerThatDoesNotComeCostsAnAttempt) {
  Queue& queue = start();
  create(queue, {"a"});
  world.http.answer = [](const HttpRequest&) { return fail(ErrorCode::kUnavailable, "connection reset"); };
  process();
  EXPECT_EQ(world.status("a"), "DELAYED");
  EXPECT_EQ(world.read("a").int_or("attempt", -1), 1);
}

// Heartbeats see the cancel while the claims are not durable yet.
TEST(ProcessorStartTest, TasksThatAreCancelledBeforeTheirStartAreNotStarted) {
  QueueWorld world(true);
  Environment environment{{"QUEUE_TABLE", "QueueTable"},
                          {"TASK_RUNNER", "http://handler/work"},
                          {"LEASE_MS", "300"},
                          {"CONCURRENCY", "8"},
                          {"LINGER_MS", "60000"}};
  Queue& queue = world.start(process_settings(environment)->queue);
  Running running(world, process_tasks, environment);
  world.pass(seconds(1));
  world.delay_durable(seconds(3));
  world.wait(queue.create(named({"a", "b", "c", "d"})));
  world.pass(milliseconds(400));
  EXPECT_EQ(world.stock("TAKEN"), 4u);
  world.wait(queue.cancel({"a", "b", "c"}));
  world.pass(seconds(10));
  EXPECT_EQ(world.stock("CANCELLED"), 3u);
  EXPECT_EQ(world.status("d"), "SUCCESS") << "its lease was kept";
  EXPECT_EQ(world.read("d").int_or("attempt", -1), 1);
  EXPECT_EQ(world.http.requests.size(), 1u);
}

TEST(ProcessorStartTest, TasksThatNeverStartedGoBackWithTheirAttempt) {
  QueueWorld world(true);
  Environment environment{
      {"QUEUE_TABLE", "QueueTable"}, {"TASK_RUNNER", "http://handler/work"}, {"LINGER_MS", "60000"}};
  Queue& queue = world.start(process_settings(environment)->queue);
  auto running = std::make_unique<Running>(world, process_tasks, environment);
  world.pass(seconds(1));
  world.delay_durable(seconds(3));
  world.wait(queue.create(named({"a"})));
  world.pass(milliseconds(400));
  EXPECT_EQ(world.status("a"), "TAKEN");
  running.reset();
  world.pass(seconds(1));
  EXPECT_EQ(world.status("a"), "PENDING");
  EXPECT_EQ(world.read("a").int_or("attempt", -1), 0);
}

TEST_P(ProcessorTest, WhatATimeoutCutsOffIsAFailedAttempt) {
  Queue& queue = start();
  create(queue, {"a"});
  world.http.duration = seconds(60);
  auto running = std::make_unique<Running>(world, process_tasks, environment);
  world.pass(seconds(1));
  EXPECT_EQ(world.status("a"), "TAKEN");
  running.reset();
  world.pass(seconds(1));
  EXPECT_EQ(world.status("a"), "DELAYED");
  EXPECT_EQ(world.read("a").int_or("attempt", -1), 1);
  EXPECT_EQ(world.read("a").string_or("error"), "the processor was ended while this was in work");
}

TEST_P(ProcessorTest, DrainingGivesWorkBack) {
  Queue& queue = start();
  create(queue, {"a", "b"});
  world.http.duration = seconds(60);
  auto running = std::make_unique<Running>(world, process_tasks, environment);
  world.pass(seconds(1));
  queue.drain();
  running.reset();
  world.pass(seconds(1));
  EXPECT_EQ(world.stock("PENDING"), 2u);
  EXPECT_EQ(world.read("b").int_or("attempt", -1), 0);
}

TEST_P(ProcessorTest, PickUpIsFromTheCreationToTheFirstStart) {
  environment["BACKOFF_BASE_MS"] = "1000";
  Queue& queue = start();
  Histogram pickup({0.5, 1.5, 2.5, 10});
  queue.measure_pickup(pickup);
  create(queue, {"a"});
  NewTask delayed;
  delayed.id = "b";
  delayed.delay = milliseconds(5'000);
  world.wait(queue.create({delayed}));
  world.pass(milliseconds(2'000));
  process();
  EXPECT_EQ(pickup.count(), 1u);
  EXPECT_EQ(pickup.bucket(2), 1u) << pickup.sum();
  world.http.answer = [](const HttpRequest&) {
    HttpResponse response;
    response.status = 500;
    return response;
  };
  world.pass(milliseconds(4'000));
  process();
  EXPECT_EQ(pickup.count(), 2u);
  EXPECT_EQ(pickup.bucket(1), 1u) << "from the end of its delay: " << pickup.sum();
  world.pass(milliseconds(2'000));
  process();
  EXPECT_EQ(world.http.requests.size(), 3u);
  EXPECT_EQ(pickup.count(), 2u) << "another attempt is no pick-up";
  create(queue, {"c"});
  world.clock.step_wall(milliseconds(-60'000));
  process();
  EXPECT_EQ(pickup.count(), 3u);
  EXPECT_EQ(pickup.bucket(0), 1u);
  EXPECT_GE(pickup.sum(), 0);
  world.put_pending("pulled", world.now_ms() - 2'000);
  ASSERT_EQ(world.wait(queue.take({}))->size(), 1u);
  EXPECT_EQ(pickup.count(), 4u) << "of a pull worker: the take";
}

TEST_P(ProcessorTest, DrainingEndsAProcessorThatWaitsForItsRate) {
  environment["RATE_LIMIT"] = "0.1";
  environment["CONCURRENCY"] = "4";
  Queue& queue = start();
  create(queue, {"a", "b", "c"});
  Running running(world, process_tasks, environment);
  world.pass(seconds(1));
  EXPECT_EQ(world.http.requests.size(), 1u);
  EXPECT_FALSE(running.ended());
  queue.drain();
  world.pass(milliseconds(100));
  EXPECT_TRUE(running.ended());
  EXPECT_EQ(world.stock("PENDING"), 2u);
}

TEST_P(ProcessorTest, ExpiredTasksAreNeverStarted) {
  environment["CONCURRENCY"] = "4";
  Queue& queue = start();
  world.http.duration = milliseconds(700);
  uint64_t late_starts = 0;
  world.http.answer = [](const HttpRequest&) { return HttpResponse{}; };
  for (int i = 0; i < 40; ++i) {
    NewTask task;
    task.deadline = world.clock.wall() + milliseconds(50 * i + 10);
    world.wait(queue.create({task}));
  }
  Running running(world, process_tasks, environment);
  for (int i = 0; i < 30'000 && !running.ended(); ++i) {
    auto before = world.http.requests.size();
    world.pass(milliseconds(1));
    for (auto n = before; n < world.http.requests.size(); ++n) {
      auto task = parse_plain_json(world.http.requests[n].body);
      late_starts += task->get_if<Map>()->int_or("deadline", 0) + 1 < world.now_ms();
    }
  }
  ASSERT_TRUE(running.ended());
  EXPECT_EQ(late_starts, 0u);
  world.pass(seconds(1));
  EXPECT_GT(world.stock("SHED"), 0u);
  EXPECT_EQ(world.stock("SHED") + world.stock("SUCCESS"), 40u);
  EXPECT_EQ(world.wait(queue.stats())->shed["deadline"], world.stock("SHED"));
}

TEST_P(ProcessorTest, WithAMarginNothingIsStartedThatWouldBeLate) {
  environment["DEADLINE_MARGIN"] = "p90";
  environment["CONCURRENCY"] = "20";
  Queue& queue = start();
  world.http.duration = milliseconds(2'000);
  std::vector<NewTask> tasks(20);
  world.wait(queue.create(tasks));
  process();
  ASSERT_EQ(world.stock("SUCCESS"), 20u);
  auto due = [&](const char* id, int in_ms) {
    NewTask task;
    task.id = id;
    task.deadline = world.clock.wall() + milliseconds(in_ms);
    world.wait(queue.create({task}));
  };
  due("late", 1'500);
  due("early", 10'000);
  process();
  EXPECT_EQ(world.status("early"), "SUCCESS");
  EXPECT_EQ(world.status("late"), "SHED");
  EXPECT_EQ(world.read("late").string_or("shedReason"), "deadline-margin");
  EXPECT_EQ(world.http.requests.size(), 21u);
  auto lines = world.wait(queue.sheds(10));
  ASSERT_EQ(lines->size(), 1u);
  EXPECT_EQ((*lines)[0].decode().string_or("reason"), "deadline-margin");
  EXPECT_EQ(world.wait(queue.stats())->shed["deadline-margin"], 1u);
  world.pass(ServiceTimes::kKept + seconds(1));
  due("tried", 1'500);
  process();
  EXPECT_EQ(world.status("tried"), "SUCCESS") << "what is not known any more sheds nothing";
}

TEST_P(ProcessorTest, ExecRunsAProgramPerTask) {
  environment["TASK_RUNNER"] = "exec:/bin/handle --fast";
  environment["MY_SETTING"] = "on";
  Queue& queue = start();
  create(queue, {"ok", "busy", "bad"});
  world.spawner.answer = [](const ProcessSpec& spec) {
    ProcessResult result;
    auto id = spec.environment.at("FRESHET_TASK_ID");
    result.exit_status = id == "ok" ? 0 : id == "busy" ? 75 : 3;
    result.output = "\"fine\"\n";
    result.error_output = id == "bad" ? "cannot read\n" : "";
    return result;
  };
  environment["BOUNCE_DELAY_MS"] = "5000";
  EXPECT_EQ(process(),
            "{\"taken\":3,\"succeeded\":1,\"failed\":1,\"bounced\":1,\"shed\":0,\"lost\":0,\"tailCall\":false}");
  EXPECT_EQ(world.read("ok").string_or("result"), "fine");
  EXPECT_EQ(world.read("bad").string_or("error"), "the program ended with exit status 3: cannot read");
  EXPECT_EQ(world.status("busy"), "DELAYED");
  const auto& spec = world.spawner.specs[0];
  EXPECT_EQ(spec.argv, (std::vector<std::string>{"/bin/handle", "--fast"}));
  EXPECT_EQ(spec.environment.at("MY_SETTING"), "on");
  EXPECT_EQ(spec.timeout, milliseconds(60'000));
  EXPECT_TRUE(spec.input.starts_with("{") && spec.input.ends_with("}\n"));
}

TEST_P(ProcessorTest, ProgramsThatCannotBeStartedNowCostNoAttempt) {
  environment["TASK_RUNNER"] = "exec:/bin/handle";
  environment["BOUNCE_DELAY_MS"] = "5000";
  Queue& queue = start();
  create(queue, {"away", "missing"});
  world.spawner.answer = [](const ProcessSpec& spec) -> Result<ProcessResult> {
    const bool missing = spec.environment.at("FRESHET_TASK_ID") == "missing";
    return fail(missing ? ErrorCode::kIo : ErrorCode::kUnavailable, "cannot start");
  };
  EXPECT_EQ(process(),
            "{\"taken\":2,\"succeeded\":0,\"failed\":1,\"bounced\":1,\"shed\":0,\"lost\":0,\"tailCall\":false}");
  EXPECT_EQ(world.status("away"), "DELAYED");
  EXPECT_EQ(world.read("away").int_or("attempt", -1), 0);
  EXPECT_EQ(world.read("missing").string_or("error"), "cannot start");
  EXPECT_EQ(world.read("missing").int_or("attempt", -1), 1);
}

TEST_P(ProcessorTest, SettingsThatAreWrongAreAnErrorOfTheFunction) {
  start();
  environment["CONCURRENCY"] = "many";
  EXPECT_EQ(process(), "CONCURRENCY is 'many': it must be 'adaptive' or a whole number from 1 to 100000");
}

TEST_P(ProcessorTest, CreateTasksCreatesTheSamplesTasks) {
  start();
  Running running(world, create_tasks, {{"QUEUE_TABLE", "QueueTable"}});
  world.pass(seconds(17));
  ASSERT_TRUE(running.ended());
  EXPECT_EQ(*running.outcome(world), "null");
  EXPECT_EQ(world.stock("PENDING"), 16u);
}

// In a fleet another daemon may serve the queue, and may take it over between two tasks.
TEST_P(ProcessorTest, CreateTasksCreatesThemWhereTheQueueIsServedElsewhere) {
  start();
  bool is_here = true;
  size_t elsewhere = 0;
  world.queues->open_only([&](const std::string&) { return is_here; });
  Environment two = {{"QUEUE_TABLE", "QueueTable"}, {"CREATE_TASKS", "2"}, {"CREATE_TTL_S", "60"}};
  world.queues->set_create_elsewhere([&](const std::string& queue, std::vector<NewTask> tasks) {
    EXPECT_EQ(queue, "QueueTable");
    EXPECT_EQ(tasks.at(0).ttl, seconds(60));
    ++elsewhere;
    std::vector<Result<CreatedTask>> created;
    if (elsewhere == 4) {
      created.push_back(fail(ErrorCode::kUnavailable, "only its own daemon may"));
    } else {
      created.push_back(CreatedTask{});
    }
    return Async<Result<std::vector<Result<CreatedTask>>>>(std::move(created));
  });
  Running moves(world, create_tasks, two);
  world.pass(milliseconds(1'500));
  is_here = false;
  world.queues->close("QueueTable");
  world.pass(seconds(2));
  ASSERT_TRUE(moves.ended());
  EXPECT_EQ(*moves.outcome(world), "null");
  EXPECT_EQ(world.stock("PENDING"), 1u);
  EXPECT_EQ(elsewhere, 1u);
  Running away(world, create_tasks, two);
  world.pass(seconds(3));
  EXPECT_EQ(elsewhere, 3u);
  Running refused(world, create_tasks, two);
  world.pass(seconds(3));
  ASSERT_TRUE(refused.ended());
  EXPECT_EQ(refused.outcome(world).error().code, ErrorCode::kUnavailable);
}

TEST_P(ProcessorTest, TriggerPublishesForInsertsAndNotifications) {
  start();
  Environment trigger_environment{{"PROCESS_TASKS_TOPIC_ARN", "process"}};
  auto published = [&](const std::string& event) {
    auto before = world.topics.published.size();
    Running running(world, trigger, trigger_environment, event);
    auto outcome = running.outcome(world);
    EXPECT_EQ(outcome ? *outcome : outcome.error().message, "null");
    return world.topics.published.size() - before;
  };
  std::string arn = R"("eventSourceARN":"arn:aws:dynamodb:us-east-1:000000000000:table/QueueTable/stream/L")";
  std::string insert = R"({"Records":[{"eventName":"MODIFY"},{"eventName":"INSERT",)" + arn + "}]}";
  EXPECT_EQ(published(insert), 1u);
  EXPECT_EQ(world.topics.published.back().topic_arn, "process");
  EXPECT_EQ(published(R"({"Records":[{"eventName":"MODIFY"},{"eventName":"REMOVE"}]})"), 0u);
  EXPECT_EQ(published(R"({"Records":[{"EventSource":"aws:sns","Sns":{"Message":"Start"}}]})"), 1u);
  EXPECT_EQ(published("{}"), 0u);
  const auto queue = world.queues->find_queue("QueueTable");
  queue->processor_began();
  EXPECT_EQ(published(insert), 0u) << "a processor is at work";
  queue->processor_ended();
  Running wrong(world, trigger, {}, insert);
  EXPECT_EQ(wrong.outcome(world).error().message,
            "PROCESS_TASKS_TOPIC_ARN is not set: it must be the ARN of the topic that starts process_tasks");
}

TEST(HttpRunnerTest, ReadsRetryAfter) {
  auto now = WallTime(seconds(784'111'777));  // Sun, 06 Nov 1994 08:49:37 GMT.
  EXPECT_EQ(retry_after("120", now), milliseconds(120'000));
  EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), milliseconds(60'000));
  EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:40:37 GMT", now), milliseconds(0));
  EXPECT_EQ(retry_after("99999999999", now), milliseconds(2'592'000'000));
  EXPECT_EQ(retry_after("Fri, 31 Dec 9999 23:59:59 GMT", now), milliseconds(2'592'000'000)) << "30 days at most";
  EXPECT_EQ(retry_after("99999999999999999999999", now), milliseconds(2'592'000'000)) << "more than 64 bits hold";
  for (auto text : {"", "-1", "-99999999999999999999999", "soon", "Sun, 06 Nix 1994 08:49:37 GMT",
                    "Sun, 36 Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(retry_after(text, now), std::nullopt) << text;
  }
}

TEST(HttpRunnerTest, KeepsResultsAsWhatTheyAre) {
  EXPECT_TRUE(kept_result("", 100).is(Type::kNull));
  EXPECT_TRUE(kept_result("{\"a\":1}", 100).is(Type::kMap));
  EXPECT_EQ(*kept_result("plain text", 100).get_if<std::string>(), "plain text");
  EXPECT_EQ(*kept_result("{\"a\":1}", 4).get_if<std::string>(), "{\"a\"");
}

TEST(HttpRunnerTest, CutsTextBetweenCharacters) {
  EXPECT_EQ(clean_text("h\xC3\xA9!", 100), "h\xC3\xA9!");
  EXPECT_EQ(clean_text("h\xC3\xA9!", 2), "h");
  EXPECT_EQ(clean_text("a\xFF\xFE", 100), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace freshet
