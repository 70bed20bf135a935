// How `freshet whatif` shows its comparison to people.
#include "app/cli/whatif_print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Each window has that many tasks, all in time.
std::string shown(size_t windows, uint64_t tasks) {
  ComparedQueue compared;
  compared.queue = "emails";
  compared.result.window = milliseconds(10'000);
  std::vector<lab::WindowPlays> plays;
  for (size_t i = 0; i < windows; ++i) {
    lab::WindowPlays one;
    one.recorded = {tasks, tasks};
    one.policies = {{{tasks, tasks}}};
    one.clairvoyant = {{tasks, tasks}};
    plays.push_back(one);
    compared.result.played.push_back(WallTime(milliseconds(10'000 * i)));
    compared.result.recorded.push_back(one.recorded);
  }
  compared.result.figures = lab::figures_of(plays);
  return whatif_text(compared, Screen());
}

TEST(WhatIfPrint, CountsWindows) {
  EXPECT_THAT(shown(1, 50), HasSubstr("50 of 50 tasks were done in time, 100.0 %. 1 window of 10s was played.\n"));
  EXPECT_THAT(shown(2, 50), HasSubstr(" 2 windows of 10s were played.\n"));
}

TEST(WhatIfPrint, SaysThatFewTasksSayNothing) {
  const std::string few = "Fewer than 20 tasks say next to nothing, whatever the intervals show.\n";
  EXPECT_THAT(shown(1, 19), HasSubstr(few));
  EXPECT_THAT(shown(2, 10), Not(HasSubstr(few)));
}

}  // namespace
}  // namespace freshet::cli
