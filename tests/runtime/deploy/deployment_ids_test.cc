// Definitions of one template that get in each other's way, and those that the runtime would refuse.
#include <gtest/gtest.h>

#include "tests/runtime/deploy/deployment_text.h"

namespace freshet {
namespace {

TEST(Deployment, AnEventInvokeConfigLeavesTheDeadLetterTargetAlone) {
  auto out = deploy(kBase +
                    "      DeadLetterQueue: {Type: SNS, TargetArn: !Ref Topic}\n"
                    "  G: {Type: AWS::Lambda::Function, Properties: {Runtime: native, Handler: trigger,\n"
                    "    DeadLetterConfig: {TargetArn: !Ref Topic}}}\n"
                    "  OfF: {Type: AWS::Lambda::EventInvokeConfig, Properties: {FunctionName: !Ref F,\n"
                    "    Qualifier: $LATEST, MaximumRetryAttempts: 1}}\n"
                    "  OfG: {Type: AWS::Lambda::EventInvokeConfig, Properties: {FunctionName: !Ref G,\n"
                    "    Qualifier: $LATEST, MaximumRetryAttempts: 0}}\n");
  ASSERT_TRUE(out) << out.error().message;
  for (const FunctionDefinition& function : out->functions) {
    EXPECT_EQ(function.dead_letter.target, "arn:aws:sns:us-east-1:000000000000:Topic") << function.name;
  }
  EXPECT_EQ(out->functions.at(0).async.max_retries, 1);
  EXPECT_EQ(out->functions.at(1).async.max_retries, 0);
}

TEST(Deployment, ASecondEventInvokeConfigOfAFunctionIsAnError) {
  const std::string config =
      ": {Type: AWS::Lambda::EventInvokeConfig, Properties: {FunctionName: !Ref F, Qualifier: $LATEST}}\n";
  EXPECT_EQ(errors(kBase + "  One" + config + "  Two" + config),
            "t.yaml:15: Two: the event invoke config of function F is there already: One in line 14");
  EXPECT_EQ(errors(kBase + "      EventInvokeConfig: {MaximumRetryAttempts: 0}\n  One" + config),
            "t.yaml:15: One: the event invoke config of function F is there already: F in line 14");
}

// `Foo` + `BarS` and `FooBar` + `S` make one id: of two event sources one would be lost.
TEST(Deployment, TwoEventSourcesWithOneIdAreAnError) {
  const auto function = [](const std::string& name, const std::string& event, const std::string& source) {
    return "  " + name + ":\n    Type: AWS::Serverless::Function\n    Properties:\n      Runtime: native\n" +
           "      Handler: trigger\n      Events:\n        " + event + ": " + source + "\n";
  };
  const std::string rows = "{Type: DynamoDB, Properties: {Stream: !GetAtt Tab.StreamArn, StartingPosition: LATEST}}";
  const std::string news = "{Type: SNS, Properties: {Topic: !Ref Topic}}";
  const std::string what_to_do =
      "; the id of an event is the function's and the event's name together: give one of them another name";
  EXPECT_EQ(errors(kBase + function("Foo", "BarS", rows) + function("FooBar", "S", rows)),
            "t.yaml:27: FooBar: the event source mapping FooBarS is there already: Foo in line 20" + what_to_do);
  EXPECT_EQ(errors(kBase + function("Foo", "BarS", news) + function("FooBar", "S", news)),
            "t.yaml:27: FooBar: the subscription Topic:FooBarS is there already: Foo in line 20" + what_to_do);
  EXPECT_EQ(errors(kBase + function("Foo", "Bar", rows) +
                   "  FooBar: {Type: AWS::Lambda::EventSourceMapping, Properties: {FunctionName: !Ref F,\n" +
                   "    EventSourceArn: !GetAtt Tab.StreamArn, StartingPosition: LATEST}}\n"),
            "t.yaml:21: FooBar: the event source mapping FooBar is there already: Foo in line 20" + what_to_do);
  EXPECT_EQ(
      errors(kBase + function("Foo", "Bar", news) +
             "  FooBar: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Topic, Protocol: lambda,\n" +
             "    Endpoint: !GetAtt F.Arn}}\n"),
      "t.yaml:21: FooBar: the subscription Topic:FooBar is there already: Foo in line 20; give it another logical "
      "id");
  // A mapping and a subscription are no neighbours; nor are subscriptions of different topics.
  EXPECT_EQ(errors(kBase + function("Foo", "BarS", rows) + function("FooBar", "S", news) +
                   "  Other: {Type: AWS::SNS::Topic}\n" +
                   function("Fo", "oBarS", "{Type: SNS, Properties: {Topic: !Ref Other}}")),
            "");
}

TEST(Deployment, EndpointsOfATopicsListHaveIdsByWhatTheyAre) {
  const auto list = [](const std::string& endpoints) {
    return deploy(kBase + "  Listed: {Type: AWS::SNS::Topic, Properties: {Subscription: [" + endpoints + "]}}\n");
  };
  const std::string a = "{Protocol: http, Endpoint: 'http://a/'}";
  const std::string b = "{Protocol: http, Endpoint: 'http://b/'}";
  const std::string f = "{Protocol: lambda, Endpoint: !GetAtt F.Arn}";
  auto all = list(a + "," + b + "," + f);
  auto fewer = list(f + "," + b);
  ASSERT_TRUE(all && fewer);
  ASSERT_EQ(all->subscriptions.size(), 3u);
  EXPECT_TRUE(all->subscriptions[0].id.starts_with("ListedSubscription")) << all->subscriptions[0].id;
  EXPECT_EQ(fewer->subscriptions.at(0), all->subscriptions[2]);
  EXPECT_EQ(fewer->subscriptions.at(1), all->subscriptions[1]);
  auto twice = list(a + ",\n    " + a);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("is there already: Listed in line 14; name each endpoint once"),
            std::string::npos)
      << twice.error().message;
}

// Each would be refused by the runtime, when tables and topics are made already.
TEST(Deployment, WhatTheRuntimeWouldRefuseIsAnErrorOfTheTemplate) {
  const std::string event = kBase + "      Events:\n        E: ";
  const std::vector<std::pair<std::string, std::string>> table{
      {kBase + "      FunctionName: a b\n",
       "t.yaml:9: F: Function name \"a b\": 1 to 140 letters, digits, '-' and '_' are allowed"},
      {kBase + "      Environment: {Variables: {A: " + std::string(5'000, 'x') + "}}\n",
       "t.yaml:9: F: Function F: its environment has 5001 bytes; the limit is 4 KB"},
      {kBase + "  T: {Type: AWS::SNS::Topic, Properties: {TopicName: a b}}\n",
       "t.yaml:14: T: Invalid parameter: Topic Name \"a b\""},
      {event + "{Type: SNS, Properties: {Topic: !Ref Topic, FilterPolicy: {a: [{like: x}]}}}\n",
       "t.yaml:15: F: Invalid parameter: FilterPolicy: Pattern at \"a\": unknown operator \"like\""},
      {event + "{Type: DynamoDB, Properties: {Stream: !GetAtt Tab.StreamArn, StartingPosition: LATEST,\n" +
           "          FilterCriteria: {Filters: [{Pattern: '{}'}]}}}\n",
       "t.yaml:15: F: Event source mapping Tab to F: filter: Pattern at the top level: an empty object"},
      {event + "{Type: Schedule, Properties: {Schedule: rate(1 hour), Input: '{'}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties.Input: it is not JSON"},
      {kBase + "  Sub: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Topic, Protocol: lambda,\n" +
           "    Endpoint: !GetAtt F.Arn, FilterPolicy: '['}}\n",
       "t.yaml:14: Sub: Invalid parameter: FilterPolicy: Pattern is not JSON"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(errors(text).substr(0, expected.size()), expected) << text;
}

TEST(Deployment, NamesOfFreshetsOwnTablesAreRefused) {
  EXPECT_EQ(
      errors(kBase + "  T: {Type: AWS::Serverless::SimpleTable, Properties: {TableName: freshet.system}}\n"),
      "t.yaml:14: T.TableName: names that start with 'freshet.' are those of Freshet's own tables; give it another "
      "TableName");
}

}  // namespace
}  // namespace freshet
