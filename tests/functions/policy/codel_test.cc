// CoDel, as the overload lab compares it.
#include "functions/queue/policy/codel.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(Codel, DropsFasterAndFasterWhileTheQueueStands) {
  Codel codel;
  EXPECT_FALSE(codel.drop(milliseconds(4), false, boot_at(0)));
  EXPECT_FALSE(codel.drop(milliseconds(6), false, boot_at(1)));
  EXPECT_FALSE(codel.drop(milliseconds(50), false, boot_at(100)));
  EXPECT_TRUE(codel.drop(milliseconds(100), false, boot_at(101)));
  EXPECT_FALSE(codel.drop(milliseconds(100), false, boot_at(102)));
  EXPECT_TRUE(codel.drop(milliseconds(150), false, boot_at(201)));  // An interval later,
  EXPECT_TRUE(codel.drop(milliseconds(150), false, boot_at(272)));  // then the interval over the root of two.
  EXPECT_FALSE(codel.drop(milliseconds(150), true, boot_at(400)));  // Never the last one.
  EXPECT_FALSE(codel.drop(milliseconds(150), false, boot_at(401)));
}

}  // namespace
}  // namespace freshet
