#include "functions/queue/pause_history.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

WallTime history_at(int64_t ms) {
  return WallTime(milliseconds(ms));
}
BootTime history_boot(int64_t ms) {
  return BootTime(milliseconds(ms));
}
PauseChange pause_of_group(int64_t ms, bool paused, const std::string& name) {
  return {history_at(ms), paused, Pause::Of::kGroup, name, history_boot(ms)};
}

TEST(PauseHistory, HasWhatWasPausedAtTheStartAndEachChange) {
  PauseHistory history;
  Pause pause;
  pause.of = Pause::Of::kGroup;
  pause.name = "a";
  pause.since = history_at(10);
  history.begin(history_boot(100), {pause});
  history.add({history_at(200), true, Pause::Of::kQueue, {}});
  history.add(pause_of_group(300, false, "a"));
  const PauseChanges changes = history.changes();
  EXPECT_EQ(changes.complete_from, history_boot(100));
  ASSERT_EQ(changes.first.size(), 1u);
  EXPECT_EQ(changes.first[0].name, "a");
  EXPECT_EQ(changes.first[0].at, history_at(10));
  EXPECT_EQ(changes.first[0].boot, history_boot(100)) << "when the queue was opened";
  ASSERT_EQ(changes.changes.size(), 2u);
  EXPECT_EQ(changes.changes[0].of, Pause::Of::kQueue);
  EXPECT_FALSE(changes.changes[1].paused);
}

TEST(PauseHistory, ARepeatedPauseAndTheEndOfNoneAreNoChanges) {
  PauseHistory history;
  history.begin(history_boot(0), {});
  history.add(pause_of_group(1, false, "a"));
  history.add(pause_of_group(2, true, "a"));
  history.add(pause_of_group(3, true, "a"));
  history.add({history_at(4), true, Pause::Of::kKey, "a"});
  const auto changes = history.changes().changes;
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].at, history_at(2));
  EXPECT_EQ(changes[1].of, Pause::Of::kKey);
}

TEST(PauseHistory, ForgetsOldChangesButNotWhatTheyLed) {
  PauseHistory history;
  history.begin(history_boot(0), {});
  history.add(pause_of_group(1, true, "stays"));
  for (int64_t i = 0; i < static_cast<int64_t>(PauseHistory::kMost); ++i) {
    history.add(pause_of_group(10 + i, i % 2 == 0, "other"));
  }
  const PauseChanges changes = history.changes();
  EXPECT_EQ(changes.complete_from, history_boot(1));
  ASSERT_EQ(changes.first.size(), 1u);
  EXPECT_EQ(changes.first[0].name, "stays");
  EXPECT_EQ(changes.changes.size(), PauseHistory::kMost);
}

}  // namespace
}  // namespace freshet
