// Subscriptions, their confirmation, batches and tags in the query protocol.
#include "streams/topic_service.h"
#include "tests/wire/sns/sns_fixture.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kFunction[] = "arn:aws:lambda:us-east-1:000000000000:function:A";

class SnsSubscriptionTest : public SnsTest {
 protected:
  SnsSubscriptionTest() {
    ok("CreateTopic", {{"Name", "News"}});
    world_.add_function("A");
  }
  Fields wanted(const std::string& protocol, const std::string& endpoint, Fields more = {}) {
    more.insert(more.end(), {{"TopicArn", arn_}, {"Protocol", protocol}, {"Endpoint", endpoint}});
    return more;
  }
  static Fields attributes(const Fields& pairs) {
    Fields fields;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const std::string entry = "Attributes.entry." + std::to_string(i + 1);
      fields.emplace_back(entry + ".key", pairs[i].first);
      fields.emplace_back(entry + ".value", pairs[i].second);
    }
    return fields;
  }
  std::string subscribe(const std::string& protocol, const std::string& endpoint, Fields more = {}) {
    more.emplace_back("ReturnSubscriptionArn", "true");
    return within(ok("Subscribe", wanted(protocol, endpoint, std::move(more))), "SubscriptionArn");
  }
  void publish(const std::string& text) { ok("Publish", {{"TopicArn", arn_}, {"Message", text}}); }
  Map last_sent() {
    auto value = parse_plain_json(world_.http.requests.back().body);
    return value && value->is(Type::kMap) ? *value->get_if<Map>() : Map{};
  }
};

TEST_F(SnsSubscriptionTest, AFunctionIsSubscribedAtOnceAndOnce) {
  const std::string arn = within(ok("Subscribe", wanted("lambda", kFunction)), "SubscriptionArn");
  EXPECT_TRUE(arn.starts_with(arn_ + ":")) << arn;
  EXPECT_EQ(subscribe("lambda", kFunction), arn);
  EXPECT_EQ(error("Subscribe", wanted("lambda", kFunction, attributes({{"FilterPolicy", R"({"a":["b"]})"}}))),
            "400 InvalidParameter: Invalid parameter: Attributes Reason: Subscription already exists with different "
            "attributes");
  publish("x");
  restart();
  publish("y");
  world_.sim.run_ready();
  EXPECT_EQ(world_.calls("A"), 2u);
  const std::string listed = ok("ListSubscriptionsByTopic", {{"TopicArn", arn_}});
  EXPECT_EQ(within(listed, "SubscriptionArn"), arn);
  EXPECT_EQ(within(listed, "Endpoint"), kFunction);
  EXPECT_EQ(within(listed, "Protocol"), "lambda");
  EXPECT_EQ(within(listed, "Owner"), "000000000000");
  EXPECT_EQ(within(listed, "TopicArn"), arn_);
  ok("Unsubscribe", {{"SubscriptionArn", arn}});
  ok("Unsubscribe", {{"SubscriptionArn", arn}});
  publish("z");
  world_.sim.run_ready();
  EXPECT_EQ(world_.calls("A"), 2u);
}

TEST_F(SnsSubscriptionTest, WhatATemplateSubscribedIsTheSameSubscription) {
  const std::string arn =
      world_.must(world_.runtime->subscribe({"FromTemplate", "News", "lambda", "A", "", false, false}));
  EXPECT_EQ(subscribe("lambda", kFunction), arn);
  const std::string http =
      world_.must(world_.runtime->subscribe({"Http", "News", "http", "http://127.0.0.1:2/", "", false, false}));
  EXPECT_EQ(subscribe("http", "http://127.0.0.1:2/"), http);
  publish("x");
  world_.sim.run_for(seconds(1));
  ASSERT_EQ(world_.http.requests.size(), 1u) << "it is not asked to confirm";
  EXPECT_EQ(last_sent().string_or("Type"), "Notification");
}

