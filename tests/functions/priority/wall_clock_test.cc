// A priority queue whose wall clock is wrong at the start, or is set while it runs: visibility timeouts and delays are
// over only by a clock that is trusted.
#include "tests/functions/priority/priority_world.h"

namespace freshet::priority {
namespace {

constexpr milliseconds kDay{24 * 3600 * 1000};

class PriorityClockTest : public PriorityFixture {
 protected:
  RecordPlace place(const std::string& id) { return world.wait(queue->get(id)).place; }
  int64_t failures(const std::string& id) { return world.wait(queue->get(id)).failures; }
  // "a" is in flight, "b" is delayed, "c" is ready.
  PriorityResult begin(Settings settings = shipment_settings()) {
    settings.max_failures = 1;
    open(settings);
    queued({"a", "b", "c"});
    PriorityResult held = peek();
    EXPECT_EQ(held.id, "a");
    EXPECT_TRUE(enqueue("b", {}, seconds(30)).ok());
    return held;
  }
  // The daemon was down, and starts with a wall clock that shows so much more than before.
  void start_off_by(milliseconds off, Settings settings = shipment_settings()) {
    settings.max_failures = 1;
    const WallTime last = world.clock.wall();
    queue.reset();
    world.clock.step_wall(off);
    world.store->wall_guard().start_after(last);
    open(settings);
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, PriorityClockTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(PriorityClockTest, AStartADayAheadEndsNoTimeoutAndNoDelay) {
  Settings settings = shipment_settings();
  settings.require_receipt = true;
  const auto held = begin(settings);
  start_off_by(kDay, settings);
  EXPECT_TRUE(sweep().empty());
  EXPECT_EQ(place("a"), RecordPlace::kInFlight);
  EXPECT_EQ(failures("a"), 0);
  EXPECT_EQ(place("b"), RecordPlace::kDelayed);
  EXPECT_EQ(peek().id, "c");
  EXPECT_EQ(remove("a").code, Code::kIllegalState) << "another than its consumer settled it";
  world.clock.step_wall(-kDay);
  EXPECT_TRUE(sweep().empty());
  EXPECT_TRUE(remove("a", held.receipt).ok());
}

// A machine that lost its clock begins in 1970. Times before 2001 are none of a record, so nothing can be due.
TEST_P(PriorityClockTest, AClockBeforeTheFirstValidTimeEndsNothingAndIsNoError) {
  begin();
  const auto wall = std::chrono::duration_cast<milliseconds>(world.clock.wall().time_since_epoch());
  world.clock.step_wall(milliseconds(1000) - wall);
  const auto swept = world.wait(queue->sweep(100, nullptr));
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_FALSE(*swept);
  world.clock.step_wall(wall - milliseconds(1000));
  EXPECT_EQ(place("a"), RecordPlace::kInFlight);
}

TEST_P(PriorityClockTest, TheyAreOverOnceTheClockIsTrusted) {
  begin();
  start_off_by(kDay);
  world.pass(seconds(50));
  EXPECT_TRUE(sweep().empty());
  EXPECT_EQ(place("a"), RecordPlace::kInFlight);
  world.pass(seconds(15));
  EXPECT_TRUE(sweep().empty());
  EXPECT_EQ(place("a"), RecordPlace::kDead);
  EXPECT_EQ(place("b"), RecordPlace::kReady);
}

TEST_P(PriorityClockTest, AJumpWhileItRunsGivesNoRecordToASecondConsumer) {
  for (const bool strict : {false, true}) {
    SCOPED_TRACE(strict ? "strict" : "");
    Settings settings = shipment_settings();
    settings.strict = strict;
    const auto held = begin(settings);
    world.clock.step_wall(kDay);
    const auto next = peek();
    EXPECT_EQ(next.id, strict ? "" : "c");
    EXPECT_TRUE(world.wait(queue->extend(on("a", held.receipt), {})).ok()) << "its consumer still has it";
    world.clock.step_wall(-kDay);
    for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(world.wait(queue->erase(id)).ok());
  }
}

TEST_P(PriorityClockTest, TimeGoesOnWhileTheClockIsNotTrusted) {
  begin();
  world.clock.step_wall(kDay);
  world.pass(seconds(35));
  EXPECT_TRUE(sweep().empty());
  EXPECT_EQ(place("b"), RecordPlace::kReady) << "its delay of 30 s is over by any clock";
  EXPECT_EQ(place("a"), RecordPlace::kInFlight);
}

TEST_P(PriorityClockTest, InPlaceAsWell) {
  Settings settings = shipment_settings();
  settings.in_place = true;
  begin(settings);
  start_off_by(kDay, settings);
  EXPECT_EQ(peek().id, "c");
  EXPECT_EQ(failures("a"), 0);
}

}  // namespace
}  // namespace freshet::priority
