// FIFO topics through the whole runtime: the order within a group, whatever fails, comes late or is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

using testing::ElementsAre;

struct FifoTest : testing::Test {
  static constexpr const char* kTopic = "Orders.fifo";

  void prepare(RuntimeWorld& world) {
    world.must(world.runtime->put_topic({kTopic}));
    AsyncConfig async;
    async.max_retries = 1;
    world.add_function("F", async);
    world.must(world.runtime->subscribe({"f", kTopic, "lambda", "F", "", false, false}));
  }
  static PublishInput message(const std::string& text, const std::string& group) {
    PublishInput input;
    input.topic_arn = topic_arn(Account{}, kTopic);
    input.message = text;
    input.group_id = group;
    input.deduplication_id = text;
    return input;
  }
  static void publish(RuntimeWorld& world, const std::string& text, const std::string& group) {
    world.must(world.runtime->publisher().publish(message(text, group)));
  }
  // The messages that the function was called with, in order.
  static std::vector<std::string> messages(const RuntimeWorld& world, const std::string& function) {
    std::vector<std::string> all;
    for (const std::string& payload : world.payloads(function)) {
      const auto event = parse_plain_json(payload);
      const List* records = event->get_if<Map>()->find("Records")->get_if<List>();
      all.emplace_back(records->elements.at(0).get_if<Map>()->find("Sns")->get_if<Map>()->string_or("Message"));
    }
    return all;
  }
};

TEST_F(FifoTest, TheNextOfAGroupWaitsForTheOneBeforeIt) {
  RuntimeWorld world;
  prepare(world);
  world.script["F"] = {fails("no", milliseconds(100)), takes(milliseconds(300))};
  publish(world, "a1", "a");
  publish(world, "a2", "a");
  publish(world, "b1", "b");
  world.sim.run_for(milliseconds(1));
  EXPECT_THAT(messages(world, "F"), ElementsAre("a1", "b1")) << "groups do not wait for each other";
  EXPECT_EQ(world.stats("F").queued, 1u);
  world.sim.run_for(milliseconds(900));
  EXPECT_EQ(world.calls("F"), 2u) << "the first one waits to be tried again";
  world.sim.run_for(seconds(2));
  EXPECT_THAT(messages(world, "F"), ElementsAre("a1", "b1", "a1", "a2"));
  EXPECT_EQ(world.stored("event"), 0u);
}

TEST_F(FifoTest, WhatIsGivenUpMakesWay) {
  RuntimeWorld world;
  prepare(world);
  world.script["F"] = {fails("no"), fails("no")};
  publish(world, "a1", "a");
  publish(world, "a2", "a");
  world.sim.run_for(seconds(10));
  EXPECT_THAT(messages(world, "F"), ElementsAre("a1", "a1", "a2"));
  EXPECT_EQ(world.stats("F").dropped, 1u);
}

TEST_F(FifoTest, TwoSubscriptionsOfOneFunctionDoNotWaitForEachOther) {
  RuntimeWorld world;
  prepare(world);
  world.must(world.runtime->subscribe({"g", kTopic, "lambda", "F", "", false, false}));
  world.script["F"] = {takes(seconds(1)), takes(seconds(1))};
  publish(world, "a1", "a");
  publish(world, "a2", "a");
  world.sim.run_for(milliseconds(1));
  EXPECT_THAT(messages(world, "F"), ElementsAre("a1", "a1"));
  world.sim.run_for(milliseconds(1001));
  EXPECT_THAT(messages(world, "F"), ElementsAre("a1", "a1", "a2", "a2"));
}

TEST_F(FifoTest, TheOrderSurvivesALossOfPower) {
  RuntimeWorld world;
  prepare(world);
  world.add_function("F", {}, 0);
  for (int i = 0; i < 40; ++i) publish(world, std::to_string(i), "g" + std::to_string(i % 2));
  EXPECT_EQ(world.stats("F").queued, 40u);
  world.must(world.tables->durable());
  world.power_loss();
  EXPECT_EQ(world.stats("F").queued, 40u);
  for (int i = 40; i < 50; ++i) publish(world, std::to_string(i), "g" + std::to_string(i % 2));
  for (int i = 0; i < 25; ++i) world.script["F"].push_back(i % 5 == 0 ? fails("no") : takes(milliseconds(50)));
  AsyncConfig async;
  async.max_retries = 1;
  world.add_function("F", async);
  world.sim.run_for(seconds(120));
  std::map<std::string, int> next{{"g0", 0}, {"g1", 1}};
  std::set<std::string> seen;
  for (const std::string& text : messages(world, "F")) {
    if (!seen.insert(text).second) continue;
    int& expected = next["g" + std::to_string(std::stoi(text) % 2)];
    EXPECT_EQ(std::stoi(text), expected);
    expected += 2;
  }
  EXPECT_EQ(seen.size(), 50u);
  EXPECT_EQ(world.stored("event"), 0u);
}

// Publishes that were begun together, on a store whose writes take effect late and out of step.
TEST_F(FifoTest, PublishesTakeTheirTurn) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    RuntimeWorld world(RuntimeOptions{}, seed);
    prepare(world);
    std::vector<Async<Result<std::string>>> publishes;
    for (int i = 0; i < 10; ++i) {
      publishes.push_back(world.runtime->publisher().publish(message("m" + std::to_string(i), "g")));
      publishes.push_back(world.runtime->publisher().publish(message("m" + std::to_string(i), "g")));
    }
    for (size_t i = 0; i < publishes.size(); i += 2) {
      const std::string first = world.must(std::move(publishes[i]));
      EXPECT_EQ(world.must(std::move(publishes[i + 1])), first) << "sent twice is sent once";
    }
    world.sim.run_for(seconds(60));
    EXPECT_THAT(messages(world, "F"), ElementsAre("m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"));
  }
}

