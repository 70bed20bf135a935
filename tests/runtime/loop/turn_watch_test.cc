#include "runtime/loop/turn_watch.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/clock.h"

namespace freshet {

// A work that goes on until the watch has told of it; for a test that would otherwise never end, half a minute at most.
[[gnu::noinline]] void spin_until(const std::atomic<bool>& told) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!told.load() && std::chrono::steady_clock::now() < end) {
  }
}

namespace {

class CondWaiter final : public Waiter {
 public:
  void wait_until(BootTime) override {}
  void wake() override {}
};

struct TurnWatchTest : testing::Test {
  SystemClock clock;
  CondWaiter waiter;
  Loop loop{clock, waiter};
  std::atomic<bool> told{false};
  SlowTurn seen;
  std::function<void(const SlowTurn&)> tell = [this](const SlowTurn& turn) {
    if (told) return;
    seen = turn;
    told = true;
  };
};

TEST_F(TurnWatchTest, NamesWhatRunsWhileItRuns) {
  TurnWatch watch(loop, milliseconds(5), tell);
  loop.post([this] { spin_until(told); });
  loop.turn();
  ASSERT_TRUE(told);
  EXPECT_GE(seen.taken, milliseconds(5));
  EXPECT_EQ(seen.part, "work");
  EXPECT_TRUE(seen.computes);
  EXPECT_NE(seen.functions.find("freshet::spin_until"), std::string::npos) << seen.functions;
  EXPECT_EQ(seen.functions.find("freshet::Loop"), std::string::npos) << "the loop itself is no news";
}

TEST_F(TurnWatchTest, AStrippedProgramTellsPlaces) {
  const std::string place = place_in_program(reinterpret_cast<void*>(&spin_until));
  EXPECT_EQ(place.rfind("freshet+0x", 0), 0u) << place;
  EXPECT_EQ(place.find_first_not_of("0123456789abcdef", 10), std::string::npos) << place;
  EXPECT_GT(place.size(), 11u);
  EXPECT_EQ(place_in_program(dlsym(RTLD_DEFAULT, "getpid")), "") << "that of a library is no place in the program";
}

TEST_F(TurnWatchTest, SaysThatTheLoopWaits) {
  std::mutex mutex;
  std::condition_variable changed;
  const auto report = [&](const SlowTurn& turn) {
    const std::lock_guard lock(mutex);
    tell(turn);
    changed.notify_all();
  };
  TurnWatch watch(loop, milliseconds(5), report);
  loop.call_at(clock.boot(), [&] {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(30), [&] { return told.load(); });
  });
  loop.turn();
  ASSERT_TRUE(told);
  EXPECT_EQ(seen.part, "timers");
  EXPECT_FALSE(seen.computes);
  EXPECT_EQ(seen.functions, "");
}

TEST_F(TurnWatchTest, ALoopOnSimulatedTimeIsMeasuredByAnotherClock) {
  SimClock still{WallTime{}};
  Loop simulated(still, waiter);
  TurnWatch watch(simulated, milliseconds(5), tell, &clock);
  simulated.post([this] { spin_until(told); });
  simulated.turn();
  ASSERT_TRUE(told) << "its own clock stands still during a turn";
  EXPECT_GE(seen.taken, milliseconds(5));
  EXPECT_NE(seen.functions.find("freshet::spin_until"), std::string::npos) << seen.functions;
}

// A machine that sleeps within a turn: its clock jumps, and nothing is computed meanwhile.
class SleepyClock final : public Clock {
 public:
  WallTime wall() const override { return {}; }
  BootTime boot() const override {
    ++reads_;
    return BootTime(nanoseconds(slept_.load()));
  }
  int reads() const { return reads_; }
  void sleep_for(nanoseconds time) { slept_ += time.count(); }

 private:
  mutable std::atomic<int> reads_{0};
  std::atomic<int64_t> slept_{0};
};

TEST_F(TurnWatchTest, WhatTheMachineSleepsIsNotComputed) {
  SleepyClock sleepy;
  TurnWatch watch(loop, milliseconds(5), tell, &sleepy);
  loop.post([&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (sleepy.reads() < 2 && std::chrono::steady_clock::now() < end) {
    }
    sleepy.sleep_for(std::chrono::hours(1));
    spin_until(told);
  });
  loop.turn();
  ASSERT_TRUE(told);
  EXPECT_GE(seen.taken, std::chrono::hours(1));
  EXPECT_TRUE(seen.computes);
  EXPECT_GT(seen.computed, milliseconds(0));
  EXPECT_LT(seen.computed, std::chrono::minutes(2));
}

TEST_F(TurnWatchTest, AbortsWithTheNameOfWhatRuns) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        TurnWatch watch(loop, milliseconds(5), abort_for);
        loop.post([this] { spin_until(told); });
        loop.turn();
      },
      "over its budget: it computes for [0-9]+ ms, in its part 'work': .*freshet::spin_until");
}

TEST_F(TurnWatchTest, BetweenTurnsNothingIsSlow) {
  EXPECT_FALSE(loop.turn_began());
  bool within = false;
  loop.post([&] { within = loop.turn_began().has_value(); });
  loop.turn();
  EXPECT_TRUE(within);
  EXPECT_FALSE(loop.turn_began());
}

}  // namespace
}  // namespace freshet
