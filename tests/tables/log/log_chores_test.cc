// Segments that are cut, deleted and made beside the log.
#include <algorithm>

#include "runtime/loop/sim_loop.h"
#include "tables/log/log.h"
#include "tests/tables/log/log_fixture.h"

namespace freshet {
namespace {

// Work beside the log ends when the test says so.
struct LogChoresTest : LogFixture {
  SimLoop scheduler{clock};
  SimWork chores{files, scheduler, milliseconds(0)};
  const std::string big = std::string(1500, 'x');

  LogChoresTest() { options.chores = &chores; }
  ~LogChoresTest() override { log.reset(); }
  // The one that runs.
  void chore() {
    scheduler.run_for(milliseconds(1));
    sync();
  }
  long spares() {
    const auto names = *files.list("data");
    return std::count_if(names.begin(), names.end(), [](const auto& name) { return name.starts_with("spare-"); });
  }
  void all_chores() {
    for (int i = 0; i < 20; ++i) chore();
  }
};

TEST_F(LogChoresTest, AClosedSegmentIsCutBesideAndGivesItsSpaceBack) {
  options.max_bytes = 80'000;
  open();
  while (log->segments().size() < 2) append(big);
  sync();
  const uint64_t left = log->bytes_left();
  const uint64_t allocated = files.bytes_allocated();
  EXPECT_GT(allocated, 2 * 4096u - 1) << "not within the call";
  chore();
  EXPECT_LT(files.bytes_allocated(), allocated);
  EXPECT_GE(log->bytes_left(), left);
  open();
  EXPECT_EQ(payloads.size(), 3u);
}

TEST_F(LogChoresTest, ASegmentThatACrashLeftUncutIsCutAtTheNextStart) {
  open();
  while (log->segments().size() < 2) append(big);
  sync();
  const uint64_t uncut = files.bytes_allocated();
  files.crash_at(files.calls() + 1);
  log.reset();
  files.restart_process();
  open();
  EXPECT_LT(files.bytes_allocated(), uncut);
  EXPECT_EQ(payloads.size(), 3u);
}

TEST_F(LogChoresTest, ARemovedSegmentIsDeletedBeside) {
  options.segment_bytes = 8u << 20;
  open();
  const std::string large(3u << 20, 'x');
  while (log->segments().size() < 2) append(large);
  log->retire_through(1);
  while (log->segments().size() < 3) append(large);
  sync();
  ASSERT_TRUE(log->remove_oldest());
  EXPECT_TRUE(files.exists("data/trash-segment-0000000001.log"));
  all_chores();
  EXPECT_EQ(files.list("data"), (Strings{"LOCK", "segment-0000000002.log", "segment-0000000003.log"}));
  EXPECT_EQ(log->sync_due(), BootTime::max()) << "nothing is left to do";
}

TEST_F(LogChoresTest, ASegmentMayBeRemovedBeforeItWasCut) {
  open();
  while (log->segments().size() < 2) append(big);
  log->retire_through(1);
  while (log->segments().size() < 3) append(big);
  ASSERT_TRUE(log->remove_oldest());
  all_chores();
  EXPECT_FALSE(files.exists("data/trash-segment-0000000001.log"));
  open();
  EXPECT_EQ(log->segments().front().id, 2u);
}

TEST_F(LogChoresTest, SparesAreMadeBesideOneByOne) {
  open();
  const uint64_t left = log->bytes_left();
  log->set_reserve(2 * 4096);
  EXPECT_EQ(spares(), 0);
  all_chores();
  EXPECT_EQ(spares(), 2);
  EXPECT_EQ(log->bytes_left(), left);
}

TEST_F(LogChoresTest, AFullDiskIsNoErrorOfTheLog) {
  open();
  files.set_disk_bytes(files.bytes_allocated() + 4096);
  log->set_reserve(4 * 4096);
  all_chores();
  append("a");
  sync();
  files.set_disk_bytes(UINT64_MAX);
  clock.advance(seconds(1));
  all_chores();
  EXPECT_EQ(spares(), 4);
}

TEST_F(LogChoresTest, WhenSpaceIsShortNothingIsLeftForLater) {
  options.max_bytes = 8 * 4096;
  open();
  log->set_reserve(3 * 4096);
  while (log->segments().size() < 4) append(big);
  sync();
  EXPECT_EQ(spares(), 3);
  log->retire_through(3);
  while (log->segments().size() < 5) append(big);
  const uint64_t left = log->bytes_left();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(log->remove_oldest());
  sync();
  EXPECT_GE(log->bytes_left(), left + 3 * 4096);
}

}  // namespace
}  // namespace freshet
