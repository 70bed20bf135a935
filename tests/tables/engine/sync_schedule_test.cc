#include "tables/engine/sync_schedule.h"

#include <gtest/gtest.h>

#include "runtime/loop/sim_loop.h"

namespace freshet {
namespace {

struct SyncScheduleTest : testing::Test {
  SyncScheduleTest() { options.durability.mode = DurabilityMode::kSync; }

  void append(uint64_t sequence, bool hurried) { syncs.appended(sequence, clock.boot(), {}, hurried); }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop loop{clock};
  EmbeddedOptions options;
  Catalog catalog{1u << 20};
  SyncSchedule syncs{loop, options};
};

TEST_F(SyncScheduleTest, AHurriedBatchIsWantedAtOnce) {
  append(1, true);
  EXPECT_TRUE(syncs.wants_more_than(0));
  EXPECT_EQ(syncs.rest_due(), BootTime::max());
  syncs.release(1, catalog);
  EXPECT_TRUE(syncs.empty());
  EXPECT_FALSE(syncs.wants_more_than(1));
}

TEST_F(SyncScheduleTest, LowPriorityWaitsForTheNextSyncOrAFewMilliseconds) {
  append(1, false);
  EXPECT_FALSE(syncs.wants_more_than(0));
  EXPECT_EQ(syncs.rest_due(), clock.boot() + milliseconds(5));
  syncs.want_rest(clock.boot() + milliseconds(4), 1);
  EXPECT_FALSE(syncs.wants_more_than(0));
  syncs.want_rest(clock.boot() + milliseconds(5), 1);
  EXPECT_TRUE(syncs.wants_more_than(0));
}

TEST_F(SyncScheduleTest, WhoWaitsMakesABatchUrgent) {
  append(1, false);
  auto done = syncs.durable(false);
  EXPECT_TRUE(syncs.wants_more_than(0)) << "the batch that is waited for is there already";
  loop.run_for(milliseconds(1));
  EXPECT_FALSE(done.is_ready());
  syncs.release(1, catalog);
  loop.run_for(milliseconds(1));
  ASSERT_TRUE(done.is_ready());
  EXPECT_TRUE(done.take().has_value());

  auto next = syncs.durable(true);  // For the batch of this turn, before it is appended.
  append(2, false);
  EXPECT_TRUE(syncs.wants_more_than(1));
  syncs.release(1, catalog);
  loop.run_for(milliseconds(1));
  EXPECT_FALSE(next.is_ready()) << "only what came before is durable";
}

TEST_F(SyncScheduleTest, WithoutSyncsNothingWaits) {
  options.durability.mode = DurabilityMode::kNone;
  append(1, false);
  EXPECT_EQ(syncs.wanted(), 1u);
}

TEST_F(SyncScheduleTest, AfterAStallSyncsRunBesideTheLoop) {
  EXPECT_EQ(syncs.waiting(clock.boot()), Waiting::kMany);
  syncs.expect_bulk();
  EXPECT_EQ(syncs.waiting(clock.boot()), Waiting::kFew);
  syncs.synced();
  append(1, true);
  loop.run_for(milliseconds(20));
  syncs.release(1, catalog);
  EXPECT_EQ(syncs.waiting(clock.boot() + seconds(9)), Waiting::kBusy);
  EXPECT_EQ(syncs.waiting(clock.boot() + seconds(11)), Waiting::kMany);
}

TEST_F(SyncScheduleTest, AFailureReachesAllWhoWait) {
  append(1, true);
  auto first = syncs.durable(false);
  auto second = syncs.durable(true);
  auto lull = syncs.lull(clock.boot() + seconds(10));
  syncs.fail_all(Error{ErrorCode::kInternal, "gone", {}});
  loop.run_for(milliseconds(1));
  ASSERT_TRUE(first.is_ready() && second.is_ready() && lull.is_ready());
  EXPECT_EQ(first.take().error().message, "gone");
  EXPECT_EQ(second.take().error().message, "gone");
}

TEST_F(SyncScheduleTest, ALullEndsWithASyncOrItsTime) {
  auto with_sync = syncs.lull(clock.boot() + seconds(10));
  syncs.end_lulls(false);
  loop.run_for(milliseconds(1));
  EXPECT_FALSE(with_sync.is_ready());
  syncs.end_lulls(true);
  loop.run_for(milliseconds(1));
  EXPECT_TRUE(with_sync.is_ready());
  auto by_time = syncs.lull(clock.boot() + seconds(1));
  loop.run_for(milliseconds(999));
  EXPECT_FALSE(by_time.is_ready());
  loop.run_for(milliseconds(2));
  EXPECT_TRUE(by_time.is_ready());
}

}  // namespace
}  // namespace freshet
