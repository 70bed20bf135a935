// The store with a wrong wall clock: at a start, and when somebody sets it.
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

constexpr milliseconds kDay{24 * 3600 * 1000};

class WallClockTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    options.segment_bytes = 16u << 10;
    options.stream_memory_bytes = 10'000;
    options.clock_sync = &sync;
    options.on_clock = [this](const WallDoubt& doubt) { told.push_back(doubt); };
    options.on_clock_behind = [this](milliseconds by) { behind.push_back(by); };
    open();
  }
  // The process ends, and the next one starts with a wall clock that is off by so much.
  void reopen_off_by(milliseconds off) {
    close();
    clock.step_wall(off);
    files.restart_process();
    open();
  }
  TableDefinition stream_of(std::optional<StreamView> view) {
    TableDefinition d = queue_definition();
    d.stream = view;
    return d;
  }
  void switch_stream(std::optional<StreamView> view) { ASSERT_TRUE(now(store->alter_table(stream_of(view)))); }
  std::string label() { return now(store->describe_table("Queue"))->stream_label; }
  // Writes this many records, over many segments.
  void write_records(int records) {
    for (int i = 0; i < records; ++i) {
      Item item = task("t" + std::to_string(i % 10), "PENDING", ++writes_);
      item.set("fill", Value(std::string(400, 'x')));
      ASSERT_TRUE(put("Queue", item));
      if (i % 10 == 9) turn();
    }
    turn();
  }

  SimClockSync sync;
  std::vector<WallDoubt> told;
  std::vector<milliseconds> behind;

 private:
  int64_t writes_ = 0;
};

TEST_F(WallClockTest, AStartWithTheClockADayAheadExpiresNothingUntilItIsSynchronised) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, kNow + 3600)));
  turn();
  reopen_off_by(kDay);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].at_start);
  scheduler.run_for(seconds(30));
  EXPECT_TRUE(store->stats().ttl_paused);
  EXPECT_NE(get("Queue", key("a")), Item{});
  clock.step_wall(-kDay);  // A time server has corrected it.
  sync.set(true);
  scheduler.run_for(seconds(2));
  EXPECT_FALSE(store->stats().ttl_paused);
  EXPECT_NE(get("Queue", key("a")), Item{});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_TRUE(told[1].over);
  reopen_off_by(kDay);  // Now it is a day later, and the kernel knows.
  scheduler.run_for(seconds(1));
  EXPECT_EQ(get("Queue", key("a")), Item{});
}

TEST_F(WallClockTest, AStartWithTheClockBehindTheLastWriteSaysByHowMuchAndTrustsIt) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, kNow + 3600)));
  turn();
  reopen_off_by(milliseconds(-59'000));
  EXPECT_TRUE(behind.empty()) << "a clock is corrected by so much every day";
  reopen_off_by(-kDay);
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_NEAR(static_cast<double>(behind[0].count()), static_cast<double>((kDay + milliseconds(59'000)).count()), 2000);
  EXPECT_TRUE(told.empty());
  EXPECT_FALSE(store->stats().ttl_paused);
  reopen_off_by(kDay + milliseconds(60'000));
  EXPECT_EQ(behind.size(), 1u);
}

TEST_F(WallClockTest, NobodyWhoSaysThatItIsSynchronisedIsWaitedForAMinute) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, kNow + 3600)));
  turn();
  reopen_off_by(kDay);
  scheduler.run_for(seconds(58));
  EXPECT_NE(get("Queue", key("a")), Item{});
  scheduler.run_for(seconds(4));
  EXPECT_EQ(get("Queue", key("a")), Item{});
}

// A run in doubt writes doubtful times. The next start must not take them for a proof.
TEST_F(WallClockTest, ARestartInDoubtDoubtsAgain) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, kNow + 3600)));
  turn();
  for (int start = 0; start < 3; ++start) {
    reopen_off_by(start == 0 ? kDay : milliseconds(0));
    EXPECT_EQ(told.size(), static_cast<size_t>(start + 1));
    ASSERT_TRUE(put("Queue", task("b", "PENDING", 2, kNow + 7200)));
    scheduler.run_for(seconds(5));
    EXPECT_TRUE(store->stats().ttl_paused);
    EXPECT_NE(get("Queue", key("a")), Item{});
  }
  scheduler.run_for(seconds(60));
  EXPECT_FALSE(store->stats().ttl_paused);
  EXPECT_EQ(get("Queue", key("a")), Item{});
}

