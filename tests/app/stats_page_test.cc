// What `freshet stats` prints.
#include "app/cli/stats_page.h"

#include <gtest/gtest.h>

namespace freshet::cli {
namespace {

using Json = nlohmann::ordered_json;

const Json kStats = Json::parse(R"({
  "depth": {"CANCELLED": 0, "DEAD": 1, "DELAYED": 0, "FAILURE": 0, "PENDING": 12, "SHED": 3, "SUCCESS": 40, "TAKEN": 4},
  "flow": {"->PENDING": 60, "PENDING->": 3},
  "shed": {"ttl": 5, "codel": 1}, "shedTotal": 6, "newestAgeMs": 1500, "oldestAgeMs": 150000, "runner": "none"})");

constexpr Screen kScreen{.terminal = true, .width = 80};

TEST(StatsPage, ForScriptsNamesAndCountsStandUnderTheirHeadings) {
  EXPECT_EQ(
      stats_lines(kStats),
      "depth\n"
      "  CANCELLED                              0\n"
      "  DEAD                                   1\n"
      "  DELAYED                                0\n"
      "  FAILURE                                0\n"
      "  PENDING                               12\n"
      "  SUCCESS                               40\n"
      "  TAKEN                                  4\n"
      "flow\n"
      "  ->PENDING                             60\n"
      "  PENDING->                              3\n"
      "shed\n"
      "  ttl                                    5\n"
      "  codel                                  1\n"
      "  total                                  6\n"
      "newest waiting  1.5 s\n"
      "oldest waiting  2.5 min\n"
      "runner none: tasks wait for workers that take them (to hand them to a handler: freshet run ... --parameter "
      "TaskRunner=http://HOST:PORT/)\n");
}

TEST(StatsPage, ForPeopleStatesStandInTheOrderOfATasksLife) {
  EXPECT_EQ(stats_page(kStats, kScreen),
            "STATUS     TASKS\n"
            "PENDING       12\n"
            "DELAYED        0\n"
            "TAKEN          4\n"
            "SUCCESS       40\n"
            "FAILURE        0\n"
            "DEAD           1\n"
            "CANCELLED      0\n"
            "\n"
            "MOVES              TASKS\n"
            "(new) -> PENDING      60\n"
            "PENDING -> (gone)      3\n"
            "\n"
            "SHED BY  TASKS\n"
            "ttl          5\n"
            "codel        1\n"
            "6 shed in all\n"
            "\n"
            "newest waiting 1.5 s\n"
            "oldest waiting 2.5 min\n"
            "runner none: tasks wait for workers that take them (to hand them to a handler:\n"
            "freshet run ... --parameter TaskRunner=http://HOST:PORT/)\n");
}

TEST(StatsPage, AnEarlierAnswerGivesRates) {
  Json later = kStats;
  later["depth"]["PENDING"] = 7;
  later["flow"]["->PENDING"] = 100;
  later["flow"]["PENDING->TAKEN"] = 3;
  const std::string page = stats_page(later, kScreen, StatsBefore{kStats, 2.0});
  EXPECT_NE(page.find("STATUS     TASKS  PER SECOND\nPENDING        7        -2.5\nDELAYED        0           -\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("(new) -> PENDING     100       +20.0\n"), std::string::npos) << page;
  EXPECT_NE(page.find("PENDING -> TAKEN       3        +1.5\n"), std::string::npos) << page;
}

TEST(StatsPage, SaysWhyTheRunnerTakesNothing) {
  Json stats = kStats;
  stats["runner"] = "http";
  stats["runnerTrouble"] = {{"runner", "http://127.0.0.1:8000/"},
                            {"message", "Connection refused\n\x1b[2J"},
                            {"reachable", false},
                            {"bounces", 105},
                            {"sinceMs", 53'000}};
  const std::string said =
      "runner http://127.0.0.1:8000/: cannot be reached for 53.0 s, 105 tasks came back: Connection "
      "refused\\n\\x1b[2J\n";
  EXPECT_TRUE(stats_lines(stats).ends_with(said)) << stats_lines(stats);
  stats["runnerTrouble"]["reachable"] = true;
  EXPECT_NE(stats_lines(stats).find("takes no task for 53.0 s"), std::string::npos);
}

}  // namespace
}  // namespace freshet::cli
