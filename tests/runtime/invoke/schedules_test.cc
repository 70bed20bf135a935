// Schedules through the whole runtime.
#include <gtest/gtest.h>

#include "streams/arn.h"
#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

constexpr std::chrono::hours kDay{24};

struct ScheduleTest : testing::Test {
  RuntimeWorld world;
  ScheduleTest() { world.add_function("F"); }
  void put(const std::string& expression, const std::string& input = "", bool enabled = true) {
    ScheduleDefinition schedule{"tick", expression, "F", input, enabled};
    world.must(world.runtime->put_schedule(schedule));
  }
};

TEST_F(ScheduleTest, ARateFiresWithTheStandardEvent) {
  put("rate(5 minutes)");
  world.sim.run_for(seconds(299));
  EXPECT_EQ(world.calls("F"), 0u);
  world.sim.run_for(seconds(1 + 600));
  ASSERT_EQ(world.calls("F"), 3u);
  const Map event = json(world.payloads("F").front());
  EXPECT_EQ(event.string_or("source"), "aws.events");
  EXPECT_EQ(event.string_or("detail-type"), "Scheduled Event");
  EXPECT_EQ(event.string_or("time"), "2023-11-14T22:18:20Z");
  EXPECT_EQ(*event.find("resources"), Value(List{{Value(rule_arn(Account{}, "tick"))}}));
}

TEST_F(ScheduleTest, ARestartNeitherForgetsNorRepeats) {
  put("rate(5 minutes)", R"({"own":1})");
  world.sim.run_for(seconds(300));
  ASSERT_EQ(world.payloads("F"), std::vector<std::string>{R"({"own":1})"});
  world.power_loss();
  world.sim.run_for(seconds(299));
  EXPECT_EQ(world.calls("F"), 1u);
  world.sim.run_for(seconds(1));
  EXPECT_EQ(world.calls("F"), 2u);
  world.runtime.reset();
  world.sim.run_for(seconds(3000));
  world.start();
  world.sim.run_ready();
  EXPECT_EQ(world.calls("F"), 3u) << "one firing stands for all that were missed";
  world.sim.run_for(seconds(300));
  EXPECT_EQ(world.calls("F"), 4u);
}

TEST_F(ScheduleTest, AClockThatIsSetIsFollowed) {
  put("cron(0 * * * ? *)");
  world.sim.run_for(seconds(3600));
  ASSERT_EQ(world.calls("F"), 1u);
  world.clock.step_wall(-std::chrono::minutes(90));
  world.sim.run_for(std::chrono::minutes(90));
  EXPECT_EQ(world.calls("F"), 3u) << "at 22:00 and 23:00 of the new time";
  world.clock.step_wall(std::chrono::minutes(30));
  world.sim.run_for(std::chrono::minutes(30));
  EXPECT_EQ(world.calls("F"), 4u);
}

TEST_F(ScheduleTest, ASmallStepBackFiresNothingTwice) {
  put("cron(0 * * * ? *)");
  world.sim.run_for(seconds(2801));  // To 23:00:01.
  ASSERT_EQ(world.calls("F"), 1u);
  world.clock.step_wall(-seconds(50));
  world.sim.run_for(seconds(300));
  EXPECT_EQ(world.calls("F"), 1u);
  ASSERT_TRUE(world.restart());
  world.sim.run_for(seconds(3500));
  EXPECT_EQ(world.calls("F"), 2u);
}

// It was told a time of tomorrow, and would stay silent until then.
TEST_F(ScheduleTest, GoesOnWhenTheClockWasADayAhead) {
  world.clock.step_wall(kDay);
  world.sim.run_for(seconds(70));
  put("rate(1 minute)");
  world.sim.run_for(seconds(60));
  ASSERT_EQ(world.calls("F"), 1u);
  world.clock.step_wall(-kDay);
  world.sim.run_for(seconds(240));
  EXPECT_GE(world.calls("F"), 4u);
  const size_t before = world.calls("F");
  ASSERT_TRUE(world.restart());
  world.sim.run_for(seconds(60));
  EXPECT_EQ(world.calls("F"), before + 1);
}

TEST_F(ScheduleTest, GoesOnAfterARestartWithATimeOfTomorrow) {
  put("rate(1 minute)");
  world.clock.step_wall(kDay);
  world.sim.run_for(seconds(130));
  const size_t before = world.calls("F");
  ASSERT_GE(before, 1u);
  world.clock.step_wall(-kDay);
  world.power_loss();
  world.sim.run_for(seconds(130));
  EXPECT_EQ(world.calls("F"), before + 2);
}

