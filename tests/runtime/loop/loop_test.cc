#include "runtime/loop/loop.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/async.h"
#include "runtime/loop/sim_loop.h"

namespace freshet {
namespace {

using Trace = std::vector<std::string>;

struct SimLoopTest : testing::Test {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  Trace trace;

  Work note(std::string what) {
    return [this, what] { trace.push_back(what); };
  }
};

struct Recorder final : TurnParticipant {
  explicit Recorder(Trace& t) : trace(t) {}
  void run_due() override {
    trace.push_back("due");
    if (clock && next <= clock->boot()) next = BootTime::max();
  }
  void commit() override { trace.push_back("commit"); }
  BootTime next_due() const override { return next; }
  Trace& trace;
  const Clock* clock = nullptr;
  BootTime next = BootTime::max();
};

TEST_F(SimLoopTest, ATurnTakesMailThenWhatIsDueThenTimersThenWorkAndCommitsOnce) {
  SimLoop sim(clock);
  Loop& loop = sim.loop();
  Recorder recorder(trace);
  loop.add(recorder);
  loop.post([&] {
    trace.push_back("posted");
    loop.post(note("posted by posted"));
  });
  ASSERT_TRUE(loop.deliver(note("mail")));
  loop.call_at(clock.boot(), note("timer"));
  loop.turn();
  EXPECT_EQ(trace, (Trace{"due", "timer", "posted", "mail", "posted by posted", "commit"}));
  EXPECT_FALSE(loop.ready());
  EXPECT_EQ(loop.stats().works, 4u);
  EXPECT_EQ(loop.stats().turns, 1u);
}

TEST_F(SimLoopTest, TheStepBoundEndsATurnAndTheRestFollowsInOrder) {
  SimLoop sim(clock, {.max_steps = 3});
  Loop& loop = sim.loop();
  Recorder recorder(trace);
  loop.add(recorder);
  for (int i = 0; i < 5; ++i) loop.post(note(std::to_string(i)));
  loop.turn();
  EXPECT_TRUE(loop.ready());
  loop.turn();
  EXPECT_EQ(trace, (Trace{"due", "0", "1", "2", "commit", "due", "3", "4", "commit"}));
}

TEST_F(SimLoopTest, TheTimeBudgetEndsATurn) {
  SimLoop sim(clock, {.max_steps = 1000, .turn_budget = milliseconds(2)});
  int ran = 0;
  for (int i = 0; i < 100; ++i) {
    sim.loop().post([&] {
      ++ran;
      clock.advance(std::chrono::microseconds(100));
    });
  }
  sim.loop().turn();
  EXPECT_GE(ran, 20);
  EXPECT_LT(ran, 100);
  sim.run_ready();
  EXPECT_EQ(ran, 100);
  EXPECT_GE(sim.loop().stats().steps.max, milliseconds(2));
}

TEST_F(SimLoopTest, AFullMailboxRefusesAndAStoppedLoopToo) {
  SimLoop sim(clock, {.mailbox_bound = 2});
  Loop& loop = sim.loop();
  EXPECT_TRUE(loop.deliver(note("1")));
  EXPECT_TRUE(loop.deliver(note("2")));
  EXPECT_FALSE(loop.deliver(note("3")));
  EXPECT_EQ(loop.mailbox_depth(), 2u);
  sim.run_ready();
  EXPECT_TRUE(loop.deliver(note("4")));
  loop.stop();
  EXPECT_FALSE(loop.deliver(note("5")));
  sim.run_ready();
  EXPECT_EQ(trace, (Trace{"1", "2", "4"}));
  EXPECT_EQ(loop.stats().mailbox_max, 2u);
}

TEST_F(SimLoopTest, MailWaitsWhileATurnsWorthOfWorkIsReadySoThatItsBoundHolds) {
  SimLoop sim(clock, {.mailbox_bound = 1, .max_steps = 2});
  Loop& loop = sim.loop();
  for (int i = 0; i < 4; ++i) loop.post(note("posted"));
  ASSERT_TRUE(loop.deliver(note("mail")));
  loop.turn();
  EXPECT_FALSE(loop.deliver(note("refused")));
  sim.run_ready();
  EXPECT_EQ(trace, (Trace{"posted", "posted", "posted", "posted", "mail"}));
}

TEST_F(SimLoopTest, TimersRunInOrderAtTheirTimeAndMayCancelEachOther) {
  SimLoop sim(clock);
  Loop& loop = sim.loop();
  const BootTime start = clock.boot();
  TimerId victim = 0;
  loop.call_at(start + seconds(2), note("2a"));
  loop.call_at(start + seconds(1), [&] {
    trace.push_back("1");
    loop.cancel(victim);
    loop.call_at(start, note("late"));
  });
  victim = loop.call_at(start + seconds(1), note("victim"));
  loop.call_at(start + seconds(2), note("2b"));
  sim.run_for(milliseconds(999));
  EXPECT_TRUE(trace.empty());
  EXPECT_TRUE(sim.run_until_idle(seconds(60)));
  EXPECT_EQ(trace, (Trace{"1", "late", "2a", "2b"}));
  EXPECT_EQ(clock.boot() - start, seconds(2));
  EXPECT_EQ(loop.timers(), 0u);
  loop.cancel(victim);
  loop.cancel(0);
}

TEST_F(SimLoopTest, RunUntilStopsAtTheEventOrTheLimit) {
  SimLoop sim(clock);
  const BootTime start = clock.boot();
  bool done = false;
  sim.loop().call_after(seconds(5), [&] { done = true; });
  sim.loop().call_after(seconds(50), note("never"));
  EXPECT_FALSE(sim.run_until([&] { return done; }, seconds(4)));
  EXPECT_TRUE(sim.run_until([&] { return done; }, seconds(6)));
  EXPECT_EQ(clock.boot() - start, seconds(5));
  EXPECT_FALSE(sim.run_until_idle(seconds(1)));
}

TEST_F(SimLoopTest, AParticipantsDeadlineMovesTime) {
  SimLoop sim(clock);
  Recorder recorder(trace);
  recorder.clock = &clock;
  recorder.next = clock.boot() + seconds(7);
  sim.loop().add(recorder);
  EXPECT_TRUE(sim.run_until_idle(seconds(60)));
  EXPECT_EQ(clock.boot(), BootTime(seconds(7)));
  sim.loop().remove(recorder);
  trace.clear();
  sim.loop().turn();
  EXPECT_TRUE(trace.empty());
}

Async<void> wait_and_note(Scheduler& scheduler, Trace& trace, seconds delay, std::string what) {
  co_await sleep_for(scheduler, delay);
  trace.push_back(what);
}

TEST_F(SimLoopTest, DestroyingTheLoopWithWorkThatHoldsCoroutinesIsQuiet) {
  Scope scope;
  SimLoop sim(clock);
  scope.spawn(wait_and_note(sim.loop(), trace, seconds(1), "one"));
  scope.spawn(wait_and_note(sim.loop(), trace, seconds(2), "two"));
  sim.run_for(seconds(1));
  EXPECT_EQ(trace, Trace{"one"});
  EXPECT_EQ(sim.loop().timers(), 1u);
  scope.clear();
  EXPECT_EQ(sim.loop().timers(), 0u);
}

TEST(DurationCounts, BucketsArePowersOfTwoMicroseconds) {
  DurationCounts counts;
  counts.add(nanoseconds(999));
  counts.add(std::chrono::microseconds(1));
  counts.add(std::chrono::microseconds(3));
  counts.add(std::chrono::hours(1));
  EXPECT_EQ(counts.buckets[0], 1u);
  EXPECT_EQ(counts.buckets[1], 1u);
  EXPECT_EQ(counts.buckets[2], 1u);
  EXPECT_EQ(counts.buckets[DurationCounts::kBuckets - 1], 1u);
  EXPECT_EQ(counts.count, 4u);
  EXPECT_EQ(counts.max, std::chrono::hours(1));
}

// The real waiter: works from several threads all arrive, in order per sender, and a sleeping loop wakes for each.
TEST(RealLoop, DeliveriesFromManyThreadsArriveInOrderPerSender) {
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  SystemClock clock;
  EventWaiter waiter(clock);
  Loop loop(clock, waiter, {.mailbox_bound = 1000});
  std::vector<int> next(kThreads, 0);
  int arrived = 0;
  std::vector<std::thread> senders;
  for (int t = 0; t < kThreads; ++t) {
    senders.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto work = [&, t, i] {
          EXPECT_EQ(next[t], i);
          next[t] = i + 1;
          if (++arrived == kThreads * kEach) loop.stop();
        };
        while (!loop.deliver(work)) std::this_thread::yield();
      }
    });
  }
  loop.run();
  for (auto& sender : senders) sender.join();
  EXPECT_EQ(arrived, kThreads * kEach);
  EXPECT_TRUE(loop.stopped());
}

TEST(RealLoop, ATimerWakesItAndStopFromAnotherThreadEndsIt) {
  SystemClock clock;
  EventWaiter waiter(clock);
  Loop loop(clock, waiter);
  const BootTime start = clock.boot();
  BootTime fired{};
  std::thread stopper;
  loop.call_after(milliseconds(5), [&] {
    fired = clock.boot();
    stopper = std::thread([&] { loop.stop(); });
  });
  loop.run();
  stopper.join();
  EXPECT_GE(fired - start, milliseconds(5));
}

}  // namespace
}  // namespace freshet
