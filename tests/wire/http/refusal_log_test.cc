#include "wire/http/refusal_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace freshet::http_server {
namespace {

class Lines final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override { all.emplace_back(line); }
  std::vector<std::string> all;
};

struct RefusalLogTest : testing::Test {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  Lines lines;
  RefusalLog log{EventLog(clock, lines, LogLevel::kInfo), clock};

  void refuse(int status, std::string_view body = R"({"error":{"code":"C","message":"m"}})") {
    log.log({"id", "GET /x", status, body, {}});
  }
  bool last_has(const std::string& text) const { return lines.all.back().find(text) != std::string::npos; }
};

TEST_F(RefusalLogTest, ReadsTheErrorsOfAllApis) {
  for (const char* body :
       {R"({"error":{"code":"Code","message":"words"}})",
        R"({"error":{"code":"Code","message":"words"},"__type":"Other","message":"other"})",
        R"({"__type":"com.amazon.coral.service#Code","Message":"words"})", R"({"__type":"Code","message":"words"})",
        "<ErrorResponse><Error><Code>Code</Code><Message>words</Message></Error></ErrorResponse>"}) {
    refuse(400, body);
    EXPECT_TRUE(last_has(R"("code":"Code","message":"words")")) << body << lines.all.back();
  }
  for (const char* body : {"", "x", "[1]", "{", R"({"error":5,"__type":7})", "<Code>"}) {
    refuse(400, body);
    EXPECT_TRUE(last_has(R"("code":"","message":"")")) << body << lines.all.back();
  }
}

TEST_F(RefusalLogTest, TheLambdaApiHasItsCodeInAHeader) {
  log.log({"id", "GET /x", 404, R"({"Type":"User","Message":"words"})", "ResourceNotFoundException"});
  EXPECT_TRUE(last_has(R"("code":"ResourceNotFoundException","message":"words")")) << lines.all.back();
}

TEST_F(RefusalLogTest, AnAuthorizationHeaderIsNotRepeated) {
  refuse(403, R"({"__type":"IncompleteSignatureException","message":"It needs 'Date'. Authorization=Bearer 5ec2e7"})");
  EXPECT_TRUE(last_has("It needs 'Date'. Authorization=\"")) << lines.all.back();
}

TEST_F(RefusalLogTest, AConditionThatDoesNotHoldIsNoFault) {
  refuse(400, R"({"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m"})");
  refuse(400, R"({"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"m"})");
  EXPECT_TRUE(lines.all.empty());
}

TEST_F(RefusalLogTest, ManyAreCountedInsteadOfWritten) {
  for (int i = 0; i < 1'000; ++i) refuse(400);
  EXPECT_EQ(lines.all.size(), RefusalLog::kBurst);
  EXPECT_FALSE(last_has("leftOut") || last_has("untold")) << "none was left out: " << lines.all.back();
  refuse(500);
  EXPECT_EQ(lines.all.size(), RefusalLog::kBurst + 1) << "failures have lines of their own";
  EXPECT_TRUE(last_has("REQUEST_FAILED")) << lines.all.back();
  clock.advance(RefusalLog::kEach);
  refuse(404);
  refuse(404);
  EXPECT_EQ(lines.all.size(), RefusalLog::kBurst + 2);
  EXPECT_TRUE(last_has(R"("leftOut":900,"untold":900)")) << lines.all.back();
  clock.advance(std::chrono::hours(24));
  for (int i = 0; i < 1'000; ++i) refuse(404);
  EXPECT_EQ(lines.all.size(), 2 * RefusalLog::kBurst + 2);
}

}  // namespace
}  // namespace freshet::http_server