TEST_F(SnsSubscriptionTest, AnEndpointConfirmsFirst) {
  EXPECT_EQ(within(ok("Subscribe", wanted("http", "http://127.0.0.1:2/hook")), "SubscriptionArn"),
            "pending confirmation");
  publish("too early");
  world_.sim.run_for(seconds(1));
  ASSERT_EQ(world_.http.requests.size(), 1u);
  const HttpRequest asked = world_.http.requests.back();
  EXPECT_EQ(header(asked.headers, "x-amz-sns-message-type"), "SubscriptionConfirmation");
  EXPECT_EQ(header(asked.headers, "x-amz-sns-topic-arn"), arn_);
  EXPECT_EQ(header(asked.headers, "x-amz-sns-subscription-arn"), "");
  const Map request = last_sent();
  EXPECT_EQ(header(asked.headers, "x-amz-sns-message-id"), request.string_or("MessageId"));
  EXPECT_EQ(request.string_or("Type"), "SubscriptionConfirmation");
  const std::string token(request.string_or("Token"));
  EXPECT_EQ(token.size(), 64u);
  const std::string url(request.string_or("SubscribeURL"));
  EXPECT_EQ(url, "http://127.0.0.1:7070/?Action=ConfirmSubscription&TopicArn=" + arn_ + "&Token=" + token);

  EXPECT_THAT(ok("ListSubscriptions"), HasSubstr("<SubscriptionArn>PendingConfirmation</SubscriptionArn>"));
  EXPECT_EQ(attribute(ok("GetTopicAttributes", {{"TopicArn", arn_}}), "SubscriptionsPending"), "1");
  EXPECT_EQ(error("ConfirmSubscription", {{"TopicArn", arn_}, {"Token", "no"}}),
            "400 InvalidParameter: Invalid parameter: Token");
  restart();
  publish("still too early");
  const HttpRequest visit{"GET", url.substr(url.find("/?")), {{"Host", "127.0.0.1:7070"}}, ""};
  const std::string arn = within(send(visit).body, "SubscriptionArn");
  EXPECT_TRUE(arn.starts_with(arn_ + ":")) << arn;
  EXPECT_EQ(within(ok("ConfirmSubscription", {{"TopicArn", arn_}, {"Token", token}}), "SubscriptionArn"), arn);
  publish("now");
  world_.sim.run_for(seconds(1));
  restart();
  publish("and again");
  world_.sim.run_for(seconds(1));
  ASSERT_EQ(world_.http.requests.size(), 3u);
  EXPECT_EQ(last_sent().string_or("Message"), "and again");
  const std::string shown = ok("GetSubscriptionAttributes", {{"SubscriptionArn", arn}});
  EXPECT_EQ(attribute(shown, "PendingConfirmation"), "false");
  EXPECT_EQ(attribute(shown, "Endpoint"), "http://127.0.0.1:2/hook");
}

TEST_F(SnsSubscriptionTest, TheRequestToConfirmIsTriedAgainAndSentAgain) {
  world_.http.answers.push_back(fail(ErrorCode::kUnavailable, "hung up"));
  world_.http.answers.push_back(HttpResponse{500, "", {}, ""});
  const std::string arn = subscribe("http", "http://127.0.0.1:2/");
  restart();
  world_.sim.run_for(seconds(10));
  EXPECT_EQ(world_.http.requests.size(), 3u);
  EXPECT_EQ(last_sent().string_or("Type"), "SubscriptionConfirmation");
  EXPECT_EQ(subscribe("http", "http://127.0.0.1:2/"), arn);
  world_.sim.run_for(seconds(10));
  EXPECT_EQ(world_.http.requests.size(), 4u);
  EXPECT_EQ(world_.stored("subscription"), 1u);
  ok("Unsubscribe", {{"SubscriptionArn", arn}});
  EXPECT_EQ(error("ConfirmSubscription", {{"TopicArn", arn_}, {"Token", std::string(last_sent().string_or("Token"))}}),
            "400 InvalidParameter: Invalid parameter: Token");
}

