// The order in which asynchronous events start when several functions share places, and their ages after a start.
#include <gtest/gtest.h>

#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

constexpr std::chrono::hours kOneDay{24};

RuntimeOptions one_place() {
  RuntimeOptions options;
  options.invoker.unreserved_concurrency = 1;
  return options;
}

AsyncConfig config(seconds age) {
  AsyncConfig async;
  async.max_event_age = age;
  async.max_retries = 0;
  return async;
}

std::vector<std::string> order(const RuntimeWorld& world) {
  std::vector<std::string> all;
  for (const Seen& one : world.seen) all.push_back(one.function + one.payload);
  return all;
}

TEST(EventOrder, WhatIsDueFirstStartsFirstWhosoeverItIs) {
  RuntimeWorld world(one_place());
  world.add_function("Aaa");
  world.add_function("Mmm");
  world.add_function("Zzz");
  for (int i = 0; i < 20; ++i) world.script["Aaa"].push_back(takes(seconds(1)));
  const auto event = [&](const std::string& function, int n) {
    world.must(world.runtime->invoker().invoke_async(function, std::to_string(n)));
  };
  event("Aaa", 0);
  world.sim.run_for(milliseconds(1));
  event("Zzz", 1);
  world.sim.run_for(milliseconds(1));
  for (int i = 2; i < 12; ++i) event("Aaa", i);
  world.sim.run_for(milliseconds(1));
  event("Mmm", 12);
  world.sim.run_for(seconds(1));
  // The busy one gets more all the time.
  for (int i = 13; i < 16; ++i) {
    event("Aaa", i);
    world.sim.run_for(seconds(1));
  }
  EXPECT_TRUE(world.sim.run_until([&] { return world.stored("event") == 0; }, seconds(60)));
  const std::vector<std::string> wanted{"Aaa0", "Zzz1", "Aaa2",  "Aaa3",  "Aaa4",  "Aaa5",  "Aaa6",  "Aaa7",
                                        "Aaa8", "Aaa9", "Aaa10", "Aaa11", "Mmm12", "Aaa13", "Aaa14", "Aaa15"};
  EXPECT_EQ(order(world), wanted);
}

TEST(EventOrder, ManyThatCannotStartDoNotMakeItSpin) {
  RuntimeWorld world;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "F" + std::to_string(i);
    world.add_function(name, {}, 1);
    world.script[name] = {takes(seconds(10)), takes(seconds(10))};
    for (int n = 0; n < 2; ++n) world.must(world.runtime->invoker().invoke_async(name, "{}"));
  }
  world.sim.run_for(seconds(5));
  EXPECT_EQ(world.seen.size(), 100u);
  const auto works = world.sim.loop().stats().works;
  world.sim.run_for(seconds(4));
  EXPECT_LT(world.sim.loop().stats().works - works, 100u);
  world.sim.run_for(seconds(20));
  EXPECT_EQ(world.stored("event"), 0u);
}

// A retry that comes later is not forgotten when another function's end starts the queue's first event.
TEST(EventOrder, ALaterRetryKeepsItsTime) {
  RuntimeWorld world(one_place());
  world.add_function("Aaa");
  world.add_function("Zzz", config(seconds(3600)));
  AsyncConfig retried;
  world.add_function("Zzz", retried);
  world.script["Zzz"] = {fails("once"), takes(milliseconds(0))};
  world.must(world.runtime->invoker().invoke_async("Zzz", "1"));
  world.sim.run_for(milliseconds(10));  // Its retry is due a second later.
  world.script["Aaa"] = {takes(milliseconds(500))};
  world.must(world.runtime->invoker().invoke_async("Aaa", "2"));
  world.must(world.runtime->invoker().invoke_async("Zzz", "3"));
  world.sim.run_for(seconds(2));
  EXPECT_EQ(order(world), (std::vector<std::string>{"Zzz1", "Aaa2", "Zzz3", "Zzz1"}));
}

struct EventAge : testing::Test {
  RuntimeWorld world;
  EventAge() {
    AsyncConfig async = config(seconds(6 * 3600));
    async.on_failure.target = "arn:aws:lambda:us-east-1:000000000000:function:Failures";
    world.add_function("Failures");
    world.add_function("F", async, 1, seconds(600));
    world.script["F"] = {takes(seconds(500)), takes(seconds(5)), takes(seconds(5))};
    world.must(world.runtime->invoker().invoke_async("F", "1"));
    world.must(world.runtime->invoker().invoke_async("F", "2"));
    world.sim.run_for(seconds(1));
  }
  void start_off_by(milliseconds off) {
    world.clock.step_wall(off);
    world.power_loss();
  }
};

TEST_F(EventAge, AClockADayAheadAtTheStartGivesUpNoEvent) {
  start_off_by(kOneDay);
  world.sim.run_for(seconds(10));
  EXPECT_EQ(world.calls("F"), 1u) << "they look too old: nothing is started until that is known";
  world.clock.step_wall(-kOneDay);
  world.sim.run_for(seconds(20));
  EXPECT_EQ(world.payloads("F"), (std::vector<std::string>{"1", "1", "2"}));
  EXPECT_EQ(world.calls("Failures"), 0u);
}

TEST_F(EventAge, AnEventOfWhileTheClockWasTooEarlyIsNotTooOld) {
  world.add_function("G", config(seconds(6 * 3600)), 1, seconds(600));
  world.script["G"] = {takes(seconds(500)), takes(seconds(5))};
  world.clock.step_wall(-kOneDay);
  world.must(world.runtime->invoker().invoke_async("G", "early"));
  world.sim.run_for(seconds(1));
  start_off_by(kOneDay);
  world.sim.run_for(seconds(20));
  EXPECT_EQ(world.payloads("G"), (std::vector<std::string>{"early", "early"})) << "once more after the power loss";
}

TEST_F(EventAge, WhatIsReallyTooOldIsGivenUpOnceTheClockIsTrusted) {
  start_off_by(kOneDay);
  world.sim.run_for(seconds(50));
  EXPECT_EQ(world.calls("Failures"), 0u);
  world.sim.run_for(seconds(15));
  EXPECT_EQ(world.calls("F"), 1u);
  EXPECT_EQ(world.calls("Failures"), 2u);
  EXPECT_EQ(world.stored("event"), 0u);
}

TEST_F(EventAge, WhatIsYoungByAnyClockStartsAtOnce) {
  start_off_by(std::chrono::hours(2));
  world.sim.run_for(seconds(1));
  EXPECT_EQ(world.calls("F"), 2u);
}

}  // namespace
}  // namespace freshet
