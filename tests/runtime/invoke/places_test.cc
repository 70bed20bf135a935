// Callers and waiting events take turns at a function's places.
#include <gtest/gtest.h>

#include "runtime/invoke/places.h"
#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

constexpr milliseconds kTakes{100};

class TurnsTest : public ::testing::Test {
 protected:
  // An event after the other, each of which takes kTakes.
  void backlog(const std::string& function, int events) {
    for (int i = 0; i < events; ++i) {
      world.script[function].push_back(takes(kTakes));
      world.must(world.runtime->invoker().invoke_async(function, R"("event")"));
    }
    world.sim.run_ready();
  }
  bool is_refused(const std::string& function) {
    const auto outcome = world.wait(world.runtime->invoker().invoke(function, R"("caller")"));
    if (outcome) return false;
    EXPECT_EQ(outcome.error().code, ErrorCode::kTooManyRequests);
    return true;
  }
  int events(const std::string& function) {
    const auto all = world.payloads(function);
    return static_cast<int>(std::count(all.begin(), all.end(), R"("event")"));
  }

  RuntimeWorld world;
};

TEST_F(TurnsTest, ACallerThatTriesAgainGetsThroughABacklog) {
  world.add_function("F", {}, 1);
  backlog("F", 100);
  int served = 0;
  for (int i = 0; i < 40; ++i) {
    served += is_refused("F") ? 0 : 1;
    world.sim.run_for(milliseconds(50));  // As a client waits before it tries again.
  }
  EXPECT_GE(served, 5);
  const int among = events("F");
  EXPECT_GE(among, 5) << "events go on as well";
  world.sim.run_for(seconds(60));
  EXPECT_EQ(events("F"), 100);
}

TEST_F(TurnsTest, AMultitudeOfCallersLeavesEveryOtherPlaceToEvents) {
  world.add_function("F", {}, 1);
  backlog("F", 10);
  int served = 0;
  for (int i = 0; i < 400; ++i) {
    if (!is_refused("F")) ++served;
    world.script["F"].push_front(takes(kTakes));
    world.sim.run_for(milliseconds(1));
  }
  EXPECT_GT(served, 0);
  EXPECT_GE(events("F"), 2);
}

TEST_F(TurnsTest, APlaceIsKeptForASecondOnly) {
  world.add_function("F", {}, 1);
  backlog("F", 3);
  EXPECT_TRUE(is_refused("F"));  // And it does not come back.
  world.sim.run_for(kTakes + milliseconds(900));
  EXPECT_EQ(events("F"), 1);
  world.sim.run_for(milliseconds(150));
  EXPECT_EQ(events("F"), 2);
  world.sim.run_for(kTakes);
  EXPECT_EQ(events("F"), 3) << "nobody waits any more";
}

TEST_F(TurnsTest, WithoutRefusedCallersEventsWaitForNothing) {
  world.add_function("F", {}, 1);
  backlog("F", 3);
  world.sim.run_for(2 * kTakes + milliseconds(1));
  EXPECT_EQ(events("F"), 3);
}

TEST_F(TurnsTest, SoItIsForThePlacesThatAllOthersShare) {
  world.options.invoker.unreserved_concurrency = 1;
  world.start();
  world.add_function("Busy");
  world.add_function("Asked");
  backlog("Busy", 100);
  int served = 0;
  for (int i = 0; i < 40; ++i) {
    served += is_refused("Asked") ? 0 : 1;
    world.sim.run_for(milliseconds(50));
  }
  EXPECT_GE(served, 5);
  EXPECT_GE(events("Busy"), 5);
}

// Once the daemon stops, it would run as long as clients call.
TEST(Draining, CallersFromOutsideAreRefusedAndCallsOfFunctionsServed) {
  RuntimeWorld world;
  world.add_function("F");
  world.add_function("Called");
  world.script["F"] = {takes(seconds(3))};
  const std::string root = "Root=1-5759e988-bd862e3fe1be46a994272793";
  InvokeWishes wishes{false, root + ";Parent=53995c3f42cd8ad8;Sampled=1"};
  auto running = world.runtime->invoker().invoke("F", "", std::move(wishes));
  const BootTime start = world.clock.boot();
  auto draining = world.runtime->drain(world.clock.boot() + seconds(25));
  const auto outside = world.wait(world.runtime->invoker().invoke("Called", ""));
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(outside.error().message.find("The daemon is stopping"), std::string::npos) << outside.error().message;
  InvokeWishes other{false, "Root=1-5759e988-000000000000000000000000;Parent=53995c3f42cd8ad8;Sampled=1"};
  EXPECT_FALSE(world.wait(world.runtime->invoker().invoke("Called", "", std::move(other))));
  InvokeWishes inner{false, root + ";Parent=53995c3f42cd8ad9;Sampled=1;Lineage=1:x:0"};
  EXPECT_TRUE(world.wait(world.runtime->invoker().invoke("Called", "", std::move(inner))));
  EXPECT_TRUE(world.wait(std::move(draining)));
  EXPECT_LT(world.clock.boot() - start, seconds(4)) << "it waits for nothing but what ran";
  world.must(std::move(running));
}

TEST(Places, NoneIsKeptWhereTheLimitLeavesNone) {
  Places places(10, [](const std::string&, bool) {});
  FunctionDefinition function = RuntimeWorld::function("F", {}, 2);
  const BootTime now{seconds(100)};
  const auto first = places.take(function, Places::For::kCaller, now);
  {
    const auto second = places.take(function, Places::For::kCaller, now);
    EXPECT_FALSE(places.take(function, Places::For::kEvent, now));
    EXPECT_TRUE(second);
  }
  {
    const auto second = places.take(function, Places::For::kEvent, now);  // An event's turn.
    EXPECT_FALSE(places.take(function, Places::For::kCaller, now));
    EXPECT_TRUE(second);
  }
  EXPECT_FALSE(places.take(function, Places::For::kEvent, now));
  EXPECT_TRUE(places.kept_until(function));
  function.reserved_concurrency = 1;
  EXPECT_FALSE(places.take(function, Places::For::kEvent, now));
  EXPECT_FALSE(places.kept_until(function)) << "who waits for that time would look again and again";
}

}  // namespace
}  // namespace freshet
