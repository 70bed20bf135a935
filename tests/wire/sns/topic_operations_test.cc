// Topics and publishing in the query protocol.
#include "tests/wire/sns/sns_fixture.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class SnsTopicTest : public SnsTest {};

TEST_F(SnsTopicTest, ATopicIsMadeOnce) {
  const std::string body = ok("CreateTopic", {{"Name", "News"}});
  EXPECT_THAT(body, MatchesRegex("<CreateTopicResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\">"
                                 "<CreateTopicResult><TopicArn>" +
                                 arn_ +
                                 "</TopicArn></CreateTopicResult><ResponseMetadata><RequestId>[0-9a-f-]+</RequestId>"
                                 "</ResponseMetadata></CreateTopicResponse>"));
  EXPECT_EQ(within(ok("CreateTopic", {{"Name", "News"}}), "TopicArn"), arn_);
  EXPECT_EQ(world_.stored("topic"), 1u);
  EXPECT_THAT(error("CreateTopic", {{"Name", "a b"}}),
              HasSubstr("400 InvalidParameter: Invalid parameter: Topic Name"));
  EXPECT_THAT(error("CreateTopic"), HasSubstr("400 InvalidParameter"));
}

TEST_F(SnsTopicTest, AttributesAreKeptAndShown) {
  const Fields named = {
      {"Name", "News"}, {"Attributes.entry.1.key", "DisplayName"}, {"Attributes.entry.1.value", "A & B"}};
  ok("CreateTopic", named);
  ok("SetTopicAttributes", {{"TopicArn", arn_}, {"AttributeName", "DeliveryPolicy"}, {"AttributeValue", R"({"a":1})"}});
  restart();
  const std::string shown = ok("GetTopicAttributes", {{"TopicArn", arn_}});
  EXPECT_EQ(attribute(shown, "TopicArn"), arn_);
  EXPECT_EQ(attribute(shown, "Owner"), "000000000000");
  EXPECT_EQ(attribute(shown, "DisplayName"), "A &amp; B");
  EXPECT_EQ(attribute(shown, "DeliveryPolicy"), "{&quot;a&quot;:1}");
  EXPECT_EQ(attribute(shown, "SubscriptionsConfirmed"), "0");
  EXPECT_THAT(attribute(shown, "Policy"), HasSubstr("__default_policy_ID"));
  ok("CreateTopic", named);
  EXPECT_EQ(
      error("CreateTopic",
            {{"Name", "News"}, {"Attributes.entry.1.key", "DisplayName"}, {"Attributes.entry.1.value", "C"}}),
      "400 InvalidParameter: Invalid parameter: Attributes Reason: Topic already exists with different attributes");
  EXPECT_THAT(error("SetTopicAttributes", {{"TopicArn", arn_}, {"AttributeName", "Colour"}, {"AttributeValue", "x"}}),
              HasSubstr("400 InvalidParameter: Invalid parameter: AttributeName"));
  EXPECT_THAT(error("SetTopicAttributes", {{"TopicArn", arn_}, {"AttributeName", "Policy"}, {"AttributeValue", "x"}}),
              HasSubstr("wants a JSON object"));
}

TEST_F(SnsTopicTest, BoundsOfTextAreInCharacters) {
  ok("CreateTopic", {{"Name", "News"}});
  std::string name;
  for (int i = 0; i < 100; ++i) name += "\xC3\xA4";
  const auto set = [&](const std::string& value) {
    return Fields{{"TopicArn", arn_}, {"AttributeName", "DisplayName"}, {"AttributeValue", value}};
  };
  ok("SetTopicAttributes", set(name));
  EXPECT_THAT(error("SetTopicAttributes", set(name + "x")), HasSubstr("at most 100 characters"));
  ok("TagResource", {{"ResourceArn", arn_}, {"Tags.member.1.Key", name}, {"Tags.member.1.Value", name + name}});
  EXPECT_THAT(
      error("TagResource", {{"ResourceArn", arn_}, {"Tags.member.1.Key", name + name}, {"Tags.member.1.Value", ""}}),
      HasSubstr("1 to 128 characters"));
}

