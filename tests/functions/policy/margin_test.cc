// Where a deadline has a margin.
#include "functions/queue/policy/margin.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(Margin, YieldsOnlyWhereASlotWouldStayEmpty) {
  for (const bool newest : {false, true}) {
    for (const bool last : {false, true}) {
      EXPECT_FALSE(margin_applies(DeadlineMargin::kOff, newest, last));
      EXPECT_TRUE(margin_applies(DeadlineMargin::kP90, newest, last));
      EXPECT_EQ(margin_applies(DeadlineMargin::kYield, newest, last), !newest && !last);
    }
  }
}

}  // namespace
}  // namespace freshet
