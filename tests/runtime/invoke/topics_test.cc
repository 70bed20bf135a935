// Topics through the whole runtime, and the walk from a put to the last function.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "streams/system_table.h"
#include "streams/topic_service.h"
#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

struct TopicTest : testing::Test {
  RuntimeWorld world;
  TopicTest() { world.must(world.runtime->put_topic({"News"})); }

  std::string subscribe(const std::string& function, const std::string& policy = "") {
    SubscriptionDefinition subscription;
    subscription.topic = topic_arn(Account{}, "News");
    subscription.protocol = "lambda";
    subscription.endpoint = function_arn(Account{}, function);
    subscription.filter_policy = policy;
    return world.must(world.runtime->subscribe(subscription));
  }
  PublishInput message(const std::string& text) {
    PublishInput input;
    input.topic_arn = topic_arn(Account{}, "News");
    input.message = text;
    return input;
  }
  std::string publish(PublishInput input) { return world.must(world.runtime->publisher().publish(std::move(input))); }
};

TEST_F(TopicTest, APublishReachesEverySubscriptionAndIsLoggedFirst) {
  world.add_function("A");
  world.add_function("B", {}, 0);
  const std::string arn = subscribe("A");
  subscribe("B");
  EXPECT_TRUE(arn.starts_with("arn:aws:sns:us-east-1:000000000000:News:"));
  const std::string id = publish(message("Start"));
  EXPECT_EQ(world.stored("event"), 2u);
  world.must(world.tables->durable());
  world.power_loss();
  world.sim.run_ready();
  ASSERT_EQ(world.calls("A"), 1u) << "an acknowledged message was lost";
  EXPECT_EQ(world.stats("B").queued, 1u);
  const Map event = json(world.payloads("A").front());
  const Map record = *event.find("Records")->get_if<List>()->elements.at(0).get_if<Map>();
  EXPECT_EQ(record.string_or("EventSource"), "aws:sns");
  EXPECT_EQ(record.string_or("EventSubscriptionArn"), arn);
  EXPECT_EQ(record.find("Sns")->get_if<Map>()->string_or("MessageId"), id);
}

TEST_F(TopicTest, FilterPoliciesLookAtAttributesOrTheBody) {
  world.add_function("A");
  world.add_function("B");
  world.add_function("C");
  subscribe("A", R"({"kind":["x"],"n":[{"numeric":[">",5]}]})");
  SubscriptionDefinition body;
  body.topic = "News";
  body.protocol = "lambda";
  body.endpoint = "B";
  body.filter_policy = R"({"kind":["x"]})";
  body.filter_on_body = true;
  world.must(world.runtime->subscribe(body));
  subscribe("C");
  PublishInput attributes = message("text");
  attributes.attributes = {{"kind", {"String", "x"}}, {"n", {"Number", "6"}}};
  publish(attributes);
  attributes.attributes["n"].value = "5";
  publish(attributes);
  publish(message(R"({"kind":"x"})"));
  world.sim.run_ready();
  EXPECT_EQ(world.calls("A"), 1u);
  EXPECT_EQ(world.calls("B"), 1u);
  EXPECT_EQ(world.calls("C"), 3u);
}

TEST_F(TopicTest, WhatDoesNotExistIsAnErrorOrSkipped) {
  auto unknown = world.wait(world.runtime->publisher().publish({topic_arn(Account{}, "Other"), "x", "", {}}));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().message, "Topic does not exist");
  subscribe("Missing");
  world.add_function("A");
  subscribe("A");
  publish(message("x"));
  world.sim.run_ready();
  EXPECT_EQ(world.calls("A"), 1u);
  const auto error = [&](SubscriptionDefinition s) {
    auto result = world.wait(world.runtime->subscribe(std::move(s)));
    return result ? std::string() : result.error().message;
  };
  SubscriptionDefinition s{"", "News", "email", "a@b", "", false, false};
  EXPECT_NE(error(s).find("\"email\" is not supported"), std::string::npos);
  s = {"", "News", "http", "ftp://x", "", false, false};
  EXPECT_NE(error(s).find("must start with http://"), std::string::npos);
  s = {"", "News", "lambda", "A", R"({"a":"x"})", false, false};
  EXPECT_NE(error(s).find("FilterPolicy"), std::string::npos);
  s = {"", "Other", "lambda", "A", "", false, false};
  EXPECT_NE(error(s).find("does not exist"), std::string::npos);
}