TEST_F(SnsTopicTest, ListsInPages) {
  for (int i = 0; i < 205; ++i) ok("CreateTopic", {{"Name", "T" + std::to_string(1000 + i)}});
  std::string token;
  std::vector<size_t> pages;
  do {
    Fields fields;
    if (!token.empty()) fields.emplace_back("NextToken", token);
    const std::string page = ok("ListTopics", fields);
    pages.push_back(count(page, "<TopicArn>"));
    token = within(page, "NextToken");
  } while (!token.empty());
  EXPECT_EQ(pages, (std::vector<size_t>{100, 100, 5}));
  EXPECT_THAT(error("ListTopics", {{"NextToken", "*"}}),
              HasSubstr("400 InvalidParameter: Invalid parameter: NextToken"));
}

TEST_F(SnsTopicTest, WhatIsNotOursHasItsError) {
  ok("CreateTopic", {{"Name", "News"}});
  const auto get = [&](const std::string& arn) { return error("GetTopicAttributes", {{"TopicArn", arn}}); };
  EXPECT_EQ(get("arn:aws:sns:us-east-1:000000000000:Other"), "404 NotFound: Topic does not exist");
  EXPECT_THAT(get("News"), HasSubstr("400 InvalidParameter: Invalid parameter: TopicArn"));
  EXPECT_THAT(get("arn:aws:sqs:us-east-1:000000000000:News"), HasSubstr("not the ARN of a topic"));
  EXPECT_THAT(get("arn:aws:sns:eu-west-1:000000000000:News"), HasSubstr("the region is us-east-1"));
  EXPECT_THAT(get("arn:aws:sns:us-east-1:123456789012:News"), HasSubstr("403 AuthorizationError: "));
  EXPECT_THAT(get(""), HasSubstr("no value for required parameter"));
  EXPECT_THAT(error("GetSMSAttributes"), HasSubstr("400 InvalidAction: "));
  const HttpRequest broken{"POST", "/", {{"Content-Type", "application/x-www-form-urlencoded"}}, "a=%"};
  EXPECT_EQ(within(send(broken).body, "Code"), "MalformedQueryString");
  const HttpRequest get_request{"GET", "/?Action=DeleteTopic&TopicArn=" + arn_, {{"Host", "h"}}, ""};
  EXPECT_EQ(send(get_request).status, 403) << "a link must not delete";
  EXPECT_FALSE(route_->matches({"GET", "/", {}, ""}));
  EXPECT_FALSE(route_->matches({"POST", "/", {{"Content-Type", "application/x-amz-json-1.0"}}, ""}));
}

TEST_F(SnsTopicTest, DeletesTopicsThatAreThereOrNot) {
  ok("CreateTopic", {{"Name", "News"}});
  ok("DeleteTopic", {{"TopicArn", arn_}});
  ok("DeleteTopic", {{"TopicArn", arn_}});
  EXPECT_EQ(count(ok("ListTopics"), "<TopicArn>"), 0u);
  EXPECT_EQ(world_.stored("topic"), 0u);
}

class SnsPublishTest : public SnsTest {
 protected:
  SnsPublishTest() {
    ok("CreateTopic", {{"Name", "News"}});
    world_.add_function("A");
    world_.must(world_.runtime->subscribe({"a", "News", "lambda", "A", R"({"kind":["x"]})"}));
  }
  Fields message(const std::string& text, Fields more = {}) {
    more.emplace_back("TopicArn", arn_);
    more.emplace_back("Message", text);
    return more;
  }
  static Fields attribute_of(const std::string& type, const std::string& field, const std::string& value) {
    return {{"MessageAttributes.entry.1.Name", "kind"},
            {"MessageAttributes.entry.1.Value.DataType", type},
            {"MessageAttributes.entry.1.Value." + field, value}};
  }
};