// The caller has gone away: the next publish has its turn all the same.
TEST_F(FifoTest, APublisherThatGoesAwayHoldsUpNobody) {
  RuntimeWorld world(RuntimeOptions{}, 5);
  prepare(world);
  for (int i = 0; i < 5; ++i) {
    auto abandoned = world.runtime->publisher().publish(message("m" + std::to_string(i), "g"));
    EXPECT_FALSE(abandoned.is_ready());
  }
  publish(world, "last", "g");
  world.sim.run_for(seconds(10));
  EXPECT_THAT(messages(world, "F"), ElementsAre("m0", "m1", "m2", "m3", "m4", "last"));
}

TEST_F(FifoTest, AnEndpointGetsAGroupInOrderThoughItRefuses) {
  RuntimeWorld world;
  world.must(world.runtime->put_topic({kTopic}));
  world.must(world.runtime->subscribe({"e", kTopic, "http", "http://127.0.0.1:2/hook", "", false, true}));
  world.http.answers = {HttpResponse{200, "", {}, ""}, HttpResponse{503, "", {}, ""}, HttpResponse{404, "", {}, ""}};
  for (const char* text : {"1", "2", "3"}) publish(world, text, "g");
  world.sim.run_for(seconds(60));
  std::vector<std::string> bodies;
  for (const auto& request : world.http.requests) bodies.push_back(request.body);
  EXPECT_THAT(bodies, ElementsAre("1", "2", "2", "3"));
}

TEST_F(FifoTest, AClockThatIsSetBackDoesNotMixTheOrder) {
  RuntimeWorld world;
  prepare(world);
  world.add_function("F", {}, 0);
  publish(world, "1", "g");
  world.clock.step_wall(-std::chrono::hours(1000));
  world.start();
  publish(world, "2", "g");
  world.start();
  world.add_function("F");
  world.sim.run_for(seconds(10));
  EXPECT_THAT(messages(world, "F"), ElementsAre("1", "2"));
}

TEST_F(FifoTest, AMessageIsStillKnownWhenTheClockWasSet) {
  RuntimeWorld world;
  prepare(world);
  publish(world, "1", "g");
  world.sim.run_for(seconds(1));
  world.clock.step_wall(std::chrono::minutes(40));
  publish(world, "1", "g");  // Nobody knows yet that this is the right time.
  world.sim.run_for(seconds(10));
  EXPECT_THAT(messages(world, "F"), ElementsAre("1"));
  publish(world, "2", "g");
  world.sim.run_for(seconds(1));
  world.clock.step_wall(-std::chrono::minutes(40));
  publish(world, "2", "g");
  world.sim.run_for(seconds(120));
  publish(world, "2", "g");
  world.sim.run_for(seconds(10));
  EXPECT_THAT(messages(world, "F"), ElementsAre("1", "2"));
  world.sim.run_for(std::chrono::minutes(6));
  publish(world, "2", "g");
  world.sim.run_for(seconds(10));
  EXPECT_THAT(messages(world, "F"), ElementsAre("1", "2", "2")) << "the window is over";
}

TEST_F(FifoTest, AMessageOfADoubtfulTimeIsKnownForAsLongAsAnyOther) {
  RuntimeWorld world;
  prepare(world);
  const auto publish_after = [&](const char* text, nanoseconds time) {
    world.sim.run_for(time);
    publish(world, text, "g");
  };
  world.clock.step_wall(std::chrono::minutes(40));
  publish_after("1", seconds(10));
  publish_after("1", seconds(120));  // The clock is believed meanwhile.
  world.sim.run_for(seconds(10));
  EXPECT_THAT(messages(world, "F"), ElementsAre("1"));
  world.clock.step_wall(-std::chrono::minutes(40));
  publish_after("2", seconds(10));
  publish_after("2", seconds(120));
  world.sim.run_for(seconds(10));
  EXPECT_THAT(messages(world, "F"), ElementsAre("1", "2"));
  publish_after("2", std::chrono::minutes(10));
  world.sim.run_for(seconds(10));
  EXPECT_THAT(messages(world, "F"), ElementsAre("1", "2", "2")) << "the window is over";
}

TEST_F(FifoTest, ATemplateChangesWhatItSaysAndNothingElse) {
  RuntimeWorld world;
  world.must(world.runtime->put_topic({kTopic, true, false}));
  world.must(world.runtime->topic_service().change_topic(kTopic, [](TopicSettings& settings) {
    settings.attributes["DisplayName"] = "Orders";
    return Result<void>();
  }));
  world.must(world.runtime->put_topic({kTopic, false, true}));
  world.start();
  EXPECT_EQ(world.runtime->topics(), (std::vector<TopicDefinition>{{kTopic, false, true}}));
  const TopicSettings settings = world.runtime->topic_service().find_topic(kTopic)->settings;
  EXPECT_EQ(settings.attributes,
            (std::map<std::string, std::string>{
                {"DisplayName", "Orders"}, {"FifoThroughputScope", "MessageGroup"}, {"FifoTopic", "true"}}));
}

TEST_F(FifoTest, ItIsNoDestination) {
  RuntimeWorld world;
  prepare(world);
  AsyncConfig async;
  async.max_retries = 0;
  async.on_failure.target = topic_arn(Account{}, kTopic);
  world.add_function("Fails", async);
  world.script["Fails"] = {fails("no")};
  world.must(world.runtime->invoker().invoke_async("Fails", "{}"));
  world.sim.run_for(seconds(10));
  EXPECT_EQ(world.stored("event"), 0u);
  EXPECT_EQ(world.calls("F"), 0u);
}

}  // namespace
}  // namespace freshet
