// The output of `freshet stats`.
#include "app/cli/stats_page.h"

#include <gtest/gtest.h>

#include <sstream>

namespace freshet::cli {
namespace {

using Json = nlohmann::ordered_json;

const Json kStats = Json::parse(R"({
  "depth": {"CANCELLED": 0, "DEAD": 1, "DELAYED": 0, "FAILURE": 0, "PENDING": 12, "SHED": 3, "SUCCESS": 40, "TAKEN": 4},
  "flow": {"->PENDING": 60, "PENDING->": 3},
  "shed": {"ttl": 5, "codel": 1}, "shedTotal": 6, "newestAgeMs": 1500, "oldestAgeMs": 150000, "runner": "none"})");

constexpr Screen kScreen{.terminal = true, .width = 80};

TEST(StatsPage, ForScriptsNamesAndCountsStandUnderTheirHeadings) {
  EXPECT_EQ(stats_lines(kStats),
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
            "runner none: tasks wait for workers that take them (to hand them to a handler: freshet serve NAME --to "
            "URL, or freshet run ... --parameter TaskRunner=URL)\n");
}

TEST(StatsPage, GroupsAtTheirLimitAreCounted) {
  Json stats = kStats;
  stats["keyLimits"] = {{"by", "group"}, {"atLimit", 0}, {"known", 3}, {"bytes", 700}};
  EXPECT_EQ(stats_lines(stats), stats_lines(kStats));
  stats["keyLimits"]["atLimit"] = 1;
  EXPECT_NE(stats_lines(stats).find("\n1 group is at its limit: it may start no task now\n"), std::string::npos);
  stats["keyLimits"] = {{"by", "key"}, {"atLimit", 12}};
  EXPECT_NE(stats_lines(stats).find("\n12 keys are at their limit: they may start no task now\n"), std::string::npos);
}

TEST(StatsLines, ADoubtedClockIsToldWithItsCauseAndItsEnd) {
  Json stats = kStats;
  stats["clockTrusted"] = false;
  const std::string lines = stats_lines(stats);
  EXPECT_EQ(
      lines.find("The wall clock was set, or is far ahead of the last write: until it has run evenly for a minute"), 0u)
      << lines;
  EXPECT_NE(lines.find("--trust-clock skips the wait"), std::string::npos) << lines;
}

TEST(StatsPage, StatesThatAClientMadeUpAreShownToo) {
  Json stats = kStats;
  stats["depth"]["ON_HOLD"] = 7;
  const std::string page = stats_page(stats, kScreen);
  EXPECT_NE(page.find("CANCELLED      0\nON_HOLD        7\n"), std::string::npos) << page;
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
            "freshet serve NAME --to URL, or freshet run ... --parameter TaskRunner=URL)\n");
}

TEST(StatsPage, TheShareInTimeOfTheLastMinuteStandsFirst) {
  const auto first_line = [](const char* minute) {
    Json stats = kStats;
    stats["lastMinute"] = Json::parse(minute);
    Screen wide = kScreen;
    wide.width = 200;
    const std::string page = stats_page(stats, wide);
    EXPECT_NE(stats_lines(stats).find("\n" + page.substr(0, page.find('\n')) + "\nnewest waiting"), std::string::npos);
    return page.substr(0, page.find("STATUS"));
  };
  EXPECT_EQ(first_line(R"({"ended": 1140, "inTime": 1109, "late": 20, "shed": 9, "failed": 2, "refused": 1200000,
                           "calls": 1200, "wastedCalls": 12})"),
            "in time 97.3 % of 1,140 ended in the last minute (20 late, 9 shed, 2 failed); 1,200,000 refused; 12 of "
            "1,200 calls wasted\n\n");
  EXPECT_EQ(first_line(R"({"ended": 100000, "inTime": 99999, "late": 1})"),
            "in time 99.9 % of 100,000 ended in the last minute (1 late)\n\n");
  EXPECT_EQ(first_line(R"({"ended": 100000, "inTime": 1, "shed": 99999})"),
            "in time 0.1 % of 100,000 ended in the last minute (99,999 shed)\n\n");
  EXPECT_EQ(first_line(R"({"ended": 2, "inTime": 2})"), "in time 100.0 % of 2 ended in the last minute\n\n");
  EXPECT_EQ(first_line(R"({"ended": 0, "inTime": 0, "refused": 3})"),
            "in time: no task ended in the last minute; 3 refused\n\n");
}

TEST(StatsPage, NoSentenceIsWiderThanTheScreen) {
  Json stats = kStats;
  stats["clockTrusted"] = false;
  stats["pauses"] = Json::parse(
      R"([{"of": "group", "name": "acme", "by": "ada", "reason": "their invoice of October is not paid"}])");
  Screen narrow = kScreen;
  narrow.terminal = true;
  narrow.width = 40;
  std::istringstream lines(stats_page(stats, narrow));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 40u) << line;
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
