#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/async.h"
#include "runtime/loop/sim_loop.h"

namespace freshet {
namespace {

struct SimLoopTest : testing::Test {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  SimLoop scheduler{clock};
  std::vector<std::string> trace;

  Work note(std::string what) {
    return [this, what] { trace.push_back(what); };
  }
};

TEST_F(SimLoopTest, PostedWorkRunsInOrderAndNeverInsideThePost) {
  scheduler.post([this] {
    scheduler.post(note("inner"));
    trace.push_back("outer");
  });
  scheduler.post(note("second"));
  EXPECT_TRUE(trace.empty());
  scheduler.run_ready();
  EXPECT_EQ(trace, (std::vector<std::string>{"outer", "second", "inner"}));
}

TEST_F(SimLoopTest, TimersRunInOrderOfTimeThenId) {
  const BootTime start = clock.boot();
  scheduler.call_at(start + seconds(2), note("2a"));
  scheduler.call_at(start + seconds(1), note("1"));
  scheduler.call_at(start + seconds(2), note("2b"));
  scheduler.run_for(milliseconds(999));
  EXPECT_TRUE(trace.empty());
  scheduler.run_for(milliseconds(1));
  EXPECT_EQ(trace, std::vector<std::string>{"1"});
  scheduler.run_for(seconds(10));
  EXPECT_EQ(trace, (std::vector<std::string>{"1", "2a", "2b"}));
  EXPECT_EQ(clock.boot() - start, seconds(11));
}

TEST_F(SimLoopTest, ACancelledTimerDoesNotRunEvenIfCancelledInTheSameTurn) {
  TimerId second = 0;
  scheduler.call_after(seconds(1), [&] { scheduler.cancel(second); });
  second = scheduler.call_after(seconds(1), note("cancelled"));
  const TimerId third = scheduler.call_after(seconds(1), note("third"));
  scheduler.run_for(seconds(1));
  scheduler.cancel(third);  // Too late: no effect.
  EXPECT_EQ(trace, std::vector<std::string>{"third"});
  EXPECT_EQ(scheduler.timers(), 0u);
}

TEST_F(SimLoopTest, RunUntilIdleStopsAtItsLimit) {
  scheduler.call_after(seconds(5), note("late"));
  EXPECT_FALSE(scheduler.run_until_idle(seconds(4)));
  EXPECT_TRUE(trace.empty());
  EXPECT_TRUE(scheduler.run_until_idle(seconds(5)));
  EXPECT_EQ(trace, std::vector<std::string>{"late"});
}

struct Sweeper final : TurnParticipant {
  explicit Sweeper(SimLoopTest& t) : test(t) {}
  void run_due() override {
    test.trace.push_back("due");
    if (next <= test.clock.boot()) next = rounds-- > 0 ? test.clock.boot() + seconds(1) : BootTime::max();
  }
  void commit() override { test.trace.push_back("commit"); }
  BootTime next_due() const override { return next; }
  SimLoopTest& test;
  BootTime next{};
  int rounds = 2;
};

TEST_F(SimLoopTest, AParticipantFramesEachTurnAndItsDeadlineMovesTime) {
  Sweeper sweeper(*this);
  scheduler.add(sweeper);
  scheduler.post(note("work"));
  const BootTime start = clock.boot();
  EXPECT_TRUE(scheduler.run_until_idle(seconds(100)));
  EXPECT_EQ(clock.boot() - start, seconds(2));
  EXPECT_EQ(trace, (std::vector<std::string>{"due", "work", "commit", "due", "commit", "due", "commit"}));
}

Async<void> sleeper(SimLoop& scheduler, std::vector<std::string>& trace) {
  co_await sleep_for(scheduler, seconds(3));
  trace.push_back("woke");
}

TEST_F(SimLoopTest, CoroutinesSleepOnItAndAnEndedScopeLeavesNoTimer) {
  Scope scope;
  scope.spawn(sleeper(scheduler, trace));
  scheduler.run_for(seconds(3));
  EXPECT_EQ(trace, std::vector<std::string>{"woke"});
  scope.spawn(sleeper(scheduler, trace));
  EXPECT_EQ(scheduler.timers(), 1u);
  scope.clear();
  EXPECT_EQ(scheduler.timers(), 0u);
}

TEST_F(SimLoopTest, AWallClockStepDoesNotMoveTimers) {
  scheduler.call_after(seconds(1), note("timer"));
  clock.step_wall(-std::chrono::hours(1));
  scheduler.run_for(seconds(1));
  EXPECT_EQ(trace, std::vector<std::string>{"timer"});
  EXPECT_EQ(epoch_s(clock.wall()), 1'700'000'000 - 3600 + 1);
}

}  // namespace
}  // namespace freshet
