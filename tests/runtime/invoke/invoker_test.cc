#include <gtest/gtest.h>

#include "base/limits.h"
#include "runtime/invoke/event_queue.h"
#include "runtime/invoke/trace.h"
#include "tests/runtime/invoke/world.h"
#include "tests/sim/log_capture.h"

namespace freshet {
namespace {

AsyncConfig config(seconds age, int retries) {
  AsyncConfig async;
  async.max_event_age = age;
  async.max_retries = retries;
  return async;
}

// Ids of stored items may be anything. The view ends before more digits.
TEST(EventNumber, IsReadWithinTheId) {
  EXPECT_EQ(number_of_event("00000000000000000042-a-7"), 42u);
  EXPECT_EQ(number_of_event(std::string_view("123456").substr(0, 2)), 12u) << "no dash";
  for (const char* odd : {"", "-", "-1", "x", "x-1"}) EXPECT_EQ(number_of_event(odd), 0u) << odd;
}

TEST(Invoke, ASynchronousCallGivesTheHandlersResult) {
  RuntimeWorld world;
  world.add_function("F");
  world.script["F"] = {gives(R"({"n":1})")};
  const InvokeOutcome outcome = world.must(world.runtime->invoker().invoke("F", R"({"a":1})"));
  EXPECT_EQ(outcome.payload, R"({"n":1})");
  EXPECT_FALSE(outcome.error);
  EXPECT_EQ(world.payloads("F"), std::vector<std::string>{R"({"a":1})"});
  const auto by_arn = world.runtime->invoker().invoke("arn:aws:lambda:us-east-1:000000000000:function:F", "");
  EXPECT_TRUE(by_arn.is_ready());
  EXPECT_EQ(world.payloads("F").back(), "{}");
}

TEST(Invoke, AHandlersErrorAndItsTimeoutAreOutcomes) {
  RuntimeWorld world;
  world.add_function("F", {}, {}, milliseconds(1500));
  world.script["F"] = {fails("broken"), takes(seconds(10))};
  const InvokeOutcome failed = world.must(world.runtime->invoker().invoke("F", ""));
  ASSERT_TRUE(failed.error);
  EXPECT_EQ(failed.error->message, "broken");
  EXPECT_EQ(json(failed.payload).string_or("errorMessage"), "broken");

  const BootTime start = world.clock.boot();
  const InvokeOutcome late = world.must(world.runtime->invoker().invoke("F", ""));
  ASSERT_TRUE(late.error);
  EXPECT_EQ(late.error->type, "Sandbox.Timedout");
  EXPECT_EQ(late.error->message, "Task timed out after 1.50 seconds");
  EXPECT_EQ(world.clock.boot() - start, milliseconds(1500));
  EXPECT_EQ(world.running["F"], 0) << "the handler was not ended where it waits";
  EXPECT_EQ(world.stats("F").timeouts, 1u);
  EXPECT_EQ(world.stats("F").errors, 2u);
}

TEST(Invoke, AFunctionsTextIsLoggedAtABoundedLength) {
  SimClock clock{WallTime(seconds(0))};
  LogCapture log;
  RuntimeOptions options;
  options.log = EventLog(clock, log, LogLevel::kWarn);
  RuntimeWorld world(options);
  world.add_function("F");
  world.script["F"] = {fails(std::string(1u << 20, 'x'))};
  const InvokeOutcome outcome = world.must(world.runtime->invoker().invoke("F", ""));
  EXPECT_EQ(outcome.error->message.size(), 1u << 20);
  ASSERT_EQ(log.count("FUNCTION_ERROR"), 1u);
  EXPECT_LT(log.lines.back().size(), 2000u);
}

TEST(Invoke, WhatCannotBeInvokedIsAnError) {
  RuntimeWorld world;
  world.add_function("F");
  const auto code = [&](const std::string& function, const std::string& payload) {
    auto result = world.wait(world.runtime->invoker().invoke(function, payload));
    return result ? "none" : std::string(error_name(result.error().code));
  };
  EXPECT_EQ(code("G", "{}"), "ResourceNotFoundException");
  EXPECT_EQ(code("F", std::string(7u << 20, ' ')), error_name(ErrorCode::kRequestTooLarge));
  auto async = world.wait(world.runtime->invoker().invoke_async("F", '"' + std::string(300u << 10, 'x') + '"'));
  ASSERT_FALSE(async);
  EXPECT_EQ(async.error().code, ErrorCode::kRequestTooLarge);
  EXPECT_EQ(world.calls("F"), 0u);
}

TEST(Invoke, GoesOnWithTheCallersTrace) {
  const std::string caller = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0";
  RuntimeWorld world;
  world.add_function("F", config(seconds(3600), 0));
  InvokeWishes wishes;
  wishes.trace_id = caller;
  const InvokeOutcome outcome = world.must(world.runtime->invoker().invoke("F", "", wishes));
  EXPECT_EQ(outcome.request_id.size(), 36u);
  EXPECT_EQ(world.seen.at(0).trace_id, caller);
  world.script["F"] = {takes(seconds(10))};
  world.must(world.runtime->invoker().invoke_async("F", "", caller));
  world.sim.run_for(seconds(1));
  ASSERT_TRUE(world.restart());
  EXPECT_TRUE(world.sim.run_until([&] { return world.stored("event") == 0; }, seconds(60)));
  ASSERT_EQ(world.seen.size(), 3u);
  EXPECT_EQ(world.seen[1].trace_id, caller);
  EXPECT_EQ(world.seen[2].trace_id, caller) << "it is kept with the event";
  world.must(world.runtime->invoker().invoke("F", ""));
  EXPECT_TRUE(world.seen[3].trace_id.starts_with("Root=1-6553f1")) << world.seen[3].trace_id;
}

TEST(Trace, IsTheCallersOrANewOne) {
  Random random(1);
  const WallTime now{seconds(0x5759e988)};
  const std::string root = "Root=1-0000000a-bd862e3fe1be46a994272793";
  const auto of = [&](const std::string& caller) { return trace_of(caller, now, random); };
  EXPECT_EQ(of("Sampled=1; Parent=53995c3f42cd8ad8; " + root + ";Lineage=a:1"),
            root + ";Parent=53995c3f42cd8ad8;Sampled=1");
  for (const char* parent : {"", ";Parent=", ";Parent=x", ";Sampled=?"}) {
    const std::string trace = of(root + parent);
    EXPECT_TRUE(trace.starts_with(root + ";Parent=")) << trace;
    EXPECT_EQ(trace.size(), of("").size()) << trace;
    EXPECT_TRUE(trace.ends_with(";Sampled=1")) << trace;
  }
  for (const char* none : {"", ";", "Root", "Root=", "Root=1-0000000a-bd862e3fe1be46a99427279",
                           "Root=1-0000000A-bd862e3fe1be46a994272793", "Root=2-0000000a-bd862e3fe1be46a994272793"}) {
    EXPECT_TRUE(of(none).starts_with("Root=1-5759e988-")) << none;
  }
}

TEST(Invoke, ReservedConcurrencyThrottlesSynchronousCalls) {
  RuntimeWorld world;
  world.add_function("F", {}, 1);
  world.script["F"] = {takes(seconds(5))};
  auto first = world.runtime->invoker().invoke("F", "");
  auto second = world.wait(world.runtime->invoker().invoke("F", ""));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(second.error().message, "Rate Exceeded.");
  EXPECT_TRUE(world.wait(std::move(first)));
  EXPECT_TRUE(world.wait(world.runtime->invoker().invoke("F", "")));
  EXPECT_EQ(world.stats("F").throttles, 1u);
}

TEST(Invoke, TheSharedPoolHoldsForFunctionsWithoutAReservation) {
  RuntimeOptions options;
  options.invoker.unreserved_concurrency = 2;
  RuntimeWorld world(options);
  world.add_function("A");
  world.add_function("B");
  world.add_function("R", {}, 1);
  world.script["A"] = {takes(seconds(3)), takes(seconds(3))};
  for (int i = 0; i < 2; ++i) world.must(world.runtime->invoker().invoke_async("A", "{}"));
  world.sim.run_ready();
  EXPECT_FALSE(world.wait(world.runtime->invoker().invoke("B", "")));
  EXPECT_TRUE(world.wait(world.runtime->invoker().invoke("R", "")));
  world.must(world.runtime->invoker().invoke_async("B", "{}"));
  world.sim.run_for(seconds(2));
  EXPECT_EQ(world.calls("B"), 0u);
  world.sim.run_for(seconds(1));
  EXPECT_EQ(world.calls("B"), 1u);
}

TEST(Invoke, AnInvocationOutlivesItsCaller) {
  RuntimeWorld world;
  world.add_function("F");
  world.script["F"] = {takes(seconds(1))};
  { auto dropped = world.runtime->invoker().invoke("F", ""); }
  EXPECT_EQ(world.running["F"], 1);
  world.sim.run_for(seconds(2));
  EXPECT_EQ(world.running["F"], 0);
  EXPECT_EQ(world.stats("F").running, 0);
}

TEST(Invoke, AnInvocationThatIsToEndWithItsCallerDoes) {
  RuntimeWorld world;
  world.add_function("F");
  world.script["F"] = {takes(seconds(1))};
  InvokeWishes wishes;
  wishes.ends_with_caller = true;
  {
    auto dropped = world.runtime->invoker().invoke("F", "", wishes);
    EXPECT_EQ(world.stats("F").running, 1);
  }
  EXPECT_EQ(world.running["F"], 0);
  EXPECT_EQ(world.stats("F").running, 0) << "its place is free at once";
}

TEST(AsyncEvents, StartInTheTurnInWhichTheyAreLoggedAndLeaveNothingBehind) {
  RuntimeWorld world;
  world.add_function("F");
  const auto turns = world.sim.loop().stats().turns;
  const std::string id = world.must(world.runtime->invoker().invoke_async("F", R"({"a":1})"));
  EXPECT_EQ(id.size(), 36u);
  EXPECT_EQ(world.stored("event"), 1u);
  world.sim.loop().turn();
  EXPECT_EQ(world.payloads("F"), std::vector<std::string>{R"({"a":1})"});
  EXPECT_EQ(world.sim.loop().stats().turns, turns + 1);
  EXPECT_EQ(world.stored("event"), 0u);
}

TEST(AsyncEvents, ThrottledEventsWaitAndStartAsSoonAsThereIsAPlaceInTheirOrder) {
  RuntimeWorld world;
  world.add_function("F", config(seconds(3600), 0), 1);
  for (int i = 0; i < 40; ++i) {
    world.script["F"].push_back(takes(seconds(1)));
    world.must(world.runtime->invoker().invoke_async("F", std::to_string(i)));
  }
  const BootTime start = world.clock.boot();
  EXPECT_TRUE(world.sim.run_until([&] { return world.stored("event") == 0; }, seconds(3600)));
  EXPECT_EQ(world.clock.boot() - start, seconds(40));
  EXPECT_EQ(world.most_running["F"], 1);
  const auto payloads = world.payloads("F");
  ASSERT_EQ(payloads.size(), 40u);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(payloads[i], std::to_string(i));
  EXPECT_EQ(world.stats("F").throttles, 0u);
}

TEST(AsyncEvents, AreGivenUpAtTheirMaximumAgeAndNeverBefore) {
  RuntimeWorld world;
  AsyncConfig async = config(seconds(60), 0);
  async.on_failure.target = "arn:aws:lambda:us-east-1:000000000000:function:Failures";
  world.add_function("Failures");
  world.add_function("F", async, 1, seconds(300));
  world.script["F"] = {takes(seconds(100))};
  world.must(world.runtime->invoker().invoke_async("F", "\"first\""));
  world.sim.run_for(seconds(1));
  world.must(world.runtime->invoker().invoke_async("F", "\"second\""));
  world.sim.run_for(milliseconds(59'999));
  EXPECT_EQ(world.calls("Failures"), 0u);
  EXPECT_EQ(world.stats("F").queued, 1u);
  world.sim.run_for(milliseconds(1));
  ASSERT_EQ(world.calls("Failures"), 1u);
  const Map document = json(world.payloads("Failures").front());
  EXPECT_EQ(document.string_or("requestPayload"), "second");
  const Map context = *document.find("requestContext")->get_if<Map>();
  EXPECT_EQ(context.string_or("condition"), "EventAgeExceeded");
  EXPECT_EQ(context.string_or("functionArn"), "arn:aws:lambda:us-east-1:000000000000:function:F:$LATEST");
  EXPECT_FALSE(document.contains("responsePayload"));
  world.sim.run_for(seconds(100));
  EXPECT_EQ(world.payloads("F"), std::vector<std::string>{"\"first\""});
  EXPECT_EQ(world.stored("event"), 0u);
  EXPECT_EQ(world.stats("F").dropped, 1u);
}

TEST(AsyncEvents, ErrorsAreRetriedLaterAndLaterThenSentToTheDestination) {
  RuntimeWorld world;
  world.must(world.runtime->put_topic({"Dead"}));
  world.add_function("Listener");
  SubscriptionDefinition subscription;
  subscription.topic = "Dead";
  subscription.protocol = "lambda";
  subscription.endpoint = "Listener";
  world.must(world.runtime->subscribe(subscription));
  AsyncConfig async = config(seconds(3600), 2);
  async.on_failure.target = "arn:aws:sns:us-east-1:000000000000:Dead";
  world.add_function("F", async);
  world.script["F"] = {fails("one"), fails("two"), fails("three")};
  world.must(world.runtime->invoker().invoke_async("F", "{}"));
  world.sim.run_for(seconds(10));
  ASSERT_EQ(world.calls("F"), 3u);
  EXPECT_EQ(world.seen[1].at - world.seen[0].at, seconds(1));
  EXPECT_EQ(world.seen[2].at - world.seen[1].at, seconds(2));
  ASSERT_EQ(world.calls("Listener"), 1u);
  const std::string message = world.payloads("Listener").front();
  EXPECT_NE(message.find("RetriesExhausted"), message.npos);
  EXPECT_NE(message.find("three"), message.npos);
  EXPECT_NE(message.find(R"(\"approximateInvokeCount\":3)"), message.npos);
  EXPECT_EQ(world.stored("event"), 0u);
  EXPECT_EQ(world.stats("F").retries, 2u);
}

TEST(AsyncEvents, AnEventThatIsGivenUpGoesToTheDeadLetterTopicAsItIs) {
  RuntimeWorld world;
  world.must(world.runtime->put_topic({"Dead"}));
  world.add_function("Listener");
  SubscriptionDefinition subscription;
  subscription.topic = "Dead";
  subscription.protocol = "lambda";
  subscription.endpoint = "Listener";
  world.must(world.runtime->subscribe(subscription));
  world.add_function("Failures");
  FunctionDefinition f = world.function("F", config(seconds(60), 0));
  f.dead_letter.target = "arn:aws:sns:us-east-1:000000000000:Dead";
  f.async.on_failure.target = "arn:aws:lambda:us-east-1:000000000000:function:Failures";
  world.must(world.runtime->put_function(f));
  world.script["F"] = {fails("broken"), Step{}};
  const std::string id = world.must(world.runtime->invoker().invoke_async("F", R"({"in":1})"));
  world.sim.run_ready();
  ASSERT_EQ(world.calls("Listener"), 1u);
  const std::string message = world.payloads("Listener").front();
  EXPECT_NE(message.find(R"("Message":"{\"in\":1}")"), message.npos) << message;
  EXPECT_NE(message.find(R"("RequestID":{"Type":"String","Value":")" + id), message.npos);
  EXPECT_NE(message.find(R"("ErrorCode":{"Type":"Number","Value":"200"})"), message.npos);
  EXPECT_NE(message.find(R"("ErrorMessage":{"Type":"String","Value":"broken"})"), message.npos);
  EXPECT_EQ(world.calls("Failures"), 1u);
  world.must(world.runtime->invoker().invoke_async("F", "2"));
  world.sim.run_ready();
  EXPECT_EQ(world.calls("Listener"), 1u);
  // One that is not there keeps no event back, and survives a restart.
  f.dead_letter.target = "arn:aws:sns:us-east-1:000000000000:Gone";
  f.async.on_failure = {};
  world.must(world.runtime->put_function(f));
  world.start();
  f.modified_ms = world.runtime->invoker().find("F")->modified_ms;
  EXPECT_EQ(*world.runtime->invoker().find("F"), f);
  world.script["F"] = {fails("broken")};
  world.must(world.runtime->invoker().invoke_async("F", "3"));
  world.sim.run_ready();
  EXPECT_EQ(world.stored("event"), 0u);
}

// A topic's message may have 256 KB, and so may an event: with its attributes the letter is larger.
TEST(AsyncEvents, AlsoTheLargestEventGetsToTheDeadLetterTopic) {
  RuntimeWorld world;
  world.must(world.runtime->put_topic({"Dead"}));
  world.add_function("Listener");
  SubscriptionDefinition subscription;
  subscription.topic = "Dead";
  subscription.protocol = "lambda";
  subscription.endpoint = "Listener";
  world.must(world.runtime->subscribe(subscription));
  FunctionDefinition f = world.function("F", config(seconds(60), 0));
  f.dead_letter.target = "arn:aws:sns:us-east-1:000000000000:Dead";
  world.must(world.runtime->put_function(f));
  std::string error(1023, 'e');
  error += "\xC3\xA4";  // A character that stands on the bound of the attribute: it is left out whole.
  world.script["F"] = {fails(error)};
  const std::string event = '"' + std::string(limits::kMaxAsyncEventBytes - 2, 'x') + '"';
  world.must(world.runtime->invoker().invoke_async("F", event));
  world.sim.run_for(seconds(1));
  ASSERT_EQ(world.calls("Listener"), 1u);
  const Map letter = json(world.payloads("Listener").front());
  const Map sns = *letter.find("Records")->get_if<List>()->elements.at(0).get_if<Map>()->find("Sns")->get_if<Map>();
  EXPECT_EQ(sns.string_or("Message"), event);
  const Map attribute = *sns.find("MessageAttributes")->get_if<Map>()->find("ErrorMessage")->get_if<Map>();
  EXPECT_EQ(attribute.string_or("Value"), std::string(1023, 'e'));
}

TEST(AsyncEvents, SuccessIsSentOnToo) {
  RuntimeWorld world;
  AsyncConfig async = config(seconds(3600), 0);
  async.on_success.target = "arn:aws:lambda:us-east-1:000000000000:function:Next";
  world.add_function("Next");
  world.add_function("F", async);
  world.script["F"] = {gives(R"({"done":true})")};
  world.must(world.runtime->invoker().invoke_async("F", R"({"in":1})"));
  world.sim.run_ready();
  ASSERT_EQ(world.calls("Next"), 1u);
  const Map document = json(world.payloads("Next").front());
  EXPECT_EQ(*document.find("requestPayload"), Value(Map{{"in", Value::number(1)}}));
  EXPECT_EQ(*document.find("responsePayload"), Value(Map{{"done", Value::boolean(true)}}));
}

TEST(AsyncEvents, SurviveARestartWithTheirAttemptsAndAge) {
  RuntimeWorld world;
  world.add_function("F", config(seconds(100), 1), 1, seconds(300));
  world.script["F"] = {fails("first")};
  world.must(world.runtime->invoker().invoke_async("F", "\"retried\""));
  world.sim.run_for(milliseconds(10));
  ASSERT_EQ(world.calls("F"), 1u);
  world.start();
  world.script["F"] = {fails("last"), takes(seconds(200))};
  world.sim.run_for(seconds(2));
  EXPECT_EQ(world.calls("F"), 2u);
  EXPECT_EQ(world.stored("event"), 0u) << "one retry, counted over the restart";

  world.must(world.runtime->invoker().invoke_async("F", "\"running\""));
  world.must(world.runtime->invoker().invoke_async("F", "\"waiting\""));
  world.sim.run_for(seconds(50));
  ASSERT_EQ(world.calls("F"), 3u);
  world.start();
  world.script["F"] = {takes(seconds(200))};
  world.sim.run_for(seconds(1));
  EXPECT_EQ(world.payloads("F").back(), "\"running\"") << "what ran when the daemon died runs again";
  world.sim.run_for(seconds(48));
  EXPECT_EQ(world.stats("F").queued, 1u);
  world.sim.run_for(seconds(2));
  EXPECT_EQ(world.stats("F").dropped, 1u) << "100 s old, restart included";
}

TEST(AsyncEvents, AnAcknowledgedEventSurvivesPowerLoss) {
  RuntimeWorld world;
  world.add_function("F", config(seconds(3600), 0), 0);
  world.must(world.runtime->invoker().invoke_async("F", "\"kept\""));
  world.must(world.tables->durable());
  world.power_loss();
  EXPECT_EQ(world.stats("F").queued, 1u);
  world.add_function("F", config(seconds(3600), 0), 1);
  world.sim.run_ready();
  EXPECT_EQ(world.payloads("F"), std::vector<std::string>{"\"kept\""});
}

TEST(AsyncEvents, AFullQueueRefusesAndForgetsNothing) {
  RuntimeOptions options;
  options.invoker.max_queued_events = 3;
  RuntimeWorld world(options);
  world.add_function("F", config(seconds(3600), 0), 0);
  for (int i = 0; i < 3; ++i) world.must(world.runtime->invoker().invoke_async("F", "{}"));
  auto refused = world.wait(world.runtime->invoker().invoke_async("F", "{}"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooManyRequests);
  world.add_function("F", config(seconds(3600), 0), 1);
  world.sim.run_ready();
  EXPECT_EQ(world.calls("F"), 3u);
}

TEST(AsyncEvents, ARemovedFunctionsEventsGo) {
  RuntimeWorld world;
  world.add_function("F", config(seconds(3600), 0), 0);
  world.must(world.runtime->invoker().invoke_async("F", "{}"));
  world.must(world.runtime->remove_function("F"));
  world.sim.run_ready();
  EXPECT_EQ(world.stored("event"), 0u);
  EXPECT_EQ(world.stored("function"), 0u);
  EXPECT_FALSE(world.wait(world.runtime->remove_function("F")));
}

FunctionDefinition http_function() {
  FunctionDefinition function;
  function.name = "H";
  function.host = "http";
  function.handler = "http://127.0.0.1:1/run";
  function.timeout = seconds(5);
  function.async = config(seconds(60), 0);
  return function;
}

TEST(HttpHost, PostsTheEventWhenWhatItSeesIsDurable) {
  RuntimeWorld world;
  world.must(world.runtime->put_function(http_function()));
  world.must(world.runtime->invoker().invoke_async("H", R"({"a":1})"));
  world.sim.loop().turn();
  EXPECT_TRUE(world.http.requests.empty()) << "posted before the event was durable";
  world.sim.run_ready();
  ASSERT_EQ(world.http.requests.size(), 1u);
  const std::string& url = world.http.urls.front();
  const HttpRequest& request = world.http.requests.front();
  EXPECT_EQ(url, "http://127.0.0.1:1/run");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.body, R"({"a":1})");
  EXPECT_EQ(header(request.headers, "lambda-runtime-aws-request-id").size(), 36u);
  EXPECT_EQ(world.stored("event"), 0u);
}

TEST(HttpHost, StatusesBecomeOutcomes) {
  RuntimeWorld world;
  world.must(world.runtime->put_function(http_function()));
  const auto run = [&](Result<HttpResponse> answer) {
    world.http.answers.push_back(std::move(answer));
    return world.must(world.runtime->invoker().invoke("H", ""));
  };
  EXPECT_EQ(run(HttpResponse{204, "", {}, ""}).payload, "null");
  EXPECT_EQ(run(HttpResponse{200, "", {}, "not json"}).payload, "\"not json\"");
  EXPECT_EQ(run(HttpResponse{500, "", {}, R"({"why":1})"}).error->type, "Host.Status");
  EXPECT_EQ(run(HttpResponse{200, "", {{"X-Amz-Function-Error", "Unhandled"}}, "{}"}).error->type, "Unhandled");
  EXPECT_FALSE(run(HttpResponse{200, "", {{"X-Amz-Function-Error", "Unhandled"}}, "{}"}).error->handled);
  EXPECT_TRUE(run(HttpResponse{200, "", {{"X-Amz-Function-Error", "Handled"}}, "{}"}).error->handled);
  EXPECT_EQ(run(HttpResponse{503, "", {}, ""}).error->type, "Host.Busy");
  EXPECT_EQ(run(fail(ErrorCode::kUnavailable, "refused")).error->type, "Host.Unavailable");
  world.http.duration = seconds(6);
  EXPECT_EQ(run(HttpResponse{}).error->message, "Task timed out after 5.00 seconds");
}

TEST(HttpHost, ABusyEndpointCostsNoRetryUntilTheEventIsTooOld) {
  RuntimeWorld world;
  world.must(world.runtime->put_function(http_function()));
  for (int i = 0; i < 5; ++i) world.http.answers.push_back(HttpResponse{429, "", {}, ""});
  world.must(world.runtime->invoker().invoke_async("H", "{}"));
  world.sim.run_for(seconds(20));
  EXPECT_EQ(world.http.requests.size(), 6u);
  EXPECT_EQ(world.stats("H").dropped, 0u);
  EXPECT_EQ(world.stored("event"), 0u);

  for (int i = 0; i < 1000; ++i) world.http.answers.push_back(fail(ErrorCode::kUnavailable, "refused"));
  world.must(world.runtime->invoker().invoke_async("H", "{}"));
  world.sim.run_for(seconds(59));
  EXPECT_EQ(world.stored("event"), 1u);
  world.sim.run_for(seconds(2));
  EXPECT_EQ(world.stats("H").dropped, 1u);
  EXPECT_EQ(world.stored("event"), 0u);
}

TEST(Functions, DefinitionsAreCheckedKeptAndReplaced) {
  RuntimeWorld world;
  const auto error = [&](FunctionDefinition function) {
    auto result = world.wait(world.runtime->put_function(std::move(function)));
    return result ? std::string() : result.error().message;
  };
  FunctionDefinition good;
  good.name = "F";
  good.handler = "script";
  good.environment = {{"A", "1"}, {"B", ""}};
  good.reserved_concurrency = 3;
  good.async.on_failure.target = "arn:x";
  EXPECT_EQ(error(good), "");
  FunctionDefinition bad = good;
  bad.name = "a b";
  EXPECT_NE(error(bad).find("a b"), std::string::npos);
  bad = good;
  bad.handler = "nothing";
  EXPECT_NE(error(bad).find("there are: script"), std::string::npos);
  bad = good;
  bad.host = "wasm";
  EXPECT_NE(error(bad).find("native, http and process are"), std::string::npos);
  bad.host = "process";
  bad.runtime = "java21";
  EXPECT_NE(error(bad).find("Runtime java21: there are native, http, nodejs*"), std::string::npos);
  bad.runtime = "python3.11";
  bad.code = "beside";
  EXPECT_NE(error(bad).find("an absolute path"), std::string::npos);
  FunctionDefinition program = bad;
  program.name = "Program";
  program.code = "/code";
  program.memory_mib = 256;
  EXPECT_EQ(error(program), "");
  bad.code = "/code";
  bad.memory_mib = 64;
  EXPECT_NE(error(bad).find("128 to 10240 MB"), std::string::npos);
  bad = good;
  bad.timeout = seconds(86'401);
  EXPECT_NE(error(bad).find("timeout"), std::string::npos);
  bad = good;
  bad.async.max_retries = -1;
  EXPECT_NE(error(bad).find("retries"), std::string::npos);
  world.start();
  ASSERT_EQ(world.runtime->functions().size(), 2u);
  good.modified_ms = world.runtime->functions().front().modified_ms;
  program.modified_ms = world.runtime->functions().back().modified_ms;
  EXPECT_EQ(world.runtime->functions().front(), good);
  EXPECT_EQ(world.runtime->functions().back(), program);
}

TEST(Drain, StartsNothingNewAndWaitsForWhatRuns) {
  RuntimeWorld world;
  world.add_function("F", config(seconds(3600), 0), 1);
  world.script["F"] = {takes(seconds(2))};
  world.must(world.runtime->invoker().invoke_async("F", "1"));
  world.must(world.runtime->invoker().invoke_async("F", "2"));
  world.sim.run_ready();
  const BootTime start = world.clock.boot();
  EXPECT_TRUE(world.wait(world.runtime->drain(start + seconds(10))));
  EXPECT_GE(world.clock.boot() - start, seconds(2));
  EXPECT_LT(world.clock.boot() - start, seconds(3));
  EXPECT_EQ(world.calls("F"), 1u);
  EXPECT_EQ(world.stored("event"), 1u);
  world.start();
  world.script["F"] = {takes(seconds(20))};
  world.sim.run_ready();
  EXPECT_FALSE(world.wait(world.runtime->drain(world.clock.boot() + seconds(5))));
}

TEST(EndAll, EndsHandlersWhereTheyWaitAndNothingRunsAfterIt) {
  RuntimeWorld world;
  world.add_function("F", config(seconds(3600), 0), 1);
  world.script["F"] = {takes(seconds(2))};
  auto waiting = world.runtime->invoker().invoke("F", "");
  world.must(world.runtime->invoker().invoke_async("F", "1"));
  ASSERT_EQ(world.running["F"], 1);
  world.runtime->end_all();
  EXPECT_EQ(world.running["F"], 0);
  world.sim.run_for(seconds(10));
  EXPECT_EQ(world.calls("F"), 1u);
  auto refused = world.wait(world.runtime->invoker().invoke("F", ""));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(world.stored("event"), 1u);
}

}  // namespace
}  // namespace freshet