TEST_F(TopicTest, AFullQueueRefusesThePublishWhole) {
  RuntimeOptions options;
  options.invoker.max_queued_events = 1;
  RuntimeWorld small(options);
  small.must(small.runtime->put_topic({"News"}));
  small.add_function("A", {}, 0);
  small.add_function("B", {}, 0);
  small.must(small.runtime->subscribe({"a", "News", "lambda", "A", "", false, false}));
  small.must(small.runtime->invoker().invoke_async("B", "{}"));
  small.must(small.runtime->subscribe({"b", "News", "lambda", "B", "", false, false}));
  auto refused = small.wait(small.runtime->publisher().publish(message("x")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(small.stored("event"), 1u);
}

// Twenty times 256 KiB are more than the service takes in one transaction.
// A policy of many matchers, on the body.
std::string heavy_policy(size_t matchers) {
  std::string list;
  for (size_t i = 0; i < matchers; ++i) list += (i ? "," : "") + std::string(R"({"prefix":"no"})");
  return R"({"a":[)" + list + "]}";
}
std::string body_of(size_t elements) {
  std::string list;
  for (size_t i = 0; i < elements; ++i) list += i ? ",\"y\"" : "\"y\"";
  return R"({"a":[)" + list + "]}";
}

TEST_F(TopicTest, FilterPoliciesThatTakeLongLetOthersInBetween) {
  world.add_function("A");
  SubscriptionDefinition body;
  body.topic = "News";
  body.protocol = "lambda";
  body.endpoint = "A";
  body.filter_policy = heavy_policy(40);
  body.filter_on_body = true;
  for (int i = 0; i < 20; ++i) world.must(world.runtime->subscribe(body));
  subscribe("A");
  auto publishing = world.runtime->publisher().publish(message(body_of(10'000)));
  EXPECT_FALSE(publishing.is_ready()) << "400,000 steps for each of twenty";
  int others = 0;
  std::function<void()> again = [&] {
    ++others;
    if (!publishing.is_ready()) world.sim.loop().post(again);
  };
  again();
  EXPECT_TRUE(world.sim.run_until([&] { return publishing.is_ready(); }, seconds(1)));
  EXPECT_GE(others, 20);
  EXPECT_TRUE(publishing.take());
  world.sim.run_ready();
  EXPECT_EQ(world.calls("A"), 1u);
}

TEST_F(TopicTest, WhatFilterPoliciesMayLookAtHasABound) {
  world.add_function("A");
  SubscriptionDefinition body;
  body.topic = "News";
  body.protocol = "lambda";
  body.endpoint = "A";
  body.filter_policy = heavy_policy(1'000);
  body.filter_on_body = true;
  world.must(world.runtime->subscribe(body));
  const auto refused = world.wait(world.runtime->publisher().publish(message(body_of(10'000))));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kValidation);
  EXPECT_NE(refused.error().message.find("would have to look at too much of it"), std::string::npos);
  EXPECT_EQ(world.stored("event"), 0u);
  publish(message(body_of(100)));
}

// One that goes while a publish is under way gets nothing, and takes nothing from the others.
TEST_F(TopicTest, SubscriptionsMayGoWhileAPublishIsUnderWay) {
  for (const char* name : {"A", "B"}) world.add_function(name);
  SubscriptionDefinition heavy;
  heavy.topic = "News";
  heavy.protocol = "lambda";
  heavy.endpoint = "A";
  heavy.filter_policy = heavy_policy(40);
  heavy.filter_on_body = true;
  heavy.id = "0";
  world.must(world.runtime->subscribe(heavy));
  SubscriptionDefinition plain;
  plain.topic = "News";
  plain.protocol = "lambda";
  for (const auto& [id, function] : {std::pair("1", "A"), std::pair("2", "B")}) {
    plain.id = id;
    plain.endpoint = function;
    world.must(world.runtime->subscribe(plain));
  }
  auto publishing = world.runtime->publisher().publish(message(body_of(10'000)));
  ASSERT_FALSE(publishing.is_ready());
  world.must(world.runtime->unsubscribe(topic_arn(Account{}, "News") + ":1"));
  world.must(world.runtime->unsubscribe(topic_arn(Account{}, "News") + ":0"));
  EXPECT_TRUE(world.wait(std::move(publishing)));
  world.sim.run_ready();
  EXPECT_EQ(world.calls("A"), 0u);
  EXPECT_EQ(world.calls("B"), 1u);
  auto gone = world.runtime->publisher().publish(message(body_of(10)));
  world.must(std::move(gone));
}

TEST_F(TopicTest, LargeMessagesReachManySubscriptions) {
  for (int i = 0; i < 20; ++i) {
    world.add_function("F" + std::to_string(i));
    subscribe("F" + std::to_string(i));
  }
  publish(message(std::string(256u << 10, 'x')));
  world.sim.run_for(seconds(1));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(world.calls("F" + std::to_string(i)), 1u);
  EXPECT_EQ(world.stored("event"), 0u);

  AsyncConfig async;
  async.max_retries = 0;
  async.on_failure.target = topic_arn(Account{}, "News");
  world.add_function("Fails", async);
  world.script["Fails"] = {fails("no")};
  world.must(world.runtime->invoker().invoke_async("Fails", '"' + std::string(250'000, 'x') + '"'));
  world.sim.run_for(seconds(10));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(world.calls("F" + std::to_string(i)), 2u);
  EXPECT_EQ(world.stored("event"), 0u) << "the failed event is settled together with what it sent";
}

TEST_F(TopicTest, HttpEndpointsGetTheNotificationAndAreTriedAgain) {
  SubscriptionDefinition subscription{"e", "News", "http", "http://127.0.0.1:2/hook", "", false, false};
  const std::string arn = world.must(world.runtime->subscribe(subscription));
  world.http.answers.push_back(fail(ErrorCode::kUnavailable, "refused"));
  world.http.answers.push_back(HttpResponse{500, "", {}, ""});
  const std::string id = publish(message("Hello"));
  world.sim.run_for(milliseconds(1));
  EXPECT_EQ(world.http.requests.size(), 1u);
  world.start();
  world.sim.run_for(seconds(10));
  ASSERT_EQ(world.http.requests.size(), 3u);
  const HttpRequest& request = world.http.requests.back();
  EXPECT_EQ(world.http.urls.back(), "http://127.0.0.1:2/hook");
  EXPECT_EQ(header(request.headers, "x-amz-sns-message-type"), "Notification");
  EXPECT_EQ(header(request.headers, "x-amz-sns-message-id"), id);
  EXPECT_EQ(header(request.headers, "x-amz-sns-subscription-arn"), arn);
  EXPECT_EQ(header(request.headers, "x-amz-sns-topic-arn"), topic_arn(Account{}, "News"));
  EXPECT_EQ(json(request.body).string_or("Message"), "Hello");
  EXPECT_EQ(world.stored("event"), 0u);

  world.http.answers.push_back(HttpResponse{404, "", {}, ""});
  publish(message("Gone"));
  world.sim.run_for(seconds(60));
  EXPECT_EQ(world.http.requests.size(), 4u) << "a client error is final";
  subscription.raw_delivery = true;
  world.must(world.runtime->subscribe(subscription));
  const std::string text = R"({"MessageId":"not\r\nours"})";
  const std::string raw = publish(message(text));
  world.sim.run_ready();
  EXPECT_EQ(world.http.requests.back().body, text);
  EXPECT_EQ(header(world.http.requests.back().headers, "x-amz-sns-message-id"), raw)
      << "whatever the message itself says";
}

// Counts the bytes of payloads that a publish has made and not yet written.
class CountingQueue final : public DeliveryQueue {
 public:
  Result<PreparedEvent> prepare(Delivery delivery) override {
    const std::string id = std::to_string(++events);
    auto bytes = std::make_shared<size_t>(0);
    const auto put = [this, bytes](WriteInput& write, std::string payload) {
      *bytes = payload.size();
      most = std::max(most, held += *bytes);
      std::get<PutItemInput>(write).item.set("payload", Value(std::move(payload)));
    };
    PreparedEvent event{put_system_item(system_item("event", id)), [this, bytes] { held -= *bytes; }};
    if (delivery.late_payload) {
      event.put_payload = [put, delivery](WriteInput& write) {
        std::string payload = delivery.late_payload();
        EXPECT_EQ(payload.size(), delivery.late_bytes);
        put(write, std::move(payload));
      };
    } else {
      put(event.write, std::move(delivery.payload));
    }
    return event;
  }
  int events = 0;
  size_t held = 0;
  size_t most = 0;
};

TEST_F(TopicTest, ALargeMessageIsNotHeldOnceForEachSubscription) {
  CountingQueue queue;
  TopicService topics(*world.tables, world.sim.loop(), world.random, world.tables->wall_guard(), queue, Account{});
  const auto must = [&](auto work) { return world.must(std::move(work)); };
  must(topics.load());
  must(topics.put_topic({"Large"}));
  for (int i = 0; i < 60; ++i) {
    SubscriptionDefinition s{"s" + std::to_string(i), "Large", "lambda", "A", "", false, false};
    if (i % 3 > 0) s.protocol = "http";
    if (i % 3 > 0) s.endpoint = "http://127.0.0.1:1/" + std::to_string(i);
    s.raw_delivery = i % 3 == 1;
    must(topics.subscribe(s));
  }
  PublishInput input;
  input.topic_arn = topic_arn(Account{}, "Large");
  input.message = std::string(150'000, '"');  // Takes 300 KB in JSON.
  must(topics.publish(std::move(input)));
  EXPECT_EQ(queue.events, 60);
  EXPECT_EQ(queue.held, 0u);
  EXPECT_LT(queue.most, limits::kMaxTransactionBytes + limits::kMaxItemBytes) << "one group of writes";
}

TEST_F(TopicTest, TopicsAndSubscriptionsAreKeptAndRemoved) {
  world.add_function("A");
  const std::string arn = subscribe("A", R"({"k":["v"]})");
  subscribe("A");
  world.start();
  EXPECT_EQ(world.runtime->topics().size(), 1u);
  EXPECT_EQ(world.runtime->subscriptions().size(), 2u);
  world.must(world.runtime->unsubscribe(arn));
  EXPECT_FALSE(world.wait(world.runtime->unsubscribe(arn)));
  publish(message("x"));
  world.sim.run_ready();
  EXPECT_EQ(world.calls("A"), 1u);
  world.must(world.runtime->remove_topic("News"));
  EXPECT_FALSE(world.wait(world.runtime->remove_topic("News")));
  world.start();
  EXPECT_TRUE(world.runtime->subscriptions().empty());
  EXPECT_EQ(world.stored("topic") + world.stored("subscription"), 0u);
}

TEST(AccountTest, DataStaysWithItsAccount) {
  RuntimeWorld world;
  const auto restart_as = [&](const char* account, const char* region) {
    world.options.account = Account{region, account};
    return world.restart();
  };
  ASSERT_TRUE(restart_as("111111111111", "eu-west-1")) << "nothing is kept under the first one yet";
  world.must(world.runtime->put_topic({"News"}));
  world.add_function("A");
  world.must(world.runtime->subscribe({"s", "News", "lambda", "A", "", false, false}));
  const std::string says =
      "this data has topics and functions of account 111111111111 in eu-west-1, and the daemon was started for "
      "account ";
  const auto other = restart_as("222222222222", "eu-west-1");
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().message.starts_with(says + "222222222222 in eu-west-1: ")) << other.error().message;
  EXPECT_NE(other.error().message.find("--account 111111111111 --region eu-west-1"), std::string::npos);
  ASSERT_FALSE(restart_as("111111111111", "us-east-1"));
  // Data of before there was a record.
  DeleteItemInput record;
  record.table = "freshet.system";
  record.key = Item{{"kind", "account"}, {"id", "current"}};
  world.must(world.tables->delete_item(std::move(record)));
  ASSERT_FALSE(restart_as("111111111111", "us-east-1"));
  ASSERT_TRUE(restart_as("111111111111", "eu-west-1"));
  EXPECT_EQ(world.runtime->subscriptions().size(), 1u);
  EXPECT_EQ(world.stored("account"), 1u);
}

// The sample application's wiring with three functions: what each step costs.
struct WalkTest : testing::Test {
  RuntimeWorld world;

  static Async<Result<std::string>> trigger(Context& context) {
    PublishInput input;
    input.topic_arn = topic_arn(Account{}, "Process");
    input.message = "Start";
    auto published = co_await context.services.topics.publish(std::move(input));
    if (!published) co_return fail(std::move(published.error()));
    co_return std::string("null");
  }
  WalkTest() {
    world.natives.add("trigger", trigger);
    FunctionDefinition function;
    function.name = "Trigger";
    function.handler = "trigger";
    world.must(world.runtime->put_function(function));
    world.add_function("Process");
    world.add_table("Queue");
    world.must(world.runtime->put_topic({"Process"}));
    world.must(world.runtime->subscribe({"p", "Process", "lambda", "Process", "", false, false}));
    MappingDefinition mapping;
    mapping.table = "Queue";
    mapping.function = "Trigger";
    mapping.filters = {R"({"eventName":["INSERT"]})"};
    world.must(world.runtime->put_mapping(mapping));
    world.sim.run_for(seconds(5));
  }
};

TEST_F(WalkTest, OneCommitStandsBetweenACreateAndTheLastFunctionsStart) {
  const uint64_t syncs = world.files.syncs();
  world.put("Queue", Item{{"taskId", "1"}});
  ASSERT_TRUE(world.sim.run_until([&] { return world.calls("Process") > 0; }, seconds(1)));
  EXPECT_EQ(world.seen.back().syncs - syncs, 1u);
  world.sim.run_ready();
  EXPECT_LE(world.files.syncs() - syncs, 2u);
  EXPECT_EQ(world.stored("event"), 0u);
}

// Power is lost at the n-th call to the files after a create: if the create was durable, the last function runs.
TEST_F(WalkTest, APowerLossAtAnyCallLosesNoAcknowledgedTask) {
  int acknowledged = 0;
  for (uint64_t n = 1; n <= 12; ++n) {
    world.seen.clear();
    world.files.crash_at(world.files.calls() + n);
    bool durable = false;
    {
      PutItemInput input;
      input.table = "Queue";
      input.item = Item{{"taskId", std::to_string(n)}};
      auto put = world.wait(world.tables->put_item(std::move(input)));
      auto safe = world.tables->durable();
      world.sim.run_for(milliseconds(100));
      durable = put && safe.is_ready() && safe.take();
    }
    acknowledged += durable ? 1 : 0;
    world.power_loss();
    world.sim.run_for(seconds(5));
    if (durable) {
      EXPECT_GE(world.calls("Process"), 1u) << "crash at call " << n;
    }
    EXPECT_EQ(world.stored("event"), 0u);
  }
  EXPECT_GT(acknowledged, 0);
  EXPECT_LT(acknowledged, 12) << "no crash came early enough";
}

}  // namespace
}  // namespace freshet
