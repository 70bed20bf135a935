// FIFO topics in the query protocol: names, attributes, ids, sequence numbers, deduplication.
#include "tests/wire/sns/sns_fixture.h"

namespace freshet {
namespace {

using testing::HasSubstr;

class SnsFifoTest : public SnsTest {
 protected:
  static Fields fifo(const std::string& name, const Fields& attributes = {}) {
    Fields fields = {{"Name", name}, {"Attributes.entry.1.key", "FifoTopic"}, {"Attributes.entry.1.value", "true"}};
    int number = 1;
    for (const auto& [key, value] : attributes) {
      const std::string entry = "Attributes.entry." + std::to_string(++number);
      fields.emplace_back(entry + ".key", key);
      fields.emplace_back(entry + ".value", value);
    }
    return fields;
  }
  static Fields message(const std::string& text, const std::string& group, const std::string& id = "") {
    Fields fields = {{"TopicArn", kTopic}, {"Message", text}, {"MessageGroupId", group}};
    if (!id.empty()) fields.emplace_back("MessageDeduplicationId", id);
    return fields;
  }
  void subscribe(const std::string& function) {
    world_.add_function(function);
    ok("Subscribe", {{"TopicArn", kTopic}, {"Protocol", "lambda"}, {"Endpoint", function_arn(Account{}, function)}});
  }
  static constexpr const char* kTopic = "arn:aws:sns:us-east-1:000000000000:Orders.fifo";
};

TEST_F(SnsFifoTest, NamesAndAttributesBelongTogether) {
  EXPECT_EQ(within(ok("CreateTopic", fifo("Orders.fifo")), "TopicArn"), kTopic);
  ok("CreateTopic", fifo("Orders.fifo"));
  const std::string shown = ok("GetTopicAttributes", {{"TopicArn", kTopic}});
  EXPECT_EQ(attribute(shown, "FifoTopic"), "true");
  EXPECT_EQ(attribute(shown, "ContentBasedDeduplication"), "false");
  EXPECT_EQ(error("CreateTopic", fifo("Orders")),
            "400 InvalidParameter: Invalid parameter: Topic Name Reason: FIFO topic names must end with .fifo and must "
            "be made up of only uppercase and lowercase ASCII letters, numbers, underscores, and hyphens, and must be "
            "between 1 and 256 characters long");
  EXPECT_THAT(error("CreateTopic", {{"Name", "Orders.fifo"}}), HasSubstr("whose attribute FifoTopic is true"));
  EXPECT_THAT(error("CreateTopic", fifo(".fifo")), HasSubstr("400 InvalidParameter: Invalid parameter: Topic Name"));
  EXPECT_THAT(error("CreateTopic", fifo(std::string(252, 'a') + ".fifo")), HasSubstr("256 characters"));
  EXPECT_THAT(error("CreateTopic", fifo("a.fifo", {{"FifoThroughputScope", "Queue"}})),
              HasSubstr("there are Topic and MessageGroup"));
  EXPECT_THAT(error("CreateTopic", {{"Name", "Plain"},
                                    {"Attributes.entry.1.key", "ContentBasedDeduplication"},
                                    {"Attributes.entry.1.value", "true"}}),
              HasSubstr("only FIFO topics have it"));
  const auto set = [&](const std::string& topic, const std::string& name, const std::string& value) {
    return Fields{{"TopicArn", topic}, {"AttributeName", name}, {"AttributeValue", value}};
  };
  ok("SetTopicAttributes", set(kTopic, "ContentBasedDeduplication", "true"));
  EXPECT_EQ(attribute(ok("GetTopicAttributes", {{"TopicArn", kTopic}}), "ContentBasedDeduplication"), "true");
  EXPECT_THAT(error("SetTopicAttributes", set(kTopic, "FifoTopic", "false")), HasSubstr("FifoTopic cannot be changed"));
  ok("CreateTopic", {{"Name", "News"}});
  EXPECT_THAT(error("SetTopicAttributes", set(arn_, "FifoTopic", "true")), HasSubstr("FifoTopic cannot be changed"));
  EXPECT_THAT(error("SetTopicAttributes", set(arn_, "ContentBasedDeduplication", "true")),
              HasSubstr("only FIFO topics have it"));
}

TEST_F(SnsFifoTest, EachKindOfTopicWantsItsIds) {
  ok("CreateTopic", fifo("Orders.fifo"));
  ok("CreateTopic", {{"Name", "News"}});
  EXPECT_EQ(error("Publish", {{"TopicArn", kTopic}, {"Message", "x"}}),
            "400 InvalidParameter: Invalid parameter: The MessageGroupId parameter is required for FIFO topics");
  EXPECT_EQ(error("Publish", message("x", "g")),
            "400 InvalidParameter: Invalid parameter: The topic should either have ContentBasedDeduplication enabled "
            "or MessageDeduplicationId provided explicitly");
  for (const char* name : {"MessageGroupId", "MessageDeduplicationId"}) {
    EXPECT_EQ(error("Publish", {{"TopicArn", arn_}, {"Message", "x"}, {name, "1"}}),
              std::string("400 InvalidParameter: Invalid parameter: ") + name + " Reason: The request includes " +
                  name + " parameter that is not valid for this topic type");
  }
  for (const std::string& bad : {std::string("a b"), std::string(129, 'a'), std::string("ä"), std::string()}) {
    EXPECT_THAT(error("Publish", message("x", bad, "1")), HasSubstr("MessageGroupId"));
    if (bad.empty()) continue;
    EXPECT_THAT(error("Publish", message("x", "g", bad)), HasSubstr("MessageDeduplicationId"));
  }
}

TEST_F(SnsFifoTest, WhatWasSentIsAnsweredAgainAndNotDelivered) {
  ok("CreateTopic", fifo("Orders.fifo"));
  subscribe("F");
  const std::string first = ok("Publish", message("one", "g", "1"));
  EXPECT_EQ(within(first, "SequenceNumber"), "10000000000000000001");
  const auto again = [&] { return ok("Publish", message("another body", "another-group", "1")); };
  EXPECT_EQ(within(again(), "MessageId"), within(first, "MessageId"));
  EXPECT_EQ(within(again(), "SequenceNumber"), within(first, "SequenceNumber"));
  restart();
  EXPECT_EQ(within(again(), "MessageId"), within(first, "MessageId"));
  world_.sim.run_for(seconds(299));
  EXPECT_EQ(within(again(), "MessageId"), within(first, "MessageId"));
  EXPECT_EQ(world_.calls("F"), 1u);
  world_.sim.run_for(seconds(1));
  EXPECT_EQ(within(again(), "SequenceNumber"), "10000000000000000002");
  world_.sim.run_for(seconds(400));
  EXPECT_EQ(world_.calls("F"), 2u);
  EXPECT_EQ(world_.must(world_.tables->describe_table("freshet.deduplication")).items, 0u) << "swept";
}

TEST_F(SnsFifoTest, TheBodyOrTheGroupMayBeLookedAt) {
  ok("CreateTopic",
     fifo("Orders.fifo", {{"ContentBasedDeduplication", "true"}, {"FifoThroughputScope", "MessageGroup"}}));
  subscribe("F");
  ok("Publish", message("one", "a"));
  ok("Publish", message("one", "a"));
  ok("Publish", message("one", "b"));
  ok("Publish", message("two", "a"));
  ok("Publish", message("one", "a", "explicit"));
  world_.sim.run_ready();
  EXPECT_EQ(world_.calls("F"), 4u);
  const std::string event = world_.payloads("F").front();
  EXPECT_THAT(
      event,
      HasSubstr(R"("SequenceNumber":"10000000000000000001","MessageGroupId":"a",)"
                R"("MessageDeduplicationId":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed")"));
}

TEST_F(SnsFifoTest, ABatchIsPublishedInOrder) {
  ok("CreateTopic", fifo("Orders.fifo"));
  subscribe("F");
  Fields batch = {{"TopicArn", kTopic}};
  for (int i = 1; i <= 4; ++i) {
    const std::string entry = "PublishBatchRequestEntries.member." + std::to_string(i);
    batch.emplace_back(entry + ".Id", "e" + std::to_string(i));
    batch.emplace_back(entry + ".Message", std::to_string(i));
    if (i != 2) batch.emplace_back(entry + ".MessageGroupId", "g");
    batch.emplace_back(entry + ".MessageDeduplicationId", i == 4 ? "1" : std::to_string(i));
  }
  const std::string answer = ok("PublishBatch", batch);
  EXPECT_THAT(answer, HasSubstr("<Id>e2</Id><Code>InvalidParameter</Code>"));
  EXPECT_EQ(count(answer, "<SequenceNumber>10000000000000000001</SequenceNumber>"), 2u) << "the repeated one, too";
  EXPECT_EQ(count(answer, "<SequenceNumber>10000000000000000002</SequenceNumber>"), 1u);
  world_.sim.run_ready();
  ASSERT_EQ(world_.calls("F"), 2u);
  EXPECT_THAT(world_.payloads("F")[0], HasSubstr(R"("Message":"1")"));
  EXPECT_THAT(world_.payloads("F")[1], HasSubstr(R"("Message":"3")"));
}

TEST_F(SnsFifoTest, AnotherTopicOfTheSameNameKnowsNothing) {
  ok("CreateTopic", fifo("Orders.fifo"));
  const std::string first = ok("Publish", message("one", "g", "1"));
  ok("DeleteTopic", {{"TopicArn", kTopic}});
  EXPECT_EQ(world_.stored("topic-sequence"), 0u);
  ok("CreateTopic", fifo("Orders.fifo"));
  EXPECT_NE(within(ok("Publish", message("one", "g", "1")), "MessageId"), within(first, "MessageId"));
}

TEST_F(SnsFifoTest, AHundredMaySubscribe) {
  ok("CreateTopic", fifo("Orders.fifo"));
  for (int i = 0; i < 100; ++i) subscribe("F" + std::to_string(i));
  EXPECT_EQ(
      error("Subscribe", {{"TopicArn", kTopic}, {"Protocol", "lambda"}, {"Endpoint", function_arn(Account{}, "F100")}}),
      "403 SubscriptionLimitExceeded: The topic has 100 subscriptions already, which is the limit");
  ok("Publish", message("one", "g", "1"));
  ok("Publish", message("one", "g", "1"));
  world_.sim.run_ready();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(world_.calls("F" + std::to_string(i)), 1u);
}

}  // namespace
}  // namespace freshet