TEST_F(WallClockTest, ARestartAfterAJumpDoubtsAsTheRunBeforeDid) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, kNow + 3600)));
  turn();
  clock.step_wall(kDay);
  scheduler.run_for(seconds(1));
  EXPECT_TRUE(files.exists("data/CLOCK"));
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 2, kNow + 7200)));
  turn();
  reopen_off_by(milliseconds(0));
  scheduler.run_for(seconds(5));
  EXPECT_TRUE(store->stats().ttl_paused);
  EXPECT_NE(get("Queue", key("a")), Item{});
  reopen_off_by(-kDay);
  EXPECT_FALSE(store->stats().ttl_paused);
  EXPECT_FALSE(files.exists("data/CLOCK"));
}

// A start dies before the mark is durable. The next one believes it, and writes doubtful times that need it.
TEST_F(WallClockTest, AMarkThatAStartFindsSurvivesALossOfPower) {
  for (int n = 1; n <= 12; ++n) {
    SCOPED_TRACE(n);
    close();
    options.directory = "data-" + std::to_string(n);
    open();
    create(queue_definition());
    ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
    turn();
    close();
    clock.step_wall(kDay);
    files.restart_process();
    const std::string mark = options.directory + "/CLOCK";
    files.on_call([this, mark](const std::string& call) {
      if (call == "sync " + mark) files.crash_at(files.calls() + 1);
    });
    ASSERT_FALSE(try_open());
    files.on_call(nullptr);
    files.restart_process();
    open();
    ASSERT_TRUE(files.exists(mark));
    ASSERT_TRUE(put("Queue", task("b", "PENDING", 2)));
    turn();
    close();
    files.restart();
    open();
    EXPECT_TRUE(store->stats().ttl_paused) << "a doubtful time passes for a proof";
  }
}

TEST_F(WallClockTest, TheMarkOfADoubtGoesWithIt) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  turn();
  reopen_off_by(kDay);
  EXPECT_TRUE(files.exists("data/CLOCK"));
  scheduler.run_for(seconds(61));
  EXPECT_FALSE(files.exists("data/CLOCK"));
  reopen_off_by(kDay);
  EXPECT_TRUE(files.exists("data/CLOCK"));
  sync.set(true);
  reopen_off_by(milliseconds(0));
  EXPECT_FALSE(files.exists("data/CLOCK"));
  sync.set(false);
  reopen_off_by(kDay);
  options.trust_clock = true;
  reopen_off_by(milliseconds(0));
  EXPECT_FALSE(files.exists("data/CLOCK"));
}

TEST_F(WallClockTest, AMarkThatCannotBeMadeFailsTheStart) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  turn();
  for (const bool full : {false, true}) {
    close();
    if (!full) clock.step_wall(kDay);
    files.restart_process();
    files.fail_calls(full ? ErrorCode::kDiskFull : ErrorCode::kIo,
                     [](const std::string& call) { return call.starts_with("write data/CLOCK"); });
    EXPECT_EQ(try_open().has_value(), full) << "a full disk is none: the store goes on";
    EXPECT_FALSE(files.exists("data/CLOCK"));
    files.fail_calls(ErrorCode::kIo, nullptr);
  }
}

TEST_F(WallClockTest, AnOptionSkipsTheWait) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, kNow + 3600)));
  turn();
  options.trust_clock = true;
  reopen_off_by(kDay);
  scheduler.run_for(seconds(1));
  EXPECT_EQ(get("Queue", key("a")), Item{});
  EXPECT_TRUE(told.empty());
}

