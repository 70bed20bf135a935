#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <semaphore>
#include <set>

#include "tests/sim/sim_files.h"

namespace freshet {
namespace {

using MakeFiles = std::unique_ptr<Files> (*)();

std::unique_ptr<Files> make_sim_files() {
  return std::make_unique<SimFiles>(1);
}

// The promises of all three kinds of files.
struct FilesTest : testing::TestWithParam<MakeFiles> {
  std::string directory;
  std::unique_ptr<Files> files = GetParam()();

  void SetUp() override {
    std::string pattern = testing::TempDir() + "/freshet-files-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    ASSERT_TRUE(files->create_directories(directory));
  }
  void TearDown() override { std::filesystem::remove_all(directory); }
  std::string path(const std::string& name) const { return directory + "/" + name; }
};

TEST_P(FilesTest, WritesReadsGrowsAndTruncates) {
  auto file = files->open(path("a"), OpenMode::kCreate);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(3, "hello"));
  EXPECT_EQ((*file)->size(), 8u);
  std::string buffer(10, 'x');
  EXPECT_EQ((*file)->read_at(0, buffer), 8u);
  EXPECT_EQ(buffer, std::string("\0\0\0helloxx", 10));
  EXPECT_EQ((*file)->read_at(100, buffer), 0u);
  ASSERT_TRUE((*file)->preallocate(100));
  EXPECT_EQ((*file)->size(), 100u);
  ASSERT_TRUE((*file)->preallocate(50));
  EXPECT_EQ((*file)->size(), 100u);
  EXPECT_EQ((*file)->read_at(3, std::span(buffer).first(5)), 5u);
  EXPECT_EQ(buffer.substr(0, 5), "hello");
  ASSERT_TRUE((*file)->sync());
  ASSERT_TRUE((*file)->truncate(2));
  EXPECT_EQ((*file)->size(), 2u);
}

TEST_P(FilesTest, ALockKnowsWhetherItsFileIsStillThere) {
  auto held = files->lock(path("LOCK"));
  ASSERT_TRUE(held);
  EXPECT_TRUE((*held)->check());
  EXPECT_EQ(files->lock(path("LOCK")).error().code, ErrorCode::kConflict);
  held->reset();
  EXPECT_TRUE(files->lock(path("LOCK")));
}

TEST_P(FilesTest, ADirectoryHasOneHolder) {
  auto held = files->lock_directory(directory);
  ASSERT_TRUE(held) << held.error().message;
  auto second = files->lock_directory(directory);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_EQ(second.error().message, directory + " is locked by another process");
  EXPECT_TRUE(files->lock(path("LOCK"))) << "what is in it is locked on its own";
  EXPECT_TRUE((*held)->check());
  held->reset();
  EXPECT_TRUE(files->lock_directory(directory));
}

// For files on a disk, where other processes can do that.
TEST(LockedFiles, SayThatSomebodyRemovedOrReplacedThem) {
  for (const MakeFiles make : {&make_posix_files, &make_sim_files}) {
    const auto files = make();
    std::string directory = testing::TempDir() + "/freshet-lock-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    ASSERT_TRUE(files->create_directories(directory));
    const std::string path = directory + "/LOCK";
    auto held = files->lock(path);
    ASSERT_TRUE(held);
    ASSERT_TRUE(files->remove(path));
    EXPECT_EQ((*held)->check().error().code, ErrorCode::kNotFound);
    auto theirs = files->lock(path);
    ASSERT_TRUE(theirs) << "a new file of that name is not locked";
    EXPECT_TRUE((*theirs)->check());
    auto lost = (*held)->check();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::kConflict);
    EXPECT_EQ(lost.error().message, path + " is not what this process has locked: somebody replaced it");
    theirs->reset();
    std::filesystem::remove_all(directory);
  }
}

TEST_P(FilesTest, OpenModesSayWhatIsThere) {
  EXPECT_EQ(files->open(path("none"), OpenMode::kRead).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files->open(path("none"), OpenMode::kReadWrite).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(files->open(path("a"), OpenMode::kCreate));
  auto again = files->open(path("a"), OpenMode::kCreate);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kIo);
  EXPECT_NE(again.error().message.find(path("a")), std::string::npos);
  auto read_only = files->open(path("a"), OpenMode::kRead);
  ASSERT_TRUE(read_only);
  EXPECT_EQ((*read_only)->write_at(0, "x").error().code, ErrorCode::kIo);
}

// A process without a free file descriptor may have one later. Directories are synced all the same.
TEST(PosixFiles, WithoutAFreeDescriptorTheyAreUnavailable) {
#ifdef FRESHET_SANITIZED
  GTEST_SKIP() << "a sanitizer needs a descriptor to look at an object's type";
#endif
  const std::unique_ptr<Files> files = make_posix_files();
  std::string directory = testing::TempDir() + "/freshet-descriptors-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  ASSERT_TRUE(files->sync_directory(directory));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{32, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<std::unique_ptr<File>> held;
  auto file = files->open(directory + "/a", OpenMode::kCreate);
  while (file && held.size() < 64) {
    held.push_back(std::move(*file));
    file = files->open(directory + "/a", OpenMode::kRead);
  }
  const auto synced = files->sync_directory(directory);
  const auto again = files->sync_directory(directory);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kUnavailable) << file.error().message;
  EXPECT_TRUE(synced && again);
  EXPECT_TRUE(files->open(directory + "/a", OpenMode::kRead));
  std::filesystem::remove_all(directory);
}

