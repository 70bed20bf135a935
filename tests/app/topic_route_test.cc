// Publishes at a member of a fleet that does not serve their FIFO topic.
#include "app/fleet/topic_units.h"

#include <vector>

#include "runtime/runtime.h"
#include "streams/topic_service.h"
#include "tables/lease/events_table.h"
#include "tests/app/asked_member.h"
#include "tests/runtime/fakes.h"
#include "wire/sns/publish_form.h"
#include "wire/sns/sns_route.h"

namespace freshet {
namespace {

constexpr const char* kTopic = "Orders.fifo";

class TopicRouteTest : public AskedMemberTest {
 protected:
  TopicRouteTest() : AskedMemberTest("topic/Orders.fifo") {
    TableDefinition events;
    events.name = kOwnEventsTable;
    events.keys = events_keys();
    events.system = true;
    EXPECT_TRUE(world.wait(world.store->create_table(std::move(events))));
    RuntimePorts ports{*world.store, world.scheduler, world.random, world.http, spawner, natives};
    runtime = std::make_unique<Runtime>(ports);
    topics = std::make_unique<TopicUnits>(*units, calls, *runtime);
    runtime->share_events("asked");
    runtime->share_topics(*topics);
    EXPECT_TRUE(world.wait(runtime->start()));
    for (const char* name : {kTopic, "Plain"}) {
      TopicDefinition topic;
      topic.name = name;
      EXPECT_TRUE(world.wait(runtime->put_topic(std::move(topic))));
    }
    route = make_topic_route(make_sns_route(*runtime), *topics, *units, calls, 1);
    world.http.requests.clear();
  }
  ~TopicRouteTest() override {
    route.reset();
    units.reset();
    runtime.reset();
  }

  static PublishInput input() {
    PublishInput input;
    input.topic_arn = topic_arn(Account{}, kTopic);
    input.message = "a & <b> = 100 % \xC3\xA4";
    input.subject = "of";
    input.group_id = "g";
    input.deduplication_id = "d+1";
    input.attributes["kind"] = {"String", "x y"};
    input.attributes["raw"] = {"Binary", "AAE="};
    return input;
  }
  HttpResponse send(HttpRequest request, bool passed = false) {
    request.headers.emplace_back("Host", "asked");
    if (passed) request.headers.emplace_back(kForwardedBy, "owner");
    const auto exchange = route->accept(std::move(request));
    auto run = exchange->run();
    for (int i = 0; i < 100'000 && !run.is_ready(); ++i) world.pass(milliseconds(1));
    EXPECT_TRUE(run.is_ready());
    return exchange->respond();
  }
  HttpResponse publish(bool passed = false) { return send(publish_request(Account{}, kTopic, input(), {}), passed); }
  static HttpResponse published(const std::string& id, const std::string& number) {
    HttpResponse response;
    response.status = 200;
    response.body = "<PublishResponse><PublishResult><MessageId>" + id + "</MessageId><SequenceNumber>" + number +
                    "</SequenceNumber></PublishResult></PublishResponse>";
    return response;
  }
  void answer_with(const Error& error) {
    world.http.answer = [error](const HttpRequest&) { return Result<HttpResponse>(fail(error)); };
  }

  NoSpawner spawner;
  NativeRegistry natives;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<TopicUnits> topics;
};

TEST_F(TopicRouteTest, APublishGoesToTheOwner) {
  begin();
  world.http.requests.clear();
  world.http.answers.emplace_back(published("m", "7"));
  const HttpResponse answer = publish();
  EXPECT_EQ(answer.body, published("m", "7").body);
  ASSERT_EQ(world.http.requests.size(), 1u);
  EXPECT_EQ(world.http.urls.back(), "http://owner/");
  EXPECT_EQ(world.http.requests[0].body, publish_request(Account{}, kTopic, input(), {}).body);
  EXPECT_EQ(header(world.http.requests[0].headers, kForwardedBy), "asked");
  // It is never passed on twice.
  const HttpResponse again = publish(true);
  EXPECT_EQ(again.status, 503);
  EXPECT_EQ(header(again.headers, "Retry-After"), "1");
  EXPECT_NE(again.body.find("no member of the fleet serves topic &apos;Orders.fifo&apos;"), std::string::npos)
      << again.body;
}

TEST_F(TopicRouteTest, OtherRequestsStayHere) {
  begin();
  world.http.requests.clear();
  PublishInput plain;
  plain.message = "x";
  EXPECT_EQ(send(publish_request(Account{}, "Plain", plain, {})).status, 200);
  EXPECT_EQ(send(publish_request(Account{}, "Unknown.fifo", input(), {})).status, 404);
  HttpRequest list = publish_request(Account{}, kTopic, input(), {});
  list.body = "Action=GetTopicAttributes&TopicArn=" + topic_arn(Account{}, kTopic);
  EXPECT_EQ(send(std::move(list)).status, 200);
  EXPECT_EQ(world.http.requests.size(), 0u);
}

TEST_F(TopicRouteTest, AnOwnerThatCannotBeReachedOrDoesNotAnswer) {
  begin();
  world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "nobody listens"); };
  const HttpResponse unreached = publish();
  EXPECT_EQ(unreached.status, 503);
  EXPECT_NE(unreached.body.find("cannot be reached"), std::string::npos) << unreached.body;
  answer_with({ErrorCode::kTimeout, "no answer", nullptr});
  const HttpResponse silent = publish();
  EXPECT_EQ(silent.status, 500);
  EXPECT_NE(silent.body.find("did not answer"), std::string::npos) << silent.body;
}

TEST_F(TopicRouteTest, APublishOfAFunctionGoesToTheOwner) {
  const auto early = world.wait(runtime->publisher().publish(input()));
  EXPECT_EQ(early.error().code, ErrorCode::kUnavailable) << "it has not joined yet";
  begin();
  world.http.answers.emplace_back(published("m", "7"));
  const auto sent = world.wait(runtime->publisher().publish(input()));
  ASSERT_TRUE(sent.has_value()) << sent.error().message;
  EXPECT_EQ(*sent, "m");
  EXPECT_EQ(world.http.requests.back().body, publish_request(Account{}, kTopic, input(), {}).body);
  EXPECT_EQ(published_fifo_topic(world.http.requests.back()), kTopic);
  HttpResponse refused;
  refused.status = 400;
  refused.body =
      "<ErrorResponse><Error><Code>InvalidParameter</Code><Message>a &lt;b&gt;</Message></Error></ErrorResponse>";
  world.http.answers.emplace_back(refused);
  const auto not_sent = world.wait(runtime->publisher().publish(input()));
  EXPECT_EQ(not_sent.error().code, ErrorCode::kValidation);
  EXPECT_EQ(not_sent.error().message, "a <b>");
}

TEST_F(TopicRouteTest, TheMemberServesATopicThatNobodyElseHas) {
  TopicDefinition topic;
  topic.name = "Mine.fifo";
  EXPECT_TRUE(world.wait(runtime->put_topic(std::move(topic))));
  EXPECT_EQ(send(publish_request(Account{}, "Mine.fifo", input(), {})).status, 503);
  begin();
  world.pass(seconds(5));
  EXPECT_TRUE(topics->may_serve("Mine.fifo"));
  EXPECT_FALSE(topics->may_serve(kTopic));
  const HttpResponse answer = send(publish_request(Account{}, "Mine.fifo", input(), {}));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(published_in(answer)->sequence_number, "10000000000000000001");
}

}  // namespace
}  // namespace freshet
