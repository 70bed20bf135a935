// How a log handles calls that fail, one kind at a time: every failure except a full disk is for good.
#include <gmock/gmock.h>

#include "runtime/loop/sim_loop.h"
#include "tests/tables/log/log_fixture.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

struct LogFailureTest : LogFixture {
  // From now on, calls that begin with this fail.
  void fail(ErrorCode code, std::string call) {
    files.fail_calls(code, [call = std::move(call)](const std::string& made) { return made.starts_with(call); });
  }
  void heal() { files.fail_calls(ErrorCode::kIo, nullptr); }
  Result<LogPosition> try_append() { return log->append(BatchKind::kCommit, std::string(1500, 'x')); }
  // Until the next batch needs a segment of its own.
  void fill_segment() {
    const size_t before = log->segments().size();
    if (log->segments().back().bytes < 100) append("not the first");
    while (!log->starts_segment(1500)) append(std::string(1500, 'x'));
    ASSERT_EQ(log->segments().size(), before);
  }
};

TEST_F(LogFailureTest, EachCallOfARotationIsForGood) {
  for (const char* call : {"look at data/LOCK", "look at the space", "open data/spare", "allocate", "write data/spare",
                           "sync data/spare", "rename data/spare", "sync directory", "open data/segment", "truncate"}) {
    SCOPED_TRACE(call);
    files.restart_process();
    open();
    fill_segment();
    sync();
    fail(ErrorCode::kIo, call);
    auto appended = try_append();
    ASSERT_FALSE(appended);
    EXPECT_NE(appended.error().code, ErrorCode::kDiskFull);
    heal();
    EXPECT_FALSE(try_append()) << "never tried again";
    EXPECT_FALSE(log->sync(clock.boot(), Waiting::kMany, log->last_sequence()));
    EXPECT_EQ(log->bytes_left(), 0u);
  }
  files.restart_process();
  open();
}

TEST_F(LogFailureTest, WithoutAFreeDescriptorASegmentIsAskedForAgain) {
  open();
  for (const bool spare : {false, true}) {
    SCOPED_TRACE(spare);
    fill_segment();
    log->set_reserve(spare ? 4096 : 0);
    sync();
    const uint64_t used = log->bytes_used();
    fail(ErrorCode::kUnavailable, "open data/spare");
    for (int i = 0; i < 3; ++i) {
      auto appended = try_append();
      ASSERT_FALSE(appended);
      EXPECT_EQ(appended.error().code, ErrorCode::kUnavailable) << appended.error().message;
    }
    EXPECT_EQ(log->bytes_used(), used);
    append("a small one still fits");
    sync();
    heal();
    clock.advance(milliseconds(150));
    sync();
    ASSERT_TRUE(try_append());
  }
  const auto before = read_all();
  open();
  EXPECT_EQ(payloads, before);
}

// A quota is not seen in the free space: what the disk has refused counts as full until it has given something.
TEST_F(LogFailureTest, ADiskThatRefusesSpaceIsFullWhateverItSaysOfItsSpace) {
  open();
  ASSERT_GT(log->bytes_left(), 1'000'000u);
  fail(ErrorCode::kDiskFull, "allocate space for data/spare");
  log->set_reserve(2 * 4096);
  for (int i = 0; i < 5; ++i) {
    clock.advance(milliseconds(150));
    sync();
    EXPECT_LE(log->bytes_left(), 4096u) << "the open segment is all there is";
    EXPECT_NE(log->sync_due(), BootTime::max()) << "it is asked again";
  }
  heal();
  clock.advance(milliseconds(150));
  sync();
  EXPECT_GT(log->bytes_left(), 1'000'000u);
}

