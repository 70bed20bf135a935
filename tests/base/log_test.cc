#include "base/log.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/sim/log_capture.h"

namespace freshet {
namespace {

struct EventLogTest : testing::Test {
  SimClock clock{WallTime(milliseconds(1'795'253'385'007))};
  LogCapture capture;
  EventLog log{clock, capture, LogLevel::kInfo};
};

TEST_F(EventLogTest, AnEventIsOneLineOfJson) {
  const std::string id = "7f";
  log.info("CREATE_TASK",
           {{"taskId", id}, {"n", 3}, {"depth", uint64_t{18446744073709551615u}}, {"p", 0.5}, {"ok", true}});
  log.warn("EMPTY");
  EXPECT_EQ(capture.lines,
            (std::vector<std::string>{
                R"({"time":"2026-11-21T09:29:45.007Z","level":"info","event":"CREATE_TASK","taskId":"7f","n":3,)"
                R"("depth":18446744073709551615,"p":0.5,"ok":true})",
                R"({"time":"2026-11-21T09:29:45.007Z","level":"warn","event":"EMPTY"})"}));
}

TEST_F(EventLogTest, HostileTextStaysOneLineOfValidJson) {
  const std::string text("a\"b\\c\nd\0e\x1f", 10);
  log.info("E", {{"t", text}});
  ASSERT_EQ(capture.lines.size(), 1u);
  EXPECT_NE(capture.lines[0].find(R"("t":"a\"b\\c\u000ad\u0000e\u001f"})"), std::string::npos) << capture.lines[0];
}

TEST_F(EventLogTest, BadUtf8IsReplacedByteByByte) {
  const std::string r = "\xef\xbf\xbd";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
      {"\xf0\x9f\x8c\x8a", "\xf0\x9f\x8c\x8a"},
      {"\xc3", r},                          // Cut off.
      {"\xc0\xaf", r + r},                  // Over-long.
      {"\xed\xa0\x80", r + r + r},          // A surrogate.
      {"\xf4\x90\x80\x80", r + r + r + r},  // Above U+10FFFF.
      {"a\xffz", "a" + r + "z"},
  };
  for (const auto& [in, out] : cases) {
    capture.lines.clear();
    log.info("E", {{"t", in}});
    EXPECT_EQ(capture.count("\"t\":\"" + out + "\"}"), 1u) << capture.lines[0];
  }
}

TEST_F(EventLogTest, NumbersThatJsonLacksAreNull) {
  log.info("E", {{"a", std::numeric_limits<double>::infinity()}, {"b", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(capture.count(R"("a":null,"b":null})"), 1u);
}

TEST_F(EventLogTest, LevelsFilter) {
  log.debug("QUIET");
  log.error("LOUD");
  EventLog().error("NOWHERE");
  EventLog(clock, capture, LogLevel::kOff).error("OFF");
  EXPECT_EQ(capture.lines.size(), 1u);
  EXPECT_TRUE(log.enabled(LogLevel::kInfo));
  EXPECT_FALSE(log.enabled(LogLevel::kDebug));
  EXPECT_EQ(parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("off"), LogLevel::kOff);
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

TEST(EventLogSink, StandardErrorGetsWholeLines) {
  testing::internal::CaptureStderr();
  {
    auto sink = make_stderr_sink();
    sink->write(LogLevel::kInfo, R"({"percent":"%v {}"})");
    sink->write(LogLevel::kError, "second");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "{\"percent\":\"%v {}\"}\nsecond\n");
}

TEST(Iso8601, CoversLeapDaysAndTimesBeforeTheEpoch) {
  EXPECT_EQ(iso8601(WallTime(seconds(951'782'400))), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(iso8601(WallTime(milliseconds(-1))), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace freshet