TEST_F(ScheduleTest, AStepThatIsTakenBackFiresNothing) {
  put("at(2023-11-15T12:00:00)");
  world.sim.run_for(seconds(10));
  world.clock.step_wall(kDay);
  world.sim.run_for(seconds(50));
  world.clock.step_wall(-kDay);
  world.sim.run_for(seconds(600));
  EXPECT_EQ(world.calls("F"), 0u);
  world.sim.run_for(std::chrono::hours(14));
  EXPECT_EQ(world.calls("F"), 1u);
}

TEST_F(ScheduleTest, AnAtThatHasFiredIsOverWhateverTheClockShows) {
  put("at(2023-11-15T12:00:00)");
  world.clock.step_wall(kDay);
  world.sim.run_for(seconds(130));
  ASSERT_EQ(world.calls("F"), 1u);
  world.clock.step_wall(-kDay);
  world.sim.run_for(kDay);
  ASSERT_TRUE(world.restart());
  world.sim.run_for(kDay);
  EXPECT_EQ(world.calls("F"), 1u);
}

// Nanoseconds hold 292 years.
TEST_F(ScheduleTest, OneInCenturiesKeepsNobodyAwake) {
  for (const char* expression : {"at(2330-01-01T00:00:00)", "at(9999-12-31T23:59:59)", "rate(200000 days)",
                                 "rate(999999999 days)", "cron(0 0 1 1 ? 2199)"}) {
    put(expression);
    const auto turns = world.sim.loop().stats().turns;
    world.sim.run_for(seconds(600));
    EXPECT_LT(world.sim.loop().stats().turns - turns, 100u) << expression;
    EXPECT_EQ(world.calls("F"), 0u) << expression;
  }
}

TEST_F(ScheduleTest, OneThatIsSwitchedOnAgainFiresAtItsNextSlot) {
  put("rate(5 minutes)");
  world.sim.run_for(seconds(300));
  ASSERT_EQ(world.calls("F"), 1u);
  put("rate(5 minutes)", "", false);
  world.sim.run_for(seconds(1000));
  ASSERT_TRUE(world.restart());
  put("rate(5 minutes)");
  world.sim.run_for(seconds(199));
  EXPECT_EQ(world.calls("F"), 1u);
  world.sim.run_for(seconds(1));
  EXPECT_EQ(world.calls("F"), 2u) << "1500 s after it was made";
}

TEST_F(ScheduleTest, AnAtThatPassedWhileItWasOffIsOver) {
  put("at(2023-11-15T00:00:00)");
  put("at(2023-11-15T00:00:00)", "", false);
  world.sim.run_for(kDay);
  put("at(2023-11-15T00:00:00)");
  world.sim.run_for(kDay);
  EXPECT_EQ(world.calls("F"), 0u);
}

TEST_F(ScheduleTest, ChangesTakeEffectAndBadOnesAreRefused) {
  put("rate(1 hour)");
  put("rate(1 minute)");
  world.sim.run_for(seconds(60));
  EXPECT_EQ(world.calls("F"), 1u);
  auto bad = world.wait(world.runtime->put_schedule({"x", "rate(1 fortnight)", "F", "", true}));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("\"x\""), std::string::npos);
  EXPECT_FALSE(world.wait(world.runtime->put_schedule({"x", "rate(1 hour)", "G", "", true})));
  EXPECT_FALSE(world.wait(world.runtime->put_schedule({"x", "rate(1 hour)", "F", "{", true})));
  world.must(world.runtime->remove_schedule("tick"));
  world.sim.run_for(seconds(300));
  EXPECT_EQ(world.calls("F"), 1u);
  EXPECT_EQ(world.stored("schedule") + world.stored("schedule-state"), 0u);
}

// A store that answers late: the schedule changes while it is being fired.
TEST(Schedules, AChangeWhileItFiresNeitherRepeatsNorForgets) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RuntimeWorld world(RuntimeOptions{}, seed);
    world.add_function("F");
    const auto definition = [](const std::string& input) {
      return ScheduleDefinition{"tick", "rate(1 minute)", "F", input, true};
    };
    world.must(world.runtime->put_schedule(definition("1")));
    Random random(seed);
    for (int minute = 1; minute <= 5; ++minute) {
      world.sim.run_for(milliseconds(59'950 + static_cast<int64_t>(random.below(100))));
      world.must(world.runtime->put_schedule(definition(std::to_string(minute + 1))));
    }
    world.sim.run_for(seconds(20));
    const size_t calls = world.calls("F");
    ASSERT_TRUE(world.restart());
    world.sim.run_for(seconds(20));
    EXPECT_EQ(world.calls("F"), calls) << "seed " << seed;
    EXPECT_EQ(calls, 5u) << "seed " << seed;
    world.must(world.runtime->remove_schedule("tick"));
    world.sim.run_for(seconds(5));
    EXPECT_EQ(world.stored("schedule-state"), 0u);
  }
}

}  // namespace
}  // namespace freshet
