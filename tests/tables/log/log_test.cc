#include "tables/log/log.h"

#include "runtime/loop/sim_loop.h"
#include "tests/tables/log/log_fixture.h"

namespace freshet {
namespace {

struct LogTest : LogFixture {};

TEST_F(LogTest, WhatWasAppendedIsReplayedInOrder) {
  open();
  EXPECT_EQ(log->last_sequence(), 0u);
  const LogPosition first = append("one");
  append("", BatchKind::kMove);
  const LogPosition third = append(std::string(1000, 'x'));
  EXPECT_EQ(log->last_sequence(), 3u);
  EXPECT_EQ(log->durable_sequence(), 0u);
  sync();
  EXPECT_EQ(log->durable_sequence(), 3u);
  open();
  ASSERT_EQ(payloads, (Strings{"one", "", std::string(1000, 'x')}));
  EXPECT_EQ(batches[0].sequence, 1u);
  EXPECT_EQ(batches[0].at, first);
  EXPECT_EQ(batches[1].kind, BatchKind::kMove);
  EXPECT_EQ(batches[2].at, third);
  EXPECT_EQ(log->last_sequence(), 3u);
  EXPECT_EQ(log->durable_sequence(), 3u);
  append("four");
  sync();
  open();
  EXPECT_EQ(payloads.size(), 4u);
}

TEST_F(LogTest, SegmentsRotateAndALargeBatchGetsItsOwn) {
  open();
  Strings all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(std::string(500 + i, static_cast<char>('a' + i)));
    append(all.back());
  }
  all.push_back(std::string(20'000, 'L'));
  append(all.back());
  all.push_back("after");
  append(all.back());
  sync();
  const auto before = log->segments();
  EXPECT_GE(before.size(), 4u);
  EXPECT_EQ(read_all(), all);
  open();
  EXPECT_EQ(payloads, all);
  const auto after = log->segments();
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].id, i + 1);
    EXPECT_EQ(after[i].bytes, before[i].bytes);
    EXPECT_EQ(after[i].first_sequence, before[i].first_sequence);
  }
  EXPECT_EQ(read_all(), all);
}

TEST_F(LogTest, StartsSegmentForetellsTheFirstBatchOfEach) {
  open();
  for (int i = 0; i < 50; ++i) {
    const std::string payload(static_cast<size_t>(100 + 37 * i), 'x');
    const bool foretold = log->starts_segment(payload.size());
    EXPECT_EQ(foretold, append(payload).offset == 72) << i;
    if (i == 20) {
      sync();
      open();
      EXPECT_FALSE(log->starts_segment(1));
    }
  }
}

TEST_F(LogTest, ReadGoesOnWhereItStoppedAndHonoursTheBound) {
  open();
  for (int i = 0; i < 10; ++i) append("batch" + std::to_string(i));
  Strings seen;
  const auto visit = [&](const LogBatch& batch) -> Result<void> {
    seen.emplace_back(batch.payload);
    return {};
  };
  auto next = log->read({1, 0}, 1, visit);
  ASSERT_TRUE(next);
  EXPECT_EQ(seen, Strings{"batch0"});
  next = log->read(*next, 1'000'000, visit);
  ASSERT_TRUE(next);
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(next->offset, log->segments().back().bytes);
  append("late");
  next = log->read(*next, 1'000'000, visit);
  ASSERT_TRUE(next);
  EXPECT_EQ(seen.back(), "late");

  EXPECT_EQ(log->read({9, 0}, 1, visit).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(log->read({1, 80}, 1, visit).error().code, ErrorCode::kCorruption);
  EXPECT_EQ(log->read({0, 0}, 1, visit).error().code, ErrorCode::kTrimmedDataAccess);
  const auto refuse = [](const LogBatch&) -> Result<void> { return fail(ErrorCode::kCancelled, "enough"); };
  EXPECT_EQ(log->read({1, 0}, 1, refuse).error().message, "enough");
  append("still works");
}

TEST_F(LogTest, AnErrorOfTheVisitorStopsTheRecovery) {
  open();
  append("a");
  sync();
  log.reset();
  auto opened = open_log(files, options, [](const LogBatch&) -> Result<void> { return invalid("no"); });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "no");
  open();
  EXPECT_EQ(payloads, Strings{"a"});
}

