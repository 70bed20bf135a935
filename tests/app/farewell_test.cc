#include "app/daemon/farewell.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

Farewell farewell(uint64_t done, uint64_t waiting, uint64_t held, const char* data) {
  Farewell out;
  out.done = done;
  out.waiting = waiting;
  out.held = held;
  out.data = data;
  return out;
}

TEST(Farewell, SaysWhatIsLeftAndWhereItIsKept) {
  EXPECT_EQ(
      farewell_text(farewell(5, 3, 0, "/data/emails")),
      "5 tasks were done, 3 wait. All is kept in /data/emails: a start with this folder goes on with what is left");
  EXPECT_EQ(farewell_text(farewell(1, 1, 1, "/data/emails")),
            "1 task was done, 1 waits, 1 is still held by a worker. All is kept in /data/emails: a start with this "
            "folder goes on with what is left");
  EXPECT_EQ(farewell_text(farewell(2, 0, 0, "/data/emails")), "2 tasks were done, 0 wait. All is kept in /data/emails");
}

TEST(Farewell, NamesTheEngineThatKeepsTheTasks) {
  Farewell on_engine = farewell(5, 3, 0, "/data/emails");
  on_engine.engine = "http://db:8000";
  EXPECT_EQ(
      farewell_text(on_engine),
      "5 tasks were done, 3 wait. The tasks are kept by the engine at http://db:8000: a start goes on with what is "
      "left");
}

TEST(Farewell, SaysWhatIsLost) {
  EXPECT_EQ(farewell_text(farewell(5, 3, 0, "")),
            "5 tasks were done, 3 wait; what is left is gone, as nothing was kept on disk");
  EXPECT_EQ(farewell_text(farewell(5, 0, 0, "")), "5 tasks were done, 0 wait");
  Farewell failed = farewell(0, 0, 0, "");
  failed.failed = 1;
  failed.shed = 2;
  EXPECT_EQ(farewell_text(failed), "0 tasks were done, 1 failed, 2 were shed, 0 wait");
  Farewell lost = farewell(5, 3, 0, "/data");
  lost.durable = false;
  EXPECT_EQ(farewell_text(lost),
            "5 tasks were done, 3 wait. The disk did not take the last writes: what they changed may be lost");
}

// Tasks that nobody has counted are not none.
TEST(Farewell, CountsNothingThatItDoesNotKnow) {
  Farewell cut_short = farewell(0, 0, 0, "/data/emails");
  cut_short.counted = Farewell::Counted::kStartCutShort;
  EXPECT_EQ(farewell_text(cut_short), "the start was not over yet. All is kept in /data/emails");
  Farewell no_queue = farewell(0, 0, 0, "/data/emails");
  no_queue.counted = Farewell::Counted::kNoQueue;
  EXPECT_EQ(farewell_text(no_queue), "there was no queue of tasks. All is kept in /data/emails");
}

}  // namespace
}  // namespace freshet
