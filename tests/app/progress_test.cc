#include "app/cli/progress.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <sstream>

namespace freshet::cli {
namespace {

// Keeps what is written, and tells who waits for a text in it.
class Watched : public std::stringbuf {
 public:
  void wait_for(const std::string& text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return said_.find(text) != std::string::npos; });
  }

 protected:
  int sync() override {
    const std::lock_guard lock(mutex_);
    said_ = str();
    changed_.notify_all();
    return 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string said_;
};

TEST(Progress, WithoutATerminalALineComesFromTimeToTime) {
  Watched buffer;
  std::ostream out(&buffer);
  Progress progress("0 of 2 runs", out, {.terminal = false}, std::chrono::milliseconds(1));
  buffer.wait_for("freshet: 0 of 2 runs (after 0 s)\n");
  progress.show("1 of 2 runs");
  buffer.wait_for("freshet: 1 of 2 runs (after 0 s)\n");
  progress.end();
  const std::string said = buffer.str();
  EXPECT_EQ(said.find('\r'), std::string::npos);
  progress.show("2 of 2 runs");
  EXPECT_EQ(buffer.str(), said) << "nothing more after its end";
}

TEST(Progress, WithoutATerminalAShortCommandSaysNothing) {
  std::ostringstream out;
  { Progress progress("0 of 2 runs", out, {.terminal = false}, std::chrono::hours(1)); }
  EXPECT_EQ(out.str(), "");
}

TEST(Progress, OnATerminalALineChangesAndIsWiped) {
  std::ostringstream out;
  Progress progress("10 created", out, {.terminal = true, .width = 20}, std::chrono::hours(1));
  progress.show("11");
  EXPECT_EQ(out.str(), "\r10 created\r11        ");
  out.str("");
  progress.show("a text that is wider than the terminal");
  progress.wipe();
  EXPECT_EQ(out.str(), "\ra text that is w...\r                   \r");
}

}  // namespace
}  // namespace freshet::cli
