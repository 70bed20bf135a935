// The notices of a start that reads a long log.
#include "app/daemon/reading_notice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"

namespace freshet {
namespace {

class Lines : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override { all.emplace_back(line); }
  std::vector<std::string> all;
};

TEST(ReadingNotice, SaysEveryTenSecondsHowFarTheStoreIsRead) {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  Lines lines;
  ReadingNotice notice(clock, EventLog(clock, lines, LogLevel::kInfo), seconds(10));
  notice.at(1, 40);
  clock.advance(milliseconds(9'999));
  notice.at(4, 40);
  EXPECT_TRUE(lines.all.empty()) << "a start of ten seconds needs no word";
  clock.advance(milliseconds(1));
  notice.at(5, 40);
  notice.at(5, 40);
  ASSERT_EQ(lines.all.size(), 1u);
  EXPECT_NE(lines.all[0].find(R"("event":"STORE_READING","what":"reads the store: segment 5 of 40, 10 % done")"),
            std::string::npos)
      << lines.all[0];
  EXPECT_NE(lines.all[0].find(R"("segment":5,"segments":40,"percent":10)"), std::string::npos) << lines.all[0];
  clock.advance(seconds(10));
  notice.at(40, 40);
  EXPECT_EQ(lines.all.size(), 2u);
}

}  // namespace
}  // namespace freshet