// A file may have its size without the space for it, as after a truncation or a copy. On a full disk nothing is written
// there, which could fail for good; the append is refused and can be tried again.
TEST_F(LogFailureTest, AFullDiskIsNoErrorOfALastFileThatHasNoSpace) {
  open();
  append("kept");
  sync();
  log.reset();
  {
    auto file = files.open("data/segment-0000000001.log", OpenMode::kReadWrite);
    ASSERT_TRUE(file && (*file)->truncate(1'000) && (*file)->truncate(4'096));
  }
  files.set_disk_bytes(files.bytes_allocated());
  options.segment_bytes = 8'192;
  open();
  const auto refused = log->append(BatchKind::kCommit, std::string(2'000, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDiskFull) << refused.error().message;
  files.set_disk_bytes(1u << 30);
  clock.advance(milliseconds(150));
  sync();
  append(std::string(2'000, 'x'));
  open();
  EXPECT_EQ(payloads, (std::vector<std::string>{"kept", std::string(2'000, 'x')}));
}

// Deletes make the wanted reserve smaller than what is there. The disk is asked again all the same.
TEST_F(LogFailureTest, ADiskThatHasRefusedIsAskedAgainWhenTheReserveIsWhole) {
  open();
  log->set_reserve(2 * 4096);
  sync();
  fail(ErrorCode::kDiskFull, "allocate space for data/spare");
  log->set_reserve(4 * 4096);
  ASSERT_LE(log->bytes_left(), 3u * 4096);
  log->set_reserve(4096);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(log->sync_due(), BootTime::max());
    clock.advance(milliseconds(150));
    sync();
    EXPECT_LE(log->bytes_left(), 3u * 4096);
  }
  heal();
  clock.advance(milliseconds(150));
  sync();
  EXPECT_GT(log->bytes_left(), 1'000'000u);
  EXPECT_EQ(log->sync_due(), BootTime::max());
}

// On a full disk a directory may have no room for another name.
TEST_F(LogFailureTest, ANewNameThatDoesNotFitIsAFullDisk) {
  open();
  fill_segment();
  sync();
  for (const bool spare : {false, true}) {
    if (spare) log->set_reserve(4096);
    const uint64_t used = log->bytes_used();
    fail(ErrorCode::kDiskFull, "rename data/spare");
    for (int i = 0; i < 3; ++i) {
      auto appended = try_append();
      ASSERT_FALSE(appended);
      EXPECT_EQ(appended.error().code, ErrorCode::kDiskFull) << appended.error().message;
    }
    EXPECT_EQ(log->bytes_used(), used);
    append("a small one still fits");
    sync();
    heal();
    ASSERT_TRUE(try_append());
    sync();
    fill_segment();
    sync();
  }
  EXPECT_LE(files.bytes_allocated(), (log->segments().size() + 2) * 4096);
  const auto before = read_all();
  open();
  EXPECT_EQ(payloads, before);
}

TEST_F(LogFailureTest, ABatchLargerThanASegmentGivesItsFileBackWhenTheNameDoesNotFit) {
  open();
  const uint64_t before = files.bytes_allocated();
  fail(ErrorCode::kDiskFull, "rename data/spare");
  EXPECT_EQ(log->append(BatchKind::kCommit, std::string(10'000, 'x')).error().code, ErrorCode::kDiskFull);
  EXPECT_EQ(files.bytes_allocated(), before);
  heal();
  append(std::string(10'000, 'x'));
  sync();
  open();
  EXPECT_EQ(payloads.size(), 1u);
}

TEST_F(LogFailureTest, ARetiredSegmentWhoseNewNameDoesNotFitIsDeletedAtOnce) {
  open();
  while (log->segments().size() < 3) append(std::string(1500, 'x'));
  log->retire_through(2);
  while (log->segments().size() < 4) append(std::string(1500, 'x'));
  sync();
  fail(ErrorCode::kDiskFull, "rename data/segment");
  ASSERT_TRUE(log->remove_oldest());
  EXPECT_FALSE(files.exists(segment_path(1)));
  EXPECT_FALSE(files.exists("data/trash-segment-0000000001.log"));
  fail(ErrorCode::kIo, "rename data/segment");
  EXPECT_EQ(log->remove_oldest().error().code, ErrorCode::kIo);
  EXPECT_FALSE(log->append(BatchKind::kCommit, "x"));
}

TEST_F(LogFailureTest, ADiskThatDoesNotSayItsSpaceIsForGood) {
  open();
  fail(ErrorCode::kIo, "look at the space");
  clock.advance(seconds(1));
  EXPECT_EQ(log->sync(clock.boot(), Waiting::kMany, 0).error().code, ErrorCode::kIo);
  heal();
  EXPECT_FALSE(log->append(BatchKind::kCommit, "x"));
}

TEST_F(LogFailureTest, ASpareThatCannotBeLookedAtRefusesTheStart) {
  open();
  log->set_reserve(2 * 4096);
  log.reset();
  ASSERT_TRUE(files.exists("data/spare-2"));
  for (const char* call : {"open data/spare", "look at data/spare", "allocate space for data/spare"}) {
    fail(ErrorCode::kIo, call);
    EXPECT_FALSE(try_open()) << call;
  }
  fail(ErrorCode::kDiskFull, "allocate space for data/spare");
  open();
  EXPECT_FALSE(files.exists("data/spare-2")) << "its size had outlived its space";
}

TEST_F(LogFailureTest, WithoutItsLockFileTheDirectoryIsStillLocked) {
  open();
  append("ours");
  sync();
  ASSERT_TRUE(files.remove("data/LOCK"));
  auto second = open_log(files, options, [](const LogBatch&) -> Result<void> { return {}; });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().message, HasSubstr("data is locked by another process"));
  while (log->segments().size() < 2) append(std::string(1500, 'x'));
  EXPECT_TRUE(files.exists("data/LOCK")) << "made again with the next segment";
  const auto before = read_all();
  open();
  EXPECT_EQ(payloads, before);
}

// As a program does that locks the file alone.
TEST_F(LogFailureTest, ALockFileThatIsAnothersEndsTheLogBeforeItsNextSegment) {
  open();
  fill_segment();
  sync();
  ASSERT_TRUE(files.remove("data/LOCK"));
  auto theirs = files.lock("data/LOCK");
  ASSERT_TRUE(theirs);
  auto appended = try_append();
  ASSERT_FALSE(appended);
  EXPECT_THAT(appended.error().message,
              HasSubstr("the data directory data is no longer this process's own: data/LOCK is not what this process"));
  EXPECT_FALSE(files.exists(segment_path(2)));
  theirs->reset();
  EXPECT_FALSE(log->append(BatchKind::kCommit, "x")) << "that is for good";
}

}  // namespace
}  // namespace freshet