TEST_F(LogTest, TheDirectoryIsLockedWhileTheLogLives) {
  open();
  auto second = open_log(files, options, [](const LogBatch&) -> Result<void> { return {}; });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_EQ(second.error().message, "data is locked by another process");
  open();  // The fixture drops the first before.
}

TEST_F(LogTest, RetiredSegmentsAreSkippedAfterTheNextHeaderAndThenRemoved) {
  open();
  const std::string big(1500, 'x');
  while (log->segments().size() < 4) append(big);
  sync();
  EXPECT_EQ(log->remove_oldest().error().code, ErrorCode::kConflict);
  const uint64_t third_begins = log->segments()[2].first_sequence;
  log->retire_through(2);
  EXPECT_FALSE(log->segments()[0].retired);
  EXPECT_EQ(log->remove_oldest().error().code, ErrorCode::kConflict);
  while (log->segments().size() < 5) append(big);
  sync();
  auto segments = log->segments();
  EXPECT_TRUE(segments[0].retired);
  EXPECT_TRUE(segments[1].retired);
  EXPECT_FALSE(segments[2].retired);
  const size_t all = read_all().size();
  EXPECT_EQ(all, log->last_sequence());

  open();
  EXPECT_EQ(batches.front().sequence, third_begins);
  EXPECT_EQ(read_all().size(), all);  // The stream still reads the retired ones.
  EXPECT_TRUE(log->remove_oldest());
  EXPECT_TRUE(log->remove_oldest());
  EXPECT_EQ(log->remove_oldest().error().code, ErrorCode::kConflict);
  EXPECT_FALSE(files.exists(segment_path(1)));
  EXPECT_EQ(log->read({2, 0}, 1, nullptr).error().code, ErrorCode::kTrimmedDataAccess);
  open();
  EXPECT_EQ(log->segments().front().id, 3u);
  EXPECT_EQ(batches.front().sequence, third_begins);
}

TEST_F(LogTest, EachDurabilityModeSyncsWhenItSays) {
  options.durability = {DurabilityMode::kInterval, milliseconds(100)};
  open();
  uint64_t syncs = files.syncs();
  append("a");
  sync();
  EXPECT_EQ(log->durable_sequence(), 0u);
  EXPECT_EQ(log->sync_due(), clock.boot() + milliseconds(100));
  clock.advance(milliseconds(99));
  append("b");
  sync();
  EXPECT_EQ(files.syncs(), syncs);
  clock.advance(milliseconds(1));
  sync();
  EXPECT_EQ(files.syncs(), ++syncs);
  EXPECT_EQ(log->durable_sequence(), 2u);
  EXPECT_EQ(log->sync_due(), BootTime::max());

  options.durability = {DurabilityMode::kNone, {}};
  open();
  syncs = files.syncs();
  append("c");
  sync();
  EXPECT_EQ(log->durable_sequence(), 3u);
  EXPECT_EQ(files.syncs(), syncs);

  options.durability = {DurabilityMode::kSync, {}};
  open();
  syncs = files.syncs();
  append("d");
  append("e");
  sync();
  sync();  // Nothing new: no call.
  EXPECT_EQ(files.syncs(), ++syncs);
}

