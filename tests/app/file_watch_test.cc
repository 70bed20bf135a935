// Which changes of a folder's code count, and when they are reported.
#include "app/daemon/file_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>

namespace freshet {
namespace {

class FileWatchTest : public ::testing::Test {
 protected:
  FileWatchTest() {
    std::string pattern = ::testing::TempDir() + "/watch-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~FileWatchTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    const auto path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::filesystem::path root_;
};

TEST_F(FileWatchTest, FilesCountWhereverTheyLieButNotWhatToolsKeep) {
  write("app.py", "1");
  write("deep/er/module.py", "1");
  write("node_modules/package/index.js", "1");
  const uint64_t first = fingerprint_of(root_);
  EXPECT_EQ(fingerprint_of(root_), first);
  write("node_modules/package/index.js", "longer");
  write("node_modules/another/index.js", "1");
  std::ofstream(root_ / "node_modules" / "package" / "more.js") << "1";
  EXPECT_EQ(fingerprint_of(root_), first);
  write("deep/er/module.py", "longer");
  const uint64_t second = fingerprint_of(root_);
  EXPECT_NE(second, first);
  std::filesystem::remove(root_ / "app.py");
  EXPECT_NE(fingerprint_of(root_), second);
  EXPECT_EQ(fingerprint_of(root_ / "nowhere"), fingerprint_of(root_ / "nowhere"));
}

// The daemon's own store may lie beside the code.
TEST_F(FileWatchTest, AFolderThatIsLeftOutDoesNotCount) {
  write("app.py", "1");
  write("data/store/0.log", "1");
  const std::string store = root_ / "data/store";
  const uint64_t first = fingerprint_of(root_, kMostEntries, store);
  write("data/store/0.log", "longer");
  write("data/store/1.log", "1");
  EXPECT_EQ(fingerprint_of(root_, kMostEntries, store), first);
  EXPECT_NE(fingerprint_of(root_), first);
  write("data/app.py", "longer");
  EXPECT_NE(fingerprint_of(root_, kMostEntries, store), first);
}

TEST_F(FileWatchTest, TellsOfAChangeThatHasSettled) {
  write("app.py", "1");
  std::promise<std::string> told;
  std::atomic<bool> once{false};
  FileWatch watch(milliseconds(1), {root_}, [&](const std::string& path) {
    if (!once.exchange(true)) told.set_value(path);
    return true;
  });
  write("app.py", "longer");  // Whenever the watch looks next.
  EXPECT_EQ(told.get_future().get(), root_);
}

// The loop's mailbox may be full at that moment.
TEST_F(FileWatchTest, TellsAgainWhatWasNotTaken) {
  write("app.py", "1");
  std::promise<int> taken;
  std::atomic<int> asked{0};
  FileWatch watch(milliseconds(1), {root_}, [&](const std::string&) {
    if (++asked == 3) taken.set_value(asked);
    return asked >= 3;
  });
  write("app.py", "longer");
  EXPECT_EQ(taken.get_future().get(), 3);
}

TEST_F(FileWatchTest, WatchesWhatIsAddedLater) {
  write("app.py", "1");
  std::promise<std::string> told;
  std::atomic<bool> once{false};
  FileWatch watch(milliseconds(1), {}, [&](const std::string& path) {
    if (!once.exchange(true)) told.set_value(path);
    return true;
  });
  watch.set_paths({root_});
  auto change = told.get_future();
  // Its first look may come after a change.
  for (int n = 2; change.wait_for(milliseconds(20)) != std::future_status::ready; ++n) {
    write("app.py", std::string(static_cast<size_t>(n), 'x'));
  }
  EXPECT_EQ(change.get(), root_);
}

}  // namespace
}  // namespace freshet