TEST_F(WallClockTest, AStepForwardTrimsNoStream) {
  create(queue_definition());
  write_records(300);
  ASSERT_EQ(now(store->stream_bounds("Queue"))->oldest, 1u);
  clock.step_wall(kDay + milliseconds(3'600'000));
  scheduler.run_for(seconds(2));
  write_records(50);
  scheduler.run_for(seconds(1));
  EXPECT_EQ(now(store->stream_bounds("Queue"))->oldest, 1u);
  clock.step_wall(-kDay - milliseconds(3'600'000));
  scheduler.run_for(seconds(2));
  write_records(50);
  EXPECT_EQ(now(store->stream_bounds("Queue"))->oldest, 1u);
  EXPECT_EQ(stream("Queue", 1).front().sequence, 1u);
}

TEST_F(WallClockTest, NorDoesAStartWithTheClockADayAhead) {
  create(queue_definition());
  write_records(300);
  reopen_off_by(kDay + milliseconds(3'600'000));
  scheduler.run_for(seconds(3));
  write_records(10);
  EXPECT_EQ(now(store->stream_bounds("Queue"))->oldest, 1u);
}

// The records carry the wrong time for good, but they are as old as they are.
TEST_F(WallClockTest, RecordsOfAClockThatWasBehindAreKeptAsLongAsOthers) {
  clock.step_wall(-2 * kDay);
  options.trust_clock = true;
  open();
  create(queue_definition());
  write_records(300);
  clock.step_wall(2 * kDay);
  scheduler.run_for(seconds(1));
  EXPECT_TRUE(store->stats().ttl_paused);
  scheduler.run_for(seconds(70));
  EXPECT_FALSE(store->stats().ttl_paused);
  write_records(10);
  EXPECT_EQ(now(store->stream_bounds("Queue"))->oldest, 1u);
  clock.advance(kDay);
  turn();
  EXPECT_GT(now(store->stream_bounds("Queue"))->oldest, 100u);
}

TEST_F(WallClockTest, AClosedStreamIsKeptForADayWhateverTheClockShows) {
  create(queue_definition());
  write_records(5);
  switch_stream(std::nullopt);
  turn();
  const auto closed = [&] { return now(store->closed_streams())->size(); };
  clock.step_wall(2 * kDay);
  scheduler.run_for(seconds(70));
  EXPECT_EQ(closed(), 1u) << "closed a minute ago";
  clock.advance(kDay);
  EXPECT_EQ(closed(), 0u);
  switch_stream(StreamView::kKeysOnly);
  switch_stream(std::nullopt);
  turn();
  reopen_off_by(2 * kDay);
  EXPECT_EQ(closed(), 1u) << "the clock is not trusted yet";
  scheduler.run_for(seconds(62));
  EXPECT_EQ(closed(), 0u);
}

TEST_F(WallClockTest, LabelsOfATablesStreamsRise) {
  create(queue_definition());
  const std::string first = label();
  clock.step_wall(-kDay);
  switch_stream(std::nullopt);
  switch_stream(StreamView::kKeysOnly);
  const std::string second = label();
  EXPECT_GT(second, first);
  switch_stream(std::nullopt);
  turn();
  reopen();
  clock.advance(milliseconds(3'600'000));
  switch_stream(StreamView::kKeysOnly);
  const std::string third = label();
  EXPECT_GT(third, second);
  switch_stream(std::nullopt);
  turn();
  clock.step_wall(-20 * kDay);
  clock.advance(2 * kDay);  // The closed ones are forgotten.
  turn();
  EXPECT_TRUE(now(store->closed_streams())->empty());
  switch_stream(StreamView::kKeysOnly);
  EXPECT_GT(label(), third);
  clock.advance(60 * kDay);
  switch_stream(std::nullopt);
  switch_stream(StreamView::kKeysOnly);
  EXPECT_EQ(label().substr(0, 10), "2023-12-25") << "the time, where that is higher";
}

// Nanoseconds hold 292 years.
TEST_F(WallClockTest, WhatExpiresInCenturiesKeepsNobodyAwake) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, 10'413'792'000)));  // 2300.
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 2, 90'000'000'000)));  // 4821.
  turn();
  EXPECT_GT(store->next_due(), clock.boot());
  scheduler.run_for(seconds(3));
  EXPECT_NE(get("Queue", key("a")), Item{});
}

}  // namespace
}  // namespace freshet
