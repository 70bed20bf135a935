#include "base/there_are.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(ThereAre, OneIsAndSeveralAre) {
  EXPECT_EQ(there_are({"jobs"}), "there is jobs");
  EXPECT_EQ(there_are({"jobs", "mails"}), "there are jobs, mails");
  EXPECT_EQ(there_are({"a", "b", "c"}, 2), "there are a, b and 1 other");
  EXPECT_EQ(there_are({"a", "b", "c", "d"}, 2), "there are a, b and 2 others");
}

}  // namespace
}  // namespace freshet
