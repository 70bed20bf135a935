#include "runtime/deploy/plan.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

IndexDefinition index(std::string name, std::string key) {
  return {std::move(name), {{std::move(key), Type::kString}, {}}, false, Projection::kAll, {}};
}

Deployment sample() {
  Deployment out;
  TableDefinition table;
  table.name = "Tasks";
  table.keys.partition = {"id", Type::kString};
  table.indexes = {index("by-a", "a"), index("by-b", "b")};
  table.stream = StreamView::kKeysOnly;
  out.tables = {table};
  out.topics = {{"News"}};
  FunctionDefinition function;
  function.name = "Work";
  function.handler = "work";
  out.functions = {function};
  out.subscriptions = {{"WorkNews", "News", "lambda", "Work", ""}};
  MappingDefinition mapping;
  mapping.id = "WorkRows";
  mapping.table = "Tasks";
  mapping.function = "Work";
  out.mappings = {mapping};
  out.schedules = {{"WorkTick", "rate(1 hour)", "Work", "", true}};
  return out;
}

// The state after `deployment` has been applied.
DeployedState after(const Deployment& deployment, const DeploymentPlan& plan) {
  return {plan.tables,         deployment.topics,    deployment.subscriptions, deployment.functions,
          deployment.mappings, deployment.schedules, deployment.aliases,       plan.names};
}

TEST(Plan, EverythingIsMadeOnceInTheOrderOfNeed) {
  auto first = plan_deployment(sample(), {});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->to_string(),
            "+ table Tasks\n+ topic News\n+ function Work\n+ subscription News:WorkNews\n+ mapping WorkRows\n"
            "+ schedule WorkTick\n");
  EXPECT_EQ(change_name(first->changes.at(0).kind), "create");
  EXPECT_EQ(first->names.parts, (std::vector<std::string>{"Tasks/stream", "Tasks/index/by-a", "Tasks/index/by-b"}));
  auto second = plan_deployment(sample(), after(sample(), *first));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->to_string(), "");
  EXPECT_EQ(second->names, first->names);
}

TEST(Plan, WhatDiffersIsNamed) {
  auto first = plan_deployment(sample(), {});
  ASSERT_TRUE(first);
  Deployment changed = sample();
  changed.tables[0].ttl_attribute = "ttl";
  changed.tables[0].stream = StreamView::kNewImage;
  changed.functions[0].timeout = seconds(9);
  changed.functions[0].environment["A"] = "1";
  changed.subscriptions[0].filter_policy = R"({"a":[1]})";
  changed.mappings[0].batch_size = 7;
  changed.mappings[0].function = "arn:aws:lambda:us-east-1:000000000000:function:Work";
  changed.schedules[0].expression = "rate(2 hours)";
  auto plan = plan_deployment(changed, after(sample(), *first));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->to_string(),
            "~ table Tasks: stream, time to live\n~ function Work: timeout, environment\n"
            "~ subscription News:WorkNews: filter\n~ mapping WorkRows: batch size\n~ schedule WorkTick: expression\n");
}

TEST(Plan, OnlyWhatADeploymentMadeIsRemovedAndTablesStay) {
  auto first = plan_deployment(sample(), {});
  ASSERT_TRUE(first);
  DeployedState now = after(sample(), *first);
  now.topics.push_back({"MadeByAClient"});
  now.functions.push_back(now.functions[0]);
  now.functions.back().name = "MadeByAClient";
  auto plan = plan_deployment({}, now);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->to_string(),
            "- schedule WorkTick\n- mapping WorkRows\n- subscription News:WorkNews\n- function Work\n- topic News\n"
            "= table Tasks (no longer in the template; stays with its items)\n");
  EXPECT_EQ(plan->names, DeployedNames{});
  // Parts that are gone already need not be removed.
  DeployedState gone = after({}, *plan);
  gone.last = first->names;
  EXPECT_EQ(plan_deployment({}, gone)->changes.size(), 1u);
}

TEST(Plan, PartsOfATableBelongToWhoeverMadeThem) {
  auto first = plan_deployment(sample(), {});
  ASSERT_TRUE(first);
  DeployedState now = after(sample(), *first);
  // A queue or a client has added an index and books.
  now.tables[0].indexes.insert(now.tables[0].indexes.begin(), index("freshet-lane-index", "lane"));
  now.tables[0].books = BooksDefinition{};
  auto same = plan_deployment(sample(), now);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->to_string(), "");

  Deployment less = sample();
  less.tables[0].indexes.pop_back();
  less.tables[0].stream.reset();
  auto plan = plan_deployment(less, now);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->to_string(), "~ table Tasks: indexes, stream\n");
  EXPECT_TRUE(plan->tables[0].index("by-a"));
  EXPECT_FALSE(plan->tables[0].index("by-b"));
  EXPECT_TRUE(plan->tables[0].index("freshet-lane-index"));
  EXPECT_FALSE(plan->tables[0].stream);
  EXPECT_EQ(plan->tables[0].books, BooksDefinition{});
}

// Earlier versions numbered the endpoints of a topic's list by their places.
TEST(Plan, AnEndpointOfATopicsListKeepsTheIdThatAnEarlierVersionGaveIt) {
  Deployment wanted = sample();
  const auto listed = [&](const std::string& id, const std::string& url) {
    wanted.subscriptions.push_back({id, "News", "http", url, ""});
    wanted.listed_subscriptions["News:" + id] = "NewsSubscription";
  };
  Deployment before = sample();
  before.subscriptions.push_back({"NewsSubscription1", "News", "http", "http://a/", ""});
  before.subscriptions.push_back({"NewsSubscription2", "News", "http", "http://b/", ""});
  before.subscriptions.push_back({"ByAClient", "News", "http", "http://c/", ""});
  auto first = plan_deployment(before, {});
  ASSERT_TRUE(first);
  std::erase(first->names.subscriptions, "News:ByAClient");
  const DeployedState now = after(before, *first);

  listed("NewsSubscriptionbb", "http://b/");
  listed("NewsSubscriptioncc", "http://c/");
  auto plan = plan_deployment(wanted, now);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->to_string(), "+ subscription News:NewsSubscriptioncc\n- subscription News:NewsSubscription1\n");
  EXPECT_EQ(plan->names.subscriptions,
            (std::vector<std::string>{"News:WorkNews", "News:NewsSubscription2", "News:NewsSubscriptioncc"}));
  // And so on, the next time.
  Deployment then = wanted;
  then.subscriptions = plan->subscriptions;
  EXPECT_EQ(plan_deployment(wanted, after(then, *plan))->to_string(), "");
}

TEST(Plan, OtherKeysAreRefused) {
  DeployedState now;
  now.tables = sample().tables;
  Deployment other = sample();
  other.tables[0].keys = {{"id", Type::kNumber}, KeyAttribute{"at", Type::kString}};
  auto plan = plan_deployment(other, now);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "table Tasks is there with the key id (S); the template wants id (N) and at (S). Keys of a table cannot be "
            "changed: give the table another TableName, or delete it first");
}

}  // namespace
}  // namespace freshet
