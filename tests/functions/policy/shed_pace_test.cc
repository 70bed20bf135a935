// How fast hopeless tasks are shed.
#include "functions/queue/policy/shed_pace.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(ShedPace, OthersWaitForAStepOnlyWhereItIsBehind) {
  EXPECT_EQ(ShedPace::lull(milliseconds(0)), ShedPace::kLull);
  EXPECT_EQ(ShedPace::lull(-std::chrono::hours(1)), ShedPace::kLull);
  EXPECT_EQ(ShedPace::lull(ShedPace::kLate), ShedPace::kLull);
  EXPECT_EQ(ShedPace::lull(ShedPace::kLate + milliseconds(1)), ShedPace::kLongLull);
  EXPECT_EQ(ShedPace::lull(std::chrono::hours(24)), ShedPace::kLongLull) << "bounded, however late it is";
  static_assert(ShedPace::kLongLull > ShedPace::kLull && ShedPace::kLongLull < milliseconds(2), "half a turn");
}

TEST(ShedPace, LeavesTheOthersMostOfTheTime) {
  EXPECT_EQ(ShedPace::rest(milliseconds(2)), milliseconds(3));
  EXPECT_EQ(ShedPace::rest(nanoseconds(0)), std::chrono::microseconds(500)) << "others get their turn";
  EXPECT_EQ(ShedPace::rest(milliseconds(500)), milliseconds(20)) << "a slow store is not waited for longer";
}

}  // namespace
}  // namespace freshet
