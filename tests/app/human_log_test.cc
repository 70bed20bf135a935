#include "app/daemon/human_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

namespace freshet {
namespace {

class HumanLogTest : public testing::Test {
 protected:
  HumanLogTest() {
    setenv("TZ", "CET-1", 1);
    tzset();
  }
  ~HumanLogTest() override {
    unsetenv("TZ");
    tzset();
  }
  static std::string line(std::string_view json, bool colours = false) {
    return human_line(json, {.terminal = true, .colours = colours});
  }
};

TEST_F(HumanLogTest, AnEventIsALineWithTheLocalTime) {
  EXPECT_EQ(line(R"({"time":"2026-11-21T09:29:45.123Z","level":"info","event":"READY","url":"http://127.0.0.1:7070"})"),
            "10:29:45.123 INFO  READY  url=http://127.0.0.1:7070");
  EXPECT_EQ(line(R"({"time":"2026-11-21T23:59:59.001Z","level":"warn","event":"X","n":3,"ok":true,"e":"","s":"a b"})"),
            "00:59:59.001 WARN  X  n=3 ok=true s=\"a b\"");
}

TEST_F(HumanLogTest, AQuietLogHasWarningsErrorsAndWhatFunctionsPrint) {
  const std::string_view ready = R"({"time":"x","level":"info","event":"READY"})";
  EXPECT_TRUE(is_chatter(LogLevel::kInfo, ready));
  EXPECT_TRUE(is_chatter(LogLevel::kDebug, ready));
  EXPECT_FALSE(is_chatter(LogLevel::kWarn, ready));
  EXPECT_FALSE(is_chatter(LogLevel::kError, ready));
  EXPECT_FALSE(is_chatter(LogLevel::kInfo, R"({"time":"x","level":"info","event":"FUNCTION_LOG","line":"hello"})"));
  EXPECT_TRUE(
      is_chatter(LogLevel::kInfo, R"({"time":"x","level":"info","event":"A","line":"\"event\":\"FUNCTION_LOG"})"));
}

TEST_F(HumanLogTest, WhatItSaysComesFirst) {
  EXPECT_EQ(
      line(
          R"({"time":"2026-11-21T09:29:45.123Z","level":"error","event":"STORE_FAILED","error":"Io","message":"the disk is full"})"),
      "10:29:45.123 ERROR STORE_FAILED: the disk is full  error=Io");
}

TEST_F(HumanLogTest, AFunctionsLineNamesTheFunctionAndTheRequest) {
  EXPECT_EQ(
      line(
          R"({"time":"2026-11-21T09:29:45.123Z","level":"info","event":"FUNCTION_LOG","function":"Greet","requestId":"7f3a91c0-1234","line":"a\tb"})"),
      "10:29:45.123 Greet 7f3a91c0  a  b");
}

TEST_F(HumanLogTest, NothingThatOthersWroteMovesTheCursor) {
  EXPECT_EQ(line("{\"time\":\"\\u001b[2J\",\"level\":\"\\u009b\",\"event\":\"E\\n\",\"\\u0007\":\"\\r\"}"),
            "\\x1b[2J \\u009b E\\n  \\x07=\\r");
  EXPECT_EQ(line("\x1b[2J no JSON"), "\\x1b[2J no JSON");
  EXPECT_EQ(line("[1]"), "[1]");
  EXPECT_EQ(line(R"({"time":5,"level":{},"event":null,"cut":"x"})").find('\n'), std::string::npos);
}

// A task id is a client's text: what stands in it must not pass for fields of the daemon.
TEST_F(HumanLogTest, AValueCannotEndItsQuotes) {
  EXPECT_EQ(
      line(R"({"time":"2026-11-21T09:29:45.123Z","level":"info","event":"X","taskId":"a\" state=DEAD b=\"","n":1})"),
      R"(10:29:45.123 INFO  X  taskId="a\" state=DEAD b=\"" n=1)");
  EXPECT_EQ(
      line("{\"time\":\"2026-11-21T09:29:45.123Z\",\"level\":\"info\",\"event\":\"X\",\"taskId\":\"\xe2\x80\xae\"}"),
      "10:29:45.123 INFO  X  taskId=\\u202e");
}

TEST_F(HumanLogTest, LevelsHaveColours) {
  EXPECT_EQ(line(R"({"time":"2026-11-21T09:29:45.123Z","level":"warn","event":"X"})", true),
            "\033[2m10:29:45.123\033[0m \033[33mWARN \033[0m \033[1mX\033[0m");
}

}  // namespace
}  // namespace freshet