TEST_F(LogTest, ASyncBesideCoversWhatWasWrittenBeforeIt) {
  SimLoop scheduler(clock);
  SimSync beside(files, scheduler, milliseconds(0));
  options.beside = &beside;
  options.beside_bytes = 100;
  open();
  append("few bytes");  // Within the call.
  sync();
  EXPECT_EQ(log->durable_sequence(), 1u);
  EXPECT_EQ(beside.begun(), 0u);

  append(std::string(200, 'x'));
  sync();
  append("written meanwhile");
  EXPECT_EQ(log->durable_sequence(), 1u);
  sync();  // It is still under way.
  EXPECT_EQ(log->durable_sequence(), 1u);
  scheduler.run_ready();
  EXPECT_TRUE(log->syncing());
  sync();  // Over; the rest is few bytes: not in the call that others wait for.
  EXPECT_EQ(log->durable_sequence(), 2u);
  EXPECT_FALSE(log->syncing());
  sync();
  EXPECT_EQ(log->durable_sequence(), 3u);
  EXPECT_EQ(beside.begun(), 1u);

  append(std::string(30, 'f'));
  sync(Waiting::kFew);  // A quarter is enough.
  EXPECT_EQ(beside.begun(), 2u);
  scheduler.run_ready();

  append(std::string(200, 'y'));
  sync();
  const uint64_t syncs = files.syncs();
  ASSERT_TRUE(log->roll());  // Waits for it, whatever the loop does.
  EXPECT_GT(files.syncs(), syncs);
  EXPECT_EQ(log->durable_sequence(), 5u);
  append(std::string(200, 'z'));
  sync();
  log.reset();  // As the daemon ends.
  options.beside = nullptr;
}

TEST_F(LogTest, OnlyWhatIsWantedAsksForASync) {
  SimLoop scheduler(clock);
  SimSync beside(files, scheduler, milliseconds(0));
  options.beside = &beside;
  open();
  append("wanted");
  append("not");
  const uint64_t syncs = files.syncs();
  ASSERT_TRUE(log->sync(clock.boot(), Waiting::kMany, 0));
  EXPECT_EQ(log->durable_sequence(), 0u);
  EXPECT_EQ(files.syncs(), syncs);
  ASSERT_TRUE(log->sync(clock.boot(), Waiting::kBusy, 1));
  EXPECT_EQ(beside.begun(), 1u) << "there is other work, however few the bytes are";
  scheduler.run_ready();
  ASSERT_TRUE(log->sync(clock.boot(), Waiting::kBusy, 1));
  EXPECT_EQ(log->durable_sequence(), 2u) << "a sync covers all that is written";
  EXPECT_EQ(beside.begun(), 1u);
  log.reset();
}

TEST_F(LogTest, WhatComesDuringASyncBesideWaitsNoLongerThanItsInterval) {
  SimLoop scheduler(clock);
  SimSync beside(files, scheduler, milliseconds(0));
  options.durability = {DurabilityMode::kInterval, milliseconds(100)};
  options.beside = &beside;
  options.beside_bytes = 0;
  open();
  append("a");
  sync();
  clock.advance(milliseconds(100));
  sync();
  EXPECT_EQ(beside.begun(), 1u);
  clock.advance(milliseconds(10));
  append("b");
  sync();
  EXPECT_EQ(log->sync_due(), BootTime::max()) << "the end of the sync brings a turn";
  clock.advance(milliseconds(99));  // A slow one.
  scheduler.run_ready();
  sync();
  EXPECT_EQ(log->durable_sequence(), 1u);
  EXPECT_EQ(log->sync_due(), clock.boot() + milliseconds(1));
  clock.advance(milliseconds(1));
  sync();
  EXPECT_EQ(beside.begun(), 2u);
  log.reset();
}

TEST_F(LogTest, AFailedSyncBesideIsFinal) {
  SimLoop scheduler(clock);
  SimSync beside(files, scheduler, milliseconds(0));
  options.beside = &beside;
  options.beside_bytes = 0;
  open();
  append("lost");
  files.fail_sync(1);
  sync();
  scheduler.run_ready();
  EXPECT_FALSE(log->sync(clock.boot(), Waiting::kMany, log->last_sequence()));
  EXPECT_EQ(log->durable_sequence(), 0u);
  EXPECT_FALSE(log->append(BatchKind::kCommit, "later"));
  log.reset();
}

