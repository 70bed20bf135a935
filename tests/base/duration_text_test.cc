#include "base/duration_text.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

constexpr milliseconds kDay{86'400'000};

std::string read(std::string_view text, milliseconds least = milliseconds(0), milliseconds most = kDay * 365) {
  const auto duration = parse_duration(text, least, most);
  return duration ? std::to_string(duration->count()) : duration.error().message;
}

TEST(DurationText, ANumberWithItsUnit) {
  EXPECT_EQ(read("500ms"), "500");
  EXPECT_EQ(read("5s"), "5000");
  EXPECT_EQ(read("5m"), "300000");
  EXPECT_EQ(read("1h"), "3600000");
  EXPECT_EQ(read("2d"), "172800000");
  EXPECT_EQ(read("1.5s"), "1500");
  EXPECT_EQ(read("0s"), "0");
  EXPECT_EQ(read("0.0004s"), "0");
}

TEST(DurationText, SeveralUnitsTheLargestFirst) {
  EXPECT_EQ(read("1h30m"), "5400000");
  EXPECT_EQ(read("1d2h3m4s5ms"), "93784005");
  for (const char* text : {"30m1h", "1s1s", "1h30"}) EXPECT_NE(read(text).find("'"), std::string::npos) << text;
}

TEST(DurationText, WithoutAUnitItSaysWhichWouldBeRight) {
  EXPECT_EQ(read("5"),
            "'5' has no unit: write 5s for seconds or 5ms for milliseconds (m, h and d are minutes, hours and days)");
}

TEST(DurationText, WhatIsNoDuration) {
  const std::string form = " is not a duration: write a number with its unit, like 500ms, 5s, 5m, 1h or 2d";
  for (const std::string text : {"", "s", "-5s", "+5s", " 5s", "5s ", "soon", "1.2.3s", ".", "1e3s", "inf", "nan"}) {
    const std::string told = read(text);
    EXPECT_TRUE(told == "'" + text + "'" + form || told.find("has the unit") != std::string::npos) << told;
  }
  EXPECT_EQ(read("5 s"), "'5 s' has the unit ' s': there are ms, s, m, h and d");
  EXPECT_EQ(read("5min"), "'5min' has the unit 'min': there are ms, s, m, h and d");
  EXPECT_EQ(read("2026-12-01T10:00Z"), "'2026-12-01T10:00Z'" + form) << "a point in time has no unit '-'";
  EXPECT_EQ(read("5S"), "'5S' has the unit 'S': there are ms, s, m, h and d");
}

TEST(DurationText, ARangeIsToldInItsOwnUnits) {
  EXPECT_EQ(read("5ms", milliseconds(10), kDay), "'5ms' is out of range: it must be from 10ms to 1d");
  EXPECT_EQ(read("25h", milliseconds(1000), kDay), "'25h' is out of range: it must be from 1s to 1d");
  EXPECT_NE(read("99999999999999999999999d").find("out of range"), std::string::npos);
  EXPECT_NE(read(std::string(400, '9') + "d").find("'"), std::string::npos);
  EXPECT_EQ(read("1d", milliseconds(1000), kDay), "86400000");
}

TEST(DurationText, WhatIsWrittenIsReadAgain) {
  for (const int64_t count : {0, 1, 999, 1000, 1500, 60'000, 90'000, 3'600'000, 5'400'000, 86'400'000, 172'800'000}) {
    EXPECT_EQ(read(duration_text(milliseconds(count))), std::to_string(count));
  }
  EXPECT_EQ(duration_text(milliseconds(90'000)), "90s");
  EXPECT_EQ(duration_text(milliseconds(0)), "0s");
}

}  // namespace
}  // namespace freshet
