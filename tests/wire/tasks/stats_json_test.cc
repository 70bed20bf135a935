// The members of `stats` that say whether tasks are done in time, and the number for whoever scales workers.
#include <gtest/gtest.h>

#include "tables/value/json.h"
#include "wire/tasks/answers.h"

namespace freshet::tasks {
namespace {

InTimeCounts busy() {
  InTimeCounts counts;
  counts.in_time = 1109;
  counts.no_deadline = 300;
  counts.late = 20;
  counts.failed = 2;
  counts.shed = 9;
  counts.refused = 4;
  counts.calls = 1200;
  counts.wasted = 31;
  return counts;
}

TEST(StatsJson, SaysWhatBecameOfTasksInTheLastMinuteAndSinceTheStart) {
  QueueStats stats;
  stats.in_time.since_start = busy();
  const std::string text = stats_json(stats, WallTime());
  EXPECT_NE(text.find(R"("lastMinute":{"ended":0,"inTime":0,"withoutDeadline":0,"late":0,"failed":0,"shed":0,)"
                      R"("refused":0,"calls":0,"wastedCalls":0},)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("sinceStart":{"ended":1140,"inTime":1109,"withoutDeadline":300,"late":20,"failed":2,)"
                      R"("shed":9,"refused":4,"calls":1200,"wastedCalls":31,"inTimeShare":0.972807},)"),
            std::string::npos)
      << text;
  EXPECT_TRUE(parse_plain_json(text)) << text;
}

TEST(StatsJson, ASmallShareIsJsonToo) {
  QueueStats stats;
  stats.in_time.last_minute.in_time = 1;
  stats.in_time.last_minute.shed = 999'999;
  EXPECT_TRUE(parse_plain_json(stats_json(stats, WallTime())));
  EXPECT_NE(stats_json(stats, WallTime()).find(R"("inTimeShare":1e-06)"), std::string::npos);
}

TEST(BacklogJson, WaitingAndInWorkTogether) {
  QueueStats stats;
  EXPECT_EQ(backlog_json(stats), R"({"backlog":0,"waiting":0,"inWork":0})");
  stats.depth = {{"PENDING", 34}, {"TAKEN", 8}, {"DELAYED", 100}, {"SUCCESS", 1000}};
  EXPECT_EQ(backlog_json(stats), R"({"backlog":42,"waiting":34,"inWork":8})");
}

}  // namespace
}  // namespace freshet::tasks