TEST_F(LogTest, AFailedSyncIsFinal) {
  open();
  append("acknowledged");
  sync();
  append("lost");
  files.fail_sync(1);
  auto failed = log->sync(clock.boot(), Waiting::kMany, log->last_sequence());
  ASSERT_FALSE(failed);
  const std::string message = failed.error().message;
  EXPECT_NE(message.find(segment_path(1)), std::string::npos) << message;
  EXPECT_EQ(log->sync(clock.boot(), Waiting::kMany, log->last_sequence()).error().message, message);
  EXPECT_EQ(log->append(BatchKind::kCommit, "x").error().message, message);
  EXPECT_EQ(log->remove_oldest().error().message, message);
  EXPECT_EQ(log->durable_sequence(), 1u);
  EXPECT_EQ(log->bytes_left(), 0u);
}

// After a failed sync the kernel takes the pages for written. The next process finds them in the page cache, and its
// syncs succeed without bringing them to the disk.
TEST_F(LogTest, WhatAFailedSyncLeftInThePageCacheIsWrittenAgainAtTheNextStart) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    log.reset();
    SimFiles disk(seed);
    const auto reopen = [&] {
      log.reset();
      payloads.clear();
      auto opened = open_log(disk, options, [&](const LogBatch& batch) -> Result<void> {
        payloads.emplace_back(batch.payload);
        return {};
      });
      ASSERT_TRUE(opened) << opened.error().message;
      log = std::move(*opened);
    };
    reopen();
    append("acknowledged");
    sync();
    append("in the page cache");
    disk.fail_sync(1);
    ASSERT_FALSE(log->sync(clock.boot(), Waiting::kMany, log->last_sequence()));
    disk.restart_process();
    reopen();
    append("acknowledged later");
    sync();
    disk.restart();
    reopen();
    EXPECT_EQ(payloads, (Strings{"acknowledged", "in the page cache", "acknowledged later"}));
    log.reset();
  }
}

// Durability `none` promises nothing of a power cut, but the log opens after it: what a header calls durable must be.
TEST_F(LogTest, WhatAFailedSyncLeftIsWrittenAgainWithoutSyncsToo) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    log.reset();
    SimFiles disk(seed);
    const auto reopen = [&](DurabilityMode mode) {
      log.reset();
      payloads.clear();
      options.durability = {mode, {}};
      auto opened = open_log(disk, options, [&](const LogBatch& batch) -> Result<void> {
        payloads.emplace_back(batch.payload);
        return {};
      });
      ASSERT_TRUE(opened) << opened.error().message;
      log = std::move(*opened);
    };
    reopen(DurabilityMode::kSync);
    append("in the page cache");
    disk.fail_sync(1);
    ASSERT_FALSE(log->sync(clock.boot(), Waiting::kMany, log->last_sequence()));
    disk.restart_process();
    reopen(DurabilityMode::kNone);
    ASSERT_TRUE(log->roll());
    disk.restart();
    reopen(DurabilityMode::kNone);
    EXPECT_EQ(payloads, Strings{"in the page cache"});
    log.reset();
  }
}

