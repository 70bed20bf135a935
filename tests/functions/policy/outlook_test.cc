// Which new tasks cannot be done in time.
#include "functions/queue/policy/outlook.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(Outlook, AFreshTaskWaitsForASlotOrForAllThatAreOlder) {
  EXPECT_EQ(least_wait(true, 1'000, false, 10), milliseconds(100)) << "newest first, never behind the backlog";
  EXPECT_EQ(least_wait(false, 1'000, false, 10), seconds(100));
  EXPECT_EQ(least_wait(false, 1'000, true, 10), nanoseconds(0)) << "somebody waits for it";
  EXPECT_EQ(least_wait(false, 1'000, false, 0), nanoseconds(0)) << "nothing is known";
}

TEST(Outlook, WhatCannotBeDoneInTimeIsRefusedUntilItCould) {
  const WallTime now(seconds(1'000));
  TaskEnds ends;
  const Outlook outlook{seconds(5), milliseconds(200)};
  EXPECT_FALSE(refused_as_late(ends, now, outlook));
  ends.deadline = now + milliseconds(5'201);
  EXPECT_FALSE(refused_as_late(ends, now, outlook));
  ends.deadline = now + milliseconds(3'200);
  EXPECT_EQ(refused_as_late(ends, now, outlook), milliseconds(2'001)) << "two seconds' worth have left then";
  ends.deadline = now + milliseconds(100);
  EXPECT_EQ(refused_as_late(ends, now, outlook), seconds(60)) << "no shorter queue helps";
  ends.deadline = now - milliseconds(1);
  EXPECT_TRUE(refused_as_late(ends, now, {}));
  ends.deadline.reset();
  ends.ttl = now + seconds(6);
  EXPECT_FALSE(refused_as_late(ends, now, outlook)) << "of its ttl only the waiting counts";
  ends.ttl = now + seconds(4);
  EXPECT_TRUE(refused_as_late(ends, now, outlook));
}

}  // namespace
}  // namespace freshet