TEST_F(SnsSubscriptionTest, AttributesChangeWhatIsDelivered) {
  const std::string arn = subscribe(
      "lambda", kFunction, attributes({{"FilterPolicy", R"({"kind":["a"]})"}, {"FilterPolicyScope", "MessageBody"}}));
  publish(R"({"kind":"a"})");
  publish(R"({"kind":"b"})");
  world_.sim.run_ready();
  EXPECT_EQ(world_.calls("A"), 1u);
  const auto set = [&](const std::string& name, const std::string& value) -> Fields {
    return {{"SubscriptionArn", arn}, {"AttributeName", name}, {"AttributeValue", value}};
  };
  ok("SetSubscriptionAttributes", set("FilterPolicy", R"({"kind":["b"]})"));
  restart();
  publish(R"({"kind":"b"})");
  world_.sim.run_ready();
  EXPECT_EQ(world_.calls("A"), 2u);
  const std::string shown = ok("GetSubscriptionAttributes", {{"SubscriptionArn", arn}});
  EXPECT_EQ(attribute(shown, "FilterPolicy"), "{&quot;kind&quot;:[&quot;b&quot;]}");
  EXPECT_EQ(attribute(shown, "FilterPolicyScope"), "MessageBody");
  EXPECT_EQ(attribute(shown, "RawMessageDelivery"), "false");
  ok("SetSubscriptionAttributes", set("FilterPolicy", "{}"));
  publish("anything");
  world_.sim.run_ready();
  EXPECT_EQ(world_.calls("A"), 3u);

  const auto refused = [&](const std::string& name, const std::string& value) {
    return error("SetSubscriptionAttributes", set(name, value));
  };
  EXPECT_THAT(refused("FilterPolicy", "{"), HasSubstr("400 InvalidParameter: Invalid parameter: FilterPolicy"));
  EXPECT_THAT(refused("FilterPolicy", std::string(200'000, ' ')), HasSubstr("403 FilterPolicyLimitExceeded"));
  std::string many = R"({"a":["0")";
  for (int i = 1; i < 76; ++i) many += ",\"" + std::to_string(i) + "\"";
  ok("SetSubscriptionAttributes", set("FilterPolicy", many + "]}"));
  EXPECT_THAT(refused("FilterPolicy", many + R"(],"b":["x","y"]})"), HasSubstr("Filter policy is too complex"));
  // Refused values count as well, each of them.
  const auto but = [](int count, const std::string& open, const std::string& close) {
    std::string values;
    for (int i = 0; i < count; ++i) values += (i ? ",\"" : "\"") + std::to_string(i) + "\"";
    return R"({"a":[{"anything-but":)" + open + "[" + values + "]" + close + "}]}";
  };
  ok("SetSubscriptionAttributes", set("FilterPolicy", but(150, "", "")));
  EXPECT_THAT(refused("FilterPolicy", but(151, "", "")), HasSubstr("Filter policy is too complex"));
  ok("SetSubscriptionAttributes", set("FilterPolicy", but(150, R"({"prefix":)", "}")));
  EXPECT_THAT(refused("FilterPolicy", but(151, R"({"prefix":)", "}")), HasSubstr("Filter policy is too complex"));
  EXPECT_THAT(refused("FilterPolicyScope", "Body"), HasSubstr("400 InvalidParameter"));
  EXPECT_THAT(refused("RawMessageDelivery", "true"), HasSubstr("does not support raw message delivery"));
  EXPECT_THAT(refused("RedrivePolicy", R"({"deadLetterTargetArn":"x"})"), HasSubstr("no SQS queues"));
  EXPECT_THAT(refused("Colour", "x"), HasSubstr("AttributeName"));
  ok("SetSubscriptionAttributes", set("FilterPolicy", R"({"a":{"b":["c"]}})"));
  EXPECT_THAT(refused("FilterPolicyScope", "MessageAttributes"), HasSubstr("does not support nested filter policy"));
  EXPECT_EQ(error("GetSubscriptionAttributes", {{"SubscriptionArn", arn_ + ":none"}}),
            "404 NotFound: Subscription does not exist");
  EXPECT_THAT(error("Unsubscribe", {{"SubscriptionArn", "PendingConfirmation"}}), HasSubstr("400 InvalidParameter"));
}

TEST_F(SnsSubscriptionTest, BadSubscriptionsAreRefused) {
  const auto refused = [&](const std::string& protocol, const std::string& endpoint) {
    return error("Subscribe", wanted(protocol, endpoint));
  };
  EXPECT_THAT(refused("sqs", "x"), HasSubstr("400 InvalidParameter: Invalid parameter: Protocol &quot;sqs&quot;"));
  EXPECT_THAT(refused("https", "http://example.com/"), HasSubstr("the protocol is https, the URL does not match it"));
  EXPECT_THAT(refused("http", "https://example.com/"), HasSubstr("the protocol is http, the URL does not match it"));
  EXPECT_THAT(refused("http", "ftp://x"), HasSubstr("Invalid parameter: Endpoint"));
  EXPECT_EQ(refused("lambda", "A"), "400 InvalidParameter: Invalid parameter: Lambda endpoint ARN");
  EXPECT_EQ(error("Subscribe", {{"TopicArn", arn_ + "2"}, {"Protocol", "lambda"}, {"Endpoint", kFunction}}),
            "404 NotFound: Topic does not exist");
  EXPECT_EQ(world_.stored("subscription"), 0u);
}

TEST_F(SnsSubscriptionTest, AnEndpointUnsubscribesByItsToken) {
  const auto visit = [&](const std::string& url) {
    return send({"GET", url.substr(url.find("/?")), {{"Host", "127.0.0.1:7070"}}, ""});
  };
  const auto confirmed = [&](const std::string& endpoint, const std::string& authenticated) {
    const std::string arn = subscribe("https", endpoint);
    world_.sim.run_for(seconds(1));
    ok("ConfirmSubscription", {{"TopicArn", arn_},
                               {"Token", std::string(last_sent().string_or("Token"))},
                               {"AuthenticateOnUnsubscribe", authenticated}});
    restart();
    publish("x");
    world_.sim.run_for(seconds(1));
    return arn;
  };
  confirmed("https://example.com/", "");
  const std::string url(last_sent().string_or("UnsubscribeURL"));
  EXPECT_TRUE(url.starts_with("http://127.0.0.1:7070/?Action=Unsubscribe&SubscriptionArn=" + arn_ + ":")) << url;
  EXPECT_THAT(visit(url.substr(0, url.size() - 1)).body, HasSubstr("<Code>AuthorizationError</Code>"));
  EXPECT_THAT(visit(url.substr(0, url.find("&Token"))).body, HasSubstr("<Code>AuthorizationError</Code>"));
  EXPECT_EQ(world_.stored("subscription"), 1u);
  EXPECT_EQ(visit(url).status, 200);
  EXPECT_EQ(world_.stored("subscription"), 0u);
  EXPECT_THAT(visit(url).body, HasSubstr("<Code>AuthorizationError</Code>")) << "as if there never was one";

  const std::string arn = confirmed("https://example.com/", "true");
  EXPECT_EQ(last_sent().string_or("UnsubscribeURL"), "");
  const std::string token(world_.runtime->topic_service().find_subscription(arn)->settings.token);
  EXPECT_EQ(visit("/?Action=Unsubscribe&SubscriptionArn=" + arn + "&Token=" + token).status, 403);
  ok("Unsubscribe", {{"SubscriptionArn", arn}});
  const std::string shown = ok("GetTopicAttributes", {{"TopicArn", arn_}});
  EXPECT_EQ(attribute(shown, "SubscriptionsDeleted"), "2");
  EXPECT_EQ(attribute(shown, "SubscriptionsConfirmed"), "0");
}

// A function's own subscription has no token: none ends it.
TEST_F(SnsSubscriptionTest, NothingElseIsEndedByAToken) {
  const std::string arn = subscribe("lambda", kFunction);
  for (const char* token : {"", "&Token=", "&Token=x"}) {
    const HttpRequest visit{
        "GET", "/?Action=Unsubscribe&SubscriptionArn=" + arn + token, {{"Host", "127.0.0.1:7070"}}, ""};
    EXPECT_EQ(send(visit).status, 403);
  }
  EXPECT_EQ(world_.stored("subscription"), 1u);
}

TEST_F(SnsSubscriptionTest, TokensAreNotMadeFromTheSeed) {
  std::set<std::string> tokens;
  for (int i = 0; i < 2; ++i) {
    RuntimeWorld world;  // With the same seed.
    world.must(world.runtime->put_topic({"News"}));
    SubscriptionDefinition asked{"", "News", "http", "http://127.0.0.1:2/", "", false, false};
    const auto none = [](SubscriptionDefinition&, SubscriptionSettings&) { return Result<void>(); };
    const auto state = world.must(world.runtime->request_subscription(asked, none, "http://h"));
    EXPECT_EQ(state.settings.token.size(), 64u);
    tokens.insert(state.settings.token);
  }
  EXPECT_EQ(tokens.size(), 2u);
}

TEST_F(SnsSubscriptionTest, NothingStaysOfEndpointsThatCameAndWent) {
  world_.http.answers.clear();
  for (int i = 0; i < 20; ++i) {
    const std::string arn = subscribe("http", "http://127.0.0.1:2/" + std::to_string(i));
    world_.sim.run_for(seconds(1));
    if (i % 2 == 0) {
      ok("ConfirmSubscription", {{"TopicArn", arn_}, {"Token", std::string(last_sent().string_or("Token"))}});
      world_.http.answers = {HttpResponse{503, "", {}, ""}, HttpResponse{503, "", {}, ""}};
      publish("x");
      world_.sim.run_for(milliseconds(10));
    }
    ok("Unsubscribe", {{"SubscriptionArn", arn}});
    world_.http.answers.clear();
  }
  // One more goes away while a message is under way to it, which then fails.
  const std::string arn = subscribe("http", "http://127.0.0.1:2/last");
  world_.sim.run_for(seconds(1));
  ok("ConfirmSubscription", {{"TopicArn", arn_}, {"Token", std::string(last_sent().string_or("Token"))}});
  world_.http.duration = seconds(5);
  world_.http.answers = {HttpResponse{500, "", {}, ""}};
  publish("x");
  world_.sim.run_for(seconds(1));
  ok("Unsubscribe", {{"SubscriptionArn", arn}});
  world_.sim.run_for(seconds(10));
  EXPECT_EQ(world_.stored("event"), 0u);
  for (const auto& [name, stats] : world_.runtime->invoker().stats()) {
    EXPECT_FALSE(name.starts_with("arn:")) << name;
  }
}

TEST_F(SnsSubscriptionTest, ListsInPagesAcrossTopics) {
  ok("CreateTopic", {{"Name", "Other"}});
  for (int i = 0; i < 120; ++i) {
    const std::string id = "s" + std::to_string(1000 + i);
    world_.must(world_.runtime->subscribe({id, i < 60 ? "News" : "Other", "lambda", "F" + id, "", false, false}));
  }
  const std::string first = ok("ListSubscriptions");
  const std::string rest = ok("ListSubscriptions", {{"NextToken", within(first, "NextToken")}});
  EXPECT_EQ(count(first, "<member>"), 100u);
  EXPECT_EQ(count(rest, "<member>"), 20u);
  EXPECT_THAT(rest, Not(HasSubstr("NextToken")));
  EXPECT_EQ(count(ok("ListSubscriptionsByTopic", {{"TopicArn", arn_}}), "<member>"), 60u);
}

TEST_F(SnsSubscriptionTest, ABatchAnswersForEachEntry) {
  subscribe("lambda", kFunction);
  const auto entry = [](int number, const std::string& id, const std::string& text) -> Fields {
    const std::string before = "PublishBatchRequestEntries.member." + std::to_string(number);
    return {{before + ".Id", id}, {before + ".Message", text}};
  };
  const auto batch = [&](std::vector<Fields> entries) {
    Fields fields{{"TopicArn", arn_}};
    for (const Fields& one : entries) fields.insert(fields.end(), one.begin(), one.end());
    return fields;
  };
  const std::string answer = ok("PublishBatch", batch({entry(1, "a", "x"), entry(2, "b", ""), entry(3, "c", "z")}));
  EXPECT_EQ(count(within(answer, "Successful"), "<member>"), 2u);
  const std::string failed = within(answer, "Failed");
  EXPECT_EQ(count(failed, "<member>"), 1u);
  EXPECT_EQ(within(failed, "Id"), "b");
  EXPECT_EQ(within(failed, "Code"), "InvalidParameter");
  EXPECT_EQ(within(failed, "SenderFault"), "true");
  world_.sim.run_ready();
  ASSERT_EQ(world_.calls("A"), 2u);
  EXPECT_THAT(world_.payloads("A").back(), HasSubstr(R"("Message":"z")"));

  EXPECT_THAT(error("PublishBatch", batch({})), HasSubstr("400 EmptyBatchRequest"));
  EXPECT_THAT(error("PublishBatch", batch({entry(1, "a", "x"), entry(2, "a", "x")})),
              HasSubstr("400 BatchEntryIdsNotDistinct"));
  EXPECT_THAT(error("PublishBatch", batch({entry(1, "a b", "x")})), HasSubstr("400 InvalidBatchEntryId"));
  const std::string half(200'000, 'x');
  EXPECT_THAT(error("PublishBatch", batch({entry(1, "a", half), entry(2, "b", half)})),
              HasSubstr("400 BatchRequestTooLong"));
  std::vector<Fields> eleven;
  for (int i = 1; i <= 11; ++i) eleven.push_back(entry(i, "e" + std::to_string(i), "x"));
  EXPECT_THAT(error("PublishBatch", batch(eleven)), HasSubstr("400 TooManyEntriesInBatchRequest"));
  world_.sim.run_ready();
  EXPECT_EQ(world_.calls("A"), 2u);
}

TEST_F(SnsSubscriptionTest, TagsOfTopics) {
  const auto tags = [&](const Fields& pairs) {
    Fields fields{{"ResourceArn", arn_}};
    for (size_t i = 0; i < pairs.size(); ++i) {
      const std::string entry = "Tags.member." + std::to_string(i + 1);
      fields.emplace_back(entry + ".Key", pairs[i].first);
      fields.emplace_back(entry + ".Value", pairs[i].second);
    }
    return fields;
  };
  ok("TagResource", tags({{"team", "a"}, {"stage", "<dev>"}}));
  ok("TagResource", tags({{"team", "b"}}));
  restart();
  EXPECT_THAT(ok("ListTagsForResource", {{"ResourceArn", arn_}}),
              HasSubstr("<Tags><member><Key>stage</Key><Value>&lt;dev&gt;</Value></member>"
                        "<member><Key>team</Key><Value>b</Value></member></Tags>"));
  ok("UntagResource", {{"ResourceArn", arn_}, {"TagKeys.member.1", "stage"}});
  EXPECT_EQ(count(ok("ListTagsForResource", {{"ResourceArn", arn_}}), "<member>"), 1u);
  Fields many;
  for (int i = 0; i < 51; ++i) many.emplace_back("k" + std::to_string(i), "v");
  EXPECT_THAT(error("TagResource", tags(many)), HasSubstr("400 TagLimitExceeded"));
  EXPECT_THAT(error("TagResource", tags({{"aws:x", "v"}})), HasSubstr("400 InvalidParameter"));
  EXPECT_EQ(error("ListTagsForResource", {{"ResourceArn", arn_ + "2"}}),
            "404 ResourceNotFound: Resource does not exist");
}

}  // namespace
}  // namespace freshet