// The last segment may be smaller than segments are now: those were smaller, or it had been cut and its header does not
// say how large it was. A start makes it larger, and the next header says how much of it is used. If a power cut took
// back only the size, the start after it would look like one of a log that somebody cut.
TEST_F(LogTest, TheSizeThatAStartGivesToTheLastSegmentIsDurable) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    log.reset();
    SimFiles disk(seed);
    const auto reopen = [&](uint64_t segment_bytes) {
      log.reset();
      options.durability = {DurabilityMode::kNone, {}};
      options.segment_bytes = segment_bytes;
      auto opened = open_log(disk, options, [](const LogBatch&) -> Result<void> { return {}; });
      ASSERT_TRUE(opened) << opened.error().message;
      log = std::move(*opened);
    };
    reopen(4096);
    append("of before");
    disk.restart_process();
    reopen(16'384);
    for (int i = 0; i < 8; ++i) append(std::string(1'000, 'x'));
    ASSERT_EQ(log->segments().size(), 1u);
    ASSERT_TRUE(log->roll());
    log.reset();
    disk.restart();
    reopen(16'384);
    log.reset();
  }
}

TEST_F(LogTest, AFailedWriteIsFinalAndItsPartIsCut) {
  open();
  append("kept");
  sync();
  files.fail_write(1);
  EXPECT_EQ(log->append(BatchKind::kCommit, std::string(300, 'x')).error().code, ErrorCode::kIo);
  EXPECT_EQ(log->append(BatchKind::kCommit, "y").error().code, ErrorCode::kIo);
  EXPECT_EQ(log->sync(clock.boot(), Waiting::kMany, log->last_sequence()).error().code, ErrorCode::kIo);
  files.restart_process();
  open();
  EXPECT_EQ(payloads, Strings{"kept"});
  append("new");
  sync();
  open();
  EXPECT_EQ(payloads, (Strings{"kept", "new"}));
}

TEST_F(LogTest, AFullDiskRefusesOnlyWhatNeedsASegmentAndRecovers) {
  open();
  const std::string big(1500, 'x');
  append(big);
  files.set_disk_bytes(files.bytes_allocated());
  append(big);
  auto full = log->append(BatchKind::kCommit, big);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kDiskFull);
  append("small ones still fit");
  sync();
  EXPECT_EQ(log->append(BatchKind::kCommit, big).error().code, ErrorCode::kDiskFull);
  files.set_disk_bytes(1'000'000);
  append(big);
  sync();
  open();
  EXPECT_EQ(payloads, (Strings{big, big, "small ones still fit", big}));
}

TEST_F(LogTest, TheReserveIsThereWhenTheDiskIsFull) {
  open();
  log->set_reserve(10'000);
  const std::string big(1500, 'x');
  files.set_disk_bytes(files.bytes_allocated());
  clock.advance(seconds(1));
  sync();  // Looks at the disk.
  const uint64_t left = log->bytes_left();
  EXPECT_GE(left, 10'000u);
  EXPECT_LT(left, 10'000u + 2 * 4096);
  size_t appended = 0;
  while (log->append(BatchKind::kCommit, big)) ++appended;
  EXPECT_GE(appended, 7u);  // Two in each of four segments, perhaps less one.
  sync();

  files.set_disk_bytes(1'000'000);
  clock.advance(seconds(1));
  sync();  // Refills.
  files.set_disk_bytes(files.bytes_allocated());
  open();
  EXPECT_EQ(payloads.size(), appended);
  EXPECT_GE(log->bytes_left(), 10'000u);  // Spares outlive the process.
  append(big);
}

TEST_F(LogTest, ABatchLargerThanASegmentGetsTheSpaceOfSpares) {
  open();
  log->set_reserve(40'000);
  for (int i = 0; i < 20; ++i) sync();
  files.set_disk_bytes(files.bytes_allocated());
  clock.advance(seconds(1));
  sync();  // Looks at the disk.
  const uint64_t left = log->bytes_left();
  ASSERT_GE(left, 40'000u);
  EXPECT_EQ(log->append(BatchKind::kCommit, std::string(60'000, 'x')).error().code, ErrorCode::kDiskFull);
  EXPECT_EQ(log->bytes_left(), left) << "nothing is given up for what does not fit";
  const std::string big(20'000, 'x');
  append(big);
  sync();
  EXPECT_GE(log->bytes_left(), 40'000u - 20'000 - 2 * 4096) << "no more is given up than was needed";
  const std::string small(1500, 'y');
  append(small);
  sync();
  open();
  EXPECT_EQ(payloads, (Strings{big, small}));
}

TEST_F(LogTest, AReserveThatTheDiskDeniesAsksForAnotherLook) {
  open();
  sync();
  EXPECT_EQ(log->sync_due(), BootTime::max());
  files.set_disk_bytes(files.bytes_allocated());
  clock.advance(seconds(1));
  sync();
  log->set_reserve(8192);
  const BootTime due = log->sync_due();
  EXPECT_GT(due, clock.boot());
  EXPECT_LE(due, clock.boot() + seconds(1));
  const uint64_t before = log->bytes_left();
  files.set_disk_bytes(1'000'000);
  clock.advance_to(due);
  sync();  // Nothing was appended.
  EXPECT_GE(log->bytes_left(), before + 8192);
  EXPECT_EQ(log->sync_due(), BootTime::max());
}

TEST_F(LogTest, MaxBytesBoundsAllFilesTogether) {
  options.max_bytes = 40'000;
  open();
  log->set_reserve(8192);
  const std::string big(1500, 'x');
  const uint64_t left = log->bytes_left();
  EXPECT_LE(left, 40'000u);
  uint64_t appended = 0;
  while (auto at = log->append(BatchKind::kCommit, big)) {
    appended += 1552;
    sync();
    EXPECT_LE(files.bytes_allocated(), 40'000u);
  }
  EXPECT_GT(appended, 25'000u);
  EXPECT_LT(log->bytes_left(), 1552u);
  EXPECT_EQ(log->append(BatchKind::kCommit, big).error().code, ErrorCode::kDiskFull);
  options.max_bytes = 80'000;
  open();
  log->retire_through(log->segments().back().id - 1);
  append(big);
  EXPECT_TRUE(log->remove_oldest());
}

TEST_F(LogTest, ARemovedSegmentGivesItsSpaceBackInSteps) {
  options.segment_bytes = 8u << 20;
  open();
  const std::string big(3u << 20, 'x');
  while (log->segments().size() < 2) append(big);
  log->retire_through(1);
  while (log->segments().size() < 3) append(big);
  sync();
  ASSERT_TRUE(log->remove_oldest());
  EXPECT_FALSE(files.exists(segment_path(1)));
  EXPECT_EQ(log->segments().front().id, 2u);
  uint64_t allocated = files.bytes_allocated();
  int steps = 0;
  for (; log->sync_due() != BootTime::max(); ++steps) {
    clock.advance_to(log->sync_due());
    sync();
    EXPECT_LT(files.bytes_allocated(), allocated);
    EXPECT_LE(allocated - files.bytes_allocated(), 2u << 20);
    allocated = files.bytes_allocated();
  }
  EXPECT_EQ(steps, 4);  // Steps for six megabytes and a little.
  EXPECT_EQ(files.list("data"), (Strings{"LOCK", "segment-0000000002.log", "segment-0000000003.log"}));

  log->retire_through(2);
  while (log->segments().size() < 3) append(big);
  ASSERT_TRUE(log->remove_oldest());
  sync();  // One step.
  EXPECT_TRUE(files.exists("data/trash-segment-0000000002.log"));
  open();
  EXPECT_FALSE(files.exists("data/trash-segment-0000000002.log"));
  EXPECT_EQ(log->segments().front().id, 3u);
}

TEST_F(LogTest, UsedBytesFollowAppendsAndRemovals) {
  open();
  const auto sum = [&] {
    uint64_t total = 0;
    for (const SegmentInfo& segment : log->segments()) total += segment.bytes;
    return total;
  };
  while (log->segments().size() < 4) append(std::string(700, 'x'));
  EXPECT_EQ(log->bytes_used(), sum());
  log->retire_through(2);
  while (log->segments().size() < 5) append(std::string(700, 'x'));
  sync();
  EXPECT_TRUE(log->remove_oldest());
  EXPECT_EQ(log->bytes_used(), sum());
  open();
  EXPECT_EQ(log->bytes_used(), sum());
}

}  // namespace
}  // namespace freshet
