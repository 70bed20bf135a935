#include "app/cli/times.h"

#include <gtest/gtest.h>

#include "functions/queue/task_life.h"

namespace freshet {
namespace {

constexpr int64_t kHour = 3'600'000;

TEST(Times, AnAgeIsInTheUnitThatOneThinksIn) {
  EXPECT_EQ(cli::age_text(9'000), "9.0 s");
  EXPECT_EQ(cli::age_text(210'000), "3.5 min");
  EXPECT_EQ(cli::age_text(71 * kHour), "71.0 h");
  EXPECT_EQ(cli::age_text(168 * kHour), "7.0 days");
  EXPECT_EQ(cli::age_text(8760 * kHour), "365.0 days") << "a clock that is a year off";
}

TEST(Times, SoIsATimeInAReason) {
  EXPECT_EQ(in_words(milliseconds(850)), "850 ms");
  EXPECT_EQ(in_words(milliseconds(71 * kHour)), "71 h");
  EXPECT_EQ(in_words(milliseconds(-168 * kHour)), "7 days");
}

}  // namespace
}  // namespace freshet
