// The client that hedges, on simulated time over a store whose answers take as long as the test says.
#include "functions/ordered/hedged_writes.h"
#include "tests/functions/ordered/ordered_world.h"

namespace freshet::ordered {
namespace {

TEST(LatencyWindow, The95thOfTheLastOnes) {
  LatencyWindow window(100, 20);
  for (int i = 1; i < 20; ++i) window.add(milliseconds(i));
  EXPECT_FALSE(window.p95());
  window.add(milliseconds(20));
  EXPECT_EQ(window.p95(), nanoseconds(milliseconds(19)));
  for (int i = 1; i <= 100; ++i) window.add(milliseconds(100 + i));
  EXPECT_EQ(window.p95(), nanoseconds(milliseconds(195)));
}

class HedgerTest : public ::testing::Test {
 protected:
  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop scheduler{clock};
  Random random{1};
  int made = 0;
  int ended = 0;

  struct Ended {
    int& count;
    ~Ended() { ++count; }
  };
  static Async<int> slow(HedgerTest& self, milliseconds takes, int answer) {
    const Ended at_the_end{self.ended};
    co_await sleep_for(self.scheduler, takes);
    co_return answer;
  }
  // A call whose attempts take these times and answer with their number, from 1.
  Async<int> call(
      Hedger& hedger, std::vector<int64_t> takes, bool (*again)(const int&) = [](const int&) { return false; }) {
    made = 0;
    std::function<Async<int>()> begin = [this, takes = std::move(takes)] {
      const auto at = std::min(static_cast<size_t>(made), takes.size() - 1);
      ++made;
      return slow(*this, milliseconds(takes[at]), made);
    };
    return hedger.call<int>(std::move(begin), again);
  }
  int wait(Async<int> work) {
    while (!work.is_ready()) scheduler.run_for(milliseconds(1));
    return work.take();
  }
  void warm(Hedger& hedger) {
    for (int i = 1; i <= 100; ++i) wait(call(hedger, {i % 10 == 0 ? 12 : 10}));
  }
};

TEST_F(HedgerTest, ASecondCallAfterTheP95AndTheFirstAnswerCounts) {
  Hedger hedger(scheduler, random);
  EXPECT_FALSE(hedger.delay()) << "nothing is known yet";
  EXPECT_EQ(wait(call(hedger, {1000, 1})), 1) << "so nothing is hedged";
  warm(hedger);
  ASSERT_TRUE(hedger.delay());
  EXPECT_EQ(*hedger.delay(), nanoseconds(milliseconds(12)));
  const auto begun = clock.boot();
  EXPECT_EQ(wait(call(hedger, {1000, 5})), 2);
  EXPECT_GT(clock.boot() - begun, milliseconds(16));
  EXPECT_LE(clock.boot() - begun, milliseconds(18));
  EXPECT_EQ(hedger.counts().hedges, 1u);
  EXPECT_EQ(hedger.counts().won, 1u);
  EXPECT_EQ(ended, 103) << "whoever lost has been ended";
  EXPECT_EQ(wait(call(hedger, {15, 100})), 1) << "the first may still be faster";
  EXPECT_EQ(hedger.counts().hedges, 2u);
  EXPECT_EQ(hedger.counts().won, 1u);
  EXPECT_EQ(wait(call(hedger, {11})), 1);
  EXPECT_EQ(made, 1) << "within the p95 nobody hedges";
}

TEST_F(HedgerTest, WhenEverythingIsSlowLittleIsAdded) {
  Hedger hedger(scheduler, random);
  warm(hedger);
  const uint64_t calls = hedger.counts().calls;
  for (int i = 0; i < 200; ++i) wait(call(hedger, {500}));
  EXPECT_LE(hedger.counts().hedges, (calls + 200) / 10 + 3);
  EXPECT_GT(hedger.counts().hedges, 0u);
  EXPECT_EQ(*hedger.delay(), nanoseconds(milliseconds(500))) << "and the percentile follows";
}

TEST_F(HedgerTest, WhatIsRefusedForNowIsTriedAgainWithGrowingWaits) {
  Hedger hedger(scheduler, random);
  const auto begun = clock.boot();
  EXPECT_EQ(wait(call(hedger, {1}, [](const int& answer) { return answer < 3; })), 3);
  EXPECT_GE(clock.boot() - begun, milliseconds(10 + 20));
  EXPECT_EQ(hedger.counts().retries, 2u);
  EXPECT_EQ(wait(call(hedger, {1}, [](const int&) { return true; })), 4) << "four times, then the answer is the answer";
}

TEST_F(HedgerTest, DestroyedWhereItWaits) {
  Hedger hedger(scheduler, random);
  warm(hedger);
  const int before = ended;
  {
    auto work = call(hedger, {1000, 1000});
    scheduler.run_for(milliseconds(50));
    EXPECT_EQ(made, 2);
  }
  EXPECT_EQ(ended, before + 2);
  EXPECT_EQ(scheduler.timers(), 0u);
  scheduler.run_for(milliseconds(5000));
}

class HedgedWritesTest : public OrderedFixture {};
INSTANTIATE_TEST_SUITE_P(Late, HedgedWritesTest, ::testing::Values(StoreKind::kLate, StoreKind::kEngine), kind_name);

// The first attempt's write gets stuck on its way; meanwhile somebody else writes; the hedge comes after that.
TEST_P(HedgedWritesTest, AHedgeCannotOverwriteWhatSomebodyWroteMeanwhile) {
  open();
  HedgeSettings settings;
  settings.least = 5;
  HedgedWrites hedged(*table, world.scheduler, world.random, settings);
  for (int i = 0; i < 200; ++i) {
    OrderedPut put{rating(1, std::to_string(i % 3)), {}};
    ASSERT_TRUE(world.wait(hedged.put(std::move(put))).ok());
  }
  EXPECT_GT(hedged.write_counts().hedges, 0u);
  for (int i = 0; i < 200; ++i) {
    const std::string movie = "x" + std::to_string(i);
    auto first = hedged.put({rating(1, movie), {}});
    world.pass(milliseconds(1 + i % 12));
    // Newer by the clock, whatever becomes of the first and its hedge.
    ASSERT_TRUE(put(rating(2, movie)).ok());
    const auto result = world.wait(std::move(first));
    EXPECT_TRUE(result.ok() || result.code == Code::kOlder);
    world.pass(milliseconds(30));
    EXPECT_EQ(stars(movie), 2);
  }
}

TEST_P(HedgedWritesTest, EveryCallPassesThrough) {
  Definition definition = ratings();
  definition.settings.update_attributes = {"Note"};
  open(definition);
  HedgedWrites hedged(*table, world.scheduler, world.random);
  EXPECT_EQ(hedged.name(), "Ratings");
  EXPECT_TRUE(world.wait(hedged.put({rating(3), {}})).ok());
  EXPECT_TRUE(world.wait(hedged.update({key(), Map{{"Note", Value("n")}}, {}, {}})).ok());
  EXPECT_EQ(world.wait(hedged.get({key()}))->decode().string_or("Note"), "n");
  EXPECT_TRUE(*world.wait(hedged.batch_get({{key()}})).at(0));
  OrderedQuery query;
  query.partition = Value("User#1");
  EXPECT_EQ(world.wait(hedged.query(query))->count, 1u);
  EXPECT_TRUE(world.wait(hedged.erase({key(), {}})).ok());
  EXPECT_EQ(world.wait(hedged.scan({}))->count, 0u);
  EXPECT_EQ(world.wait(hedged.erase({key(), Value("never")})).code, Code::kInvalid);
}

}  // namespace
}  // namespace freshet::ordered