TEST_F(SnsPublishTest, AMessageReachesWhoWantsIt) {
  const std::string answer = ok("Publish", message("Hi \"you\"\n", attribute_of("String", "StringValue", "x")));
  ok("Publish", message("not for A", attribute_of("String", "StringValue", "y")));
  world_.sim.run_ready();
  ASSERT_EQ(world_.calls("A"), 1u);
  const std::string event = world_.payloads("A").front();
  EXPECT_THAT(event, HasSubstr(R"("Message":"Hi \"you\"\n")"));
  EXPECT_THAT(event, HasSubstr(R"("MessageAttributes":{"kind":{"Type":"String","Value":"x"}})"));
  EXPECT_THAT(event, HasSubstr("\"MessageId\":\"" + within(answer, "MessageId") + "\""));
}

TEST_F(SnsPublishTest, AStructureHasAMessageForEachProtocol) {
  world_.must(world_.runtime->subscribe({"h", "News", "http", "http://127.0.0.1:2/", "", false, true}));
  Fields fields = attribute_of("String", "StringValue", "x");
  fields.emplace_back("MessageStructure", "json");
  ok("Publish", message(R"({"default":"all","lambda":"for functions","email":"none"})", fields));
  world_.sim.run_for(seconds(1));
  ASSERT_EQ(world_.calls("A"), 1u);
  EXPECT_THAT(world_.payloads("A").front(), HasSubstr(R"("Message":"for functions")"));
  ASSERT_EQ(world_.http.requests.size(), 1u);
  EXPECT_EQ(world_.http.requests.front().body, "all");
  const auto refused = [&](const std::string& text) {
    return error("Publish", message(text, {{"MessageStructure", "json"}}));
  };
  EXPECT_THAT(refused("{"), HasSubstr("JSON message body failed to parse"));
  EXPECT_THAT(refused(R"({"lambda":"x"})"), HasSubstr("No default entry in JSON message body"));
  EXPECT_THAT(refused(R"({"default":"x","http":1})"), HasSubstr("http is not a string"));
}

TEST_F(SnsPublishTest, BadMessagesAreRefused) {
  const auto refused = [&](Fields more, const std::string& text = "x") {
    return error("Publish", message(text, std::move(more)));
  };
  EXPECT_THAT(refused({}, ""), HasSubstr("400 InvalidParameter: Invalid parameter: Empty message"));
  EXPECT_THAT(refused({}, std::string((256u << 10) + 1, 'x')), HasSubstr("Message too long"));
  EXPECT_THAT(refused({{"Subject", std::string(101, 's')}}), HasSubstr("Subject"));
  EXPECT_THAT(refused({{"MessageGroupId", "g"}}), HasSubstr("not valid for this topic type"));
  EXPECT_THAT(refused({{"MessageStructure", "xml"}}), HasSubstr("MessageStructure"));
  EXPECT_THAT(refused({{"PhoneNumber", "+1"}}), HasSubstr("PhoneNumber"));
  EXPECT_THAT(refused(attribute_of("String", "BinaryValue", "eA==")), HasSubstr("400 ParameterValueInvalid: "));
  EXPECT_THAT(refused(attribute_of("Binary", "BinaryValue", "?")), HasSubstr("is not base64"));
  EXPECT_THAT(refused(attribute_of("", "StringValue", "x")), HasSubstr("non-empty message attribute type"));
  EXPECT_THAT(refused(attribute_of("Number", "StringValue", "x")), HasSubstr("is not a number"));
  EXPECT_EQ(error("Publish", {{"TopicArn", arn_ + "2"}, {"Message", "x"}}), "404 NotFound: Topic does not exist");
  world_.sim.run_ready();
  EXPECT_EQ(world_.calls("A"), 0u);
}

}  // namespace
}  // namespace freshet