TEST_P(FilesTest, DirectoriesListRenameAndRemove) {
  ASSERT_TRUE(files->create_directories(path("x/y")));
  ASSERT_TRUE(files->create_directories(path("x/y")));
  ASSERT_TRUE(files->open(path("x/b"), OpenMode::kCreate));
  ASSERT_TRUE(files->open(path("x/a"), OpenMode::kCreate));
  EXPECT_EQ(files->list(path("x")), (std::vector<std::string>{"a", "b", "y"}));
  ASSERT_TRUE(files->rename(path("x/b"), path("x/c")));
  ASSERT_TRUE(files->remove(path("x/a")));
  ASSERT_TRUE(files->sync_directory(path("x")));
  EXPECT_EQ(files->list(path("x")), (std::vector<std::string>{"c", "y"}));
  EXPECT_EQ(files->list(path("gone")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files->remove(path("gone")).error().code, ErrorCode::kNotFound);
  EXPECT_GT(*files->free_bytes(directory), 0u);
}

TEST_P(FilesTest, ALockExcludesUntilItIsDropped) {
  {
    auto first = files->lock(path("LOCK"));
    ASSERT_TRUE(first);
    auto second = files->lock(path("LOCK"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  }
  EXPECT_TRUE(files->lock(path("LOCK")));
}

TEST_P(FilesTest, AFileOutlivesItsName) {
  auto file = files->open(path("a"), OpenMode::kCreate);
  ASSERT_TRUE(file);
  ASSERT_TRUE(files->rename(path("a"), path("b")));
  ASSERT_TRUE((*file)->write_at(0, std::string(200'000, 'x')));
  ASSERT_TRUE((*file)->truncate(100'001));
  ASSERT_TRUE((*file)->preallocate(100'003));
  auto again = files->open(path("b"), OpenMode::kRead);
  ASSERT_TRUE(again);
  std::string tail(10, '?');
  EXPECT_EQ((*again)->read_at(99'999, tail), 4u);
  EXPECT_EQ(tail.substr(0, 4), std::string("xx\0\0", 4));
  ASSERT_TRUE(files->remove(path("b")));
  EXPECT_EQ((*again)->read_at(0, tail), 10u);
}

std::string kind_name(const testing::TestParamInfo<MakeFiles>& kind) {
  const char* const names[] = {"Posix", "Memory", "Sim"};
  return names[kind.index];
}
INSTANTIATE_TEST_SUITE_P(Kinds, FilesTest, testing::Values(make_posix_files, make_memory_files, make_sim_files),
                         kind_name);

// The faults of the simulated ones.
struct SimFilesTest : testing::Test {
  std::unique_ptr<File> create(SimFiles& files, const std::string& name) {
    EXPECT_TRUE(files.create_directories("d"));
    auto file = files.open("d/" + name, OpenMode::kCreate);
    EXPECT_TRUE(file);
    return std::move(*file);
  }
};

TEST_F(SimFilesTest, APowerLossKeepsWhatWasSyncedAndMayTearTheRest) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SimFiles files(seed);
    auto file = create(files, "f");
    ASSERT_TRUE(file->write_at(0, "synced"));
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(files.sync_directory("d"));
    ASSERT_TRUE(file->write_at(6, "ab"));
    ASSERT_TRUE(file->write_at(8, "cd"));
    files.restart();
    ASSERT_EQ(files.content("d/f").substr(0, 6), "synced");
    outcomes.insert(files.content("d/f").substr(6));
    EXPECT_FALSE(file->write_at(0, "x")) << "files of before the loss are dead";
  }
  for (const std::string& expected : {std::string(), std::string("abcd"), std::string("ab"), std::string("a"),
                                      std::string("\0\0cd", 4), std::string("a\0cd", 4)}) {
    EXPECT_TRUE(outcomes.contains(expected)) << testing::PrintToString(expected);
  }
}

TEST_F(SimFilesTest, NamesAreLostUntilTheDirectoryIsSynced) {
  int kept = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimFiles files(seed);
    auto file = create(files, "a");
    ASSERT_TRUE(file->write_at(0, "x"));
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(files.sync_directory("d"));
    ASSERT_TRUE(files.rename("d/a", "d/b"));
    files.restart();
    ASSERT_NE(files.exists("d/a"), files.exists("d/b"));
    kept += files.exists("d/b") ? 1 : 0;
  }
  EXPECT_GT(kept, 5);
  EXPECT_LT(kept, 45);
}

TEST_F(SimFilesTest, TheDeathOfTheProcessLosesNothingButLocks) {
  SimFiles files(1);
  auto file = create(files, "f");
  ASSERT_TRUE(file->write_at(0, "written"));
  auto lock = files.lock("d/LOCK");
  files.restart_process();
  EXPECT_EQ(files.content("d/f"), "written");
  auto next = files.lock("d/LOCK");
  EXPECT_TRUE(next);
  lock->reset();  // The dead process's lock does not end the living one's.
  EXPECT_FALSE(files.lock("d/LOCK"));
}

TEST_F(SimFilesTest, ACrashStopsEveryCallFromThenOn) {
  SimFiles files(1);
  auto file = create(files, "f");
  files.crash_at(files.calls() + 2);
  EXPECT_TRUE(file->write_at(0, "a"));
  EXPECT_FALSE(files.crashed());
  EXPECT_FALSE(file->sync());
  EXPECT_TRUE(files.crashed());
  EXPECT_FALSE(files.list("d"));
  files.restart();
  EXPECT_TRUE(files.list("d"));
}

TEST_F(SimFilesTest, AFailedSyncMayHaveLostWhatALaterOneSeemsToKeep) {
  bool lost = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimFiles files(seed);
    auto file = create(files, "f");
    ASSERT_TRUE(files.sync_directory("d"));
    ASSERT_TRUE(file->write_at(0, "gone"));
    files.fail_sync(1);
    ASSERT_FALSE(file->sync());
    ASSERT_TRUE(file->sync());
    files.restart();
    lost = lost || files.content("d/f").empty();
  }
  EXPECT_TRUE(lost);
}

// Where something newer is durable, what a failed sync left behind is gone for good.
TEST_F(SimFilesTest, WhatAFailedSyncLostDoesNotCoverWhatIsDurableSince) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimFiles files(seed);
    auto file = create(files, "f");
    ASSERT_TRUE(files.sync_directory("d"));
    ASSERT_TRUE(file->write_at(0, "oldoldold"));
    files.fail_sync(1);
    ASSERT_FALSE(file->sync());
    ASSERT_TRUE(file->write_at(3, "new"));
    ASSERT_TRUE(file->sync());
    files.restart();
    ASSERT_GE(files.content("d/f").size(), 6u);
    EXPECT_EQ(files.content("d/f").substr(3, 3), "new") << "seed " << seed;
  }
}

TEST_F(SimFilesTest, TheDiskHasAnEnd) {
  SimFiles files(1);
  files.set_disk_bytes(100);
  auto file = create(files, "f");
  ASSERT_TRUE(file->preallocate(80));
  EXPECT_EQ(files.free_bytes("d"), 20u);
  EXPECT_TRUE(file->write_at(0, std::string(80, 'x')));  // Its own.
  EXPECT_EQ(file->write_at(50, std::string(60, 'x')).error().code, ErrorCode::kDiskFull);
  EXPECT_EQ(file->preallocate(101).error().code, ErrorCode::kDiskFull);
  ASSERT_TRUE(file->truncate(10));
  EXPECT_EQ(files.free_bytes("d"), 90u);
}

TEST_F(SimFilesTest, TheSameSeedGivesTheSameDisk) {
  const auto life = [](uint64_t seed) {
    SimFiles files(seed);
    static_cast<void>(files.create_directories("d"));
    for (int i = 0; i < 20; ++i) {
      auto file = files.open("d/" + std::to_string(i), OpenMode::kCreate);
      static_cast<void>((*file)->write_at(0, std::string(100, 'x')));
    }
    files.restart();
    std::string all;
    const auto names = files.list("d");
    for (const std::string& name : *names) all += name + files.content("d/" + name);
    return all;
  };
  EXPECT_EQ(life(5), life(5));
  EXPECT_NE(life(5), life(6));
}

// A file whose sync ends when the test says so.
class SlowFile final : public File {
 public:
  Result<size_t> read_at(uint64_t, std::span<char>) override { return 0; }
  Result<void> write_at(uint64_t, std::string_view) override { return {}; }
  Result<void> preallocate(uint64_t) override { return {}; }
  Result<void> truncate(uint64_t) override { return {}; }
  Result<void> sync() override {
    may_end.acquire();
    return fail(ErrorCode::kIo, "sync " + std::to_string(++syncs));
  }
  Result<uint64_t> size() override { return 0; }
  std::counting_semaphore<> may_end{0};
  int syncs = 0;
};

TEST(SyncThread, SyncsBesideItsOwnerAndTellsTheOutcome) {
  SlowFile file;
  std::counting_semaphore<> heard{0};
  auto beside = make_sync_thread([&] { heard.release(); });
  for (int i = 1; i <= 2; ++i) {
    beside->begin(file);
    EXPECT_FALSE(beside->over());
    file.may_end.release();
    heard.acquire();
    EXPECT_TRUE(beside->over());
    EXPECT_EQ(beside->end().error().message, "sync " + std::to_string(i));
  }
  beside->begin(file);
  file.may_end.release();
  EXPECT_FALSE(beside->end());  // Waits.
  beside->begin(file);
  file.may_end.release();
  beside.reset();  // Ends what it has begun.
  EXPECT_EQ(file.syncs, 4);
}

}  // namespace
}  // namespace freshet
