// How calls of a remote store are repeated, and what their failures become.
#include "wire/store/caller.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/loop/sim_loop.h"
#include "tables/tables.h"
#include "tests/runtime/fakes.h"

namespace freshet::remote {
namespace {

HttpResponse service_error(int status, const std::string& name, const std::string& more = "") {
  HttpResponse response;
  response.status = status;
  response.body = R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + name + R"(","message":"why")" + more + "}";
  return response;
}

HttpResponse accepted(const std::string& body = "{}") {
  HttpResponse response;
  response.body = body;
  return response;
}

// Another key each time that one is refused.
class CountedKeys final : public AccessKeySource {
 public:
  Async<Result<AccessKey>> current() override {
    AccessKey key;
    key.id = "KEY" + std::to_string(number);
    key.secret = "secret";
    return Result<AccessKey>(key);
  }
  void refused(const AccessKey&) override { ++number; }
  int number = 0;
};

class CallerTest : public testing::Test {
 protected:
  Caller& caller() {
    if (!caller_) {
      CallerOptions options;
      options.endpoints = endpoints;
      options.reads_clock = reads_clock;
      options.on_throttled = [this](std::string_view reason) { throttled.push_back(reason); };
      caller_.emplace(std::move(options), http, keys, loop, random_);
    }
    return *caller_;
  }
  Result<std::string> call(Caller::Kind kind, const std::string& operation = "PutItem") {
    auto work = caller().call(operation, "{}", kind);
    loop.run_until([&] { return work.is_ready(); }, seconds(300));
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }
  ErrorCode code(Caller::Kind kind) {
    const auto answer = call(kind);
    EXPECT_FALSE(answer);
    return answer ? ErrorCode::kInternal : answer.error().code;
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop loop{clock};
  FakeHttp http;
  CountedKeys keys;
  std::vector<std::string> endpoints{"http://one:8000"};
  bool reads_clock = false;
  std::vector<std::string_view> throttled;

 private:
  Random random_{1};
  std::optional<Caller> caller_;
};

const Error kTimedOut{ErrorCode::kTimeout, "no answer", nullptr};
constexpr auto kRead = Caller::Kind::kRead;
constexpr auto kWrite = Caller::Kind::kWrite;

TEST_F(CallerTest, SendsASignedRequestOfTheProtocol) {
  http.answers.push_back(accepted("{\"a\":1}"));
  EXPECT_EQ(*call(kWrite), "{\"a\":1}");
  ASSERT_EQ(http.requests.size(), 1u);
  const HttpRequest& request = http.requests[0];
  EXPECT_EQ(http.urls[0], "http://one:8000/");
  EXPECT_EQ(header(request.headers, "X-Amz-Target"), "DynamoDB_20120810.PutItem");
  EXPECT_EQ(header(request.headers, "Content-Type"), "application/x-amz-json-1.0");
  EXPECT_TRUE(header(request.headers, "Authorization")
                  .starts_with("AWS4-HMAC-SHA256 Credential=KEY0/20270115/us-east-1/"
                               "dynamodb/aws4_request, SignedHeaders="));
}

TEST_F(CallerTest, TheTimeGoesOnBetweenAnswers) {
  reads_clock = true;
  EXPECT_FALSE(caller().store_time());
  const WallTime said(seconds(1'795'852'800));
  HttpResponse dated = service_error(400, "ValidationException");
  dated.headers.emplace_back("date", "Sat, 28 Nov 2026 08:00:00 GMT");
  http.answers.push_back(dated);
  static_cast<void>(call(kRead));
  EXPECT_EQ(caller().store_time(), said);
  loop.run_for(milliseconds(2500));
  HttpResponse odd = accepted();
  odd.headers.emplace_back("Date", "Saturday, 28-Nov-26 09:00:00 GMT");
  http.answers.push_back(odd);
  static_cast<void>(call(kRead));
  EXPECT_EQ(caller().store_time(), said + milliseconds(2500)) << "a date that is not read says nothing";
}

TEST_F(CallerTest, ARefusalIsFinal) {
  http.answers.push_back(service_error(400, "ValidationException"));
  const auto answer = call(kWrite);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kValidation);
  EXPECT_EQ(answer.error().message, "why");
  EXPECT_EQ(http.requests.size(), 1u);
}

TEST_F(CallerTest, AFailedConditionHasTheItem) {
  http.answers.push_back(
      service_error(400, "ConditionalCheckFailedException", R"(,"Item":{"id":{"S":"a"},"n":{"N":"7"}})"));
  const auto answer = call(kWrite);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kConditionalCheckFailed);
  const auto detail = std::dynamic_pointer_cast<const ConditionFailed>(answer.error().detail);
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->item.decode().int_or("n", 0), 7);
}

TEST_F(CallerTest, AFailedConditionAfterASendingWithoutAnAnswerIsUnknown) {
  http.answers.push_back(fail(kTimedOut));
  http.answers.push_back(service_error(400, "ConditionalCheckFailedException"));
  EXPECT_EQ(code(kWrite), ErrorCode::kUnknownOutcome);
}

// An update may be valid for the item as it was, and not for what it has made of it.
TEST_F(CallerTest, AnyRefusalAfterASendingWithoutAnAnswerIsUnknown) {
  http.answers.push_back(fail(kTimedOut));
  http.answers.push_back(service_error(400, "ValidationException"));
  EXPECT_EQ(code(kWrite), ErrorCode::kUnknownOutcome);
}

TEST_F(CallerTest, ATransactionThatIsStillRunningMayBeCarriedOut) {
  for (int i = 0; i < 4; ++i) http.answers.push_back(service_error(400, "TransactionInProgressException"));
  EXPECT_EQ(code(kWrite), ErrorCode::kUnknownOutcome);
}

TEST_F(CallerTest, AConflictOfTransactionsPasses) {
  http.answers.push_back(service_error(400, "TransactionCanceledException",
                                       R"(,"CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict"}])"));
  http.answers.push_back(accepted());
  EXPECT_TRUE(call(kWrite));
  http.answers.push_back(
      service_error(400, "TransactionCanceledException",
                    R"(,"CancellationReasons":[{"Code":"ConditionalCheckFailed"},{"Code":"TransactionConflict"}])"));
  EXPECT_EQ(code(kWrite), ErrorCode::kTransactionCanceled);
}

TEST_F(CallerTest, ThrottlingIsRepeatedAndLeavesNoDoubt) {
  for (int i = 0; i < 4; ++i) http.answers.push_back(service_error(400, "ThrottlingException"));
  EXPECT_EQ(code(kWrite), ErrorCode::kThroughputExceeded);
  EXPECT_EQ(http.requests.size(), 4u);
  http.answers.push_back(service_error(400, "RequestLimitExceeded"));
  http.answers.push_back(accepted());
  EXPECT_TRUE(call(kWrite));
}

TEST_F(CallerTest, SaysWhyItWasThrottled) {
  for (int i = 0; i < 4; ++i) {
    http.answers.push_back(
        service_error(400, "ProvisionedThroughputExceededException",
                      R"(,"throttlingReasons":[{"reason":"IndexWriteKeyRangeThroughputExceeded","resource":"arn"}])"));
  }
  const auto answer = call(kWrite);
  EXPECT_EQ(answer.error().message, "why (IndexWriteKeyRangeThroughputExceeded)");
}

TEST_F(CallerTest, AnAnswerThatIsNoObjectIsNoneOfAStore) {
  for (int i = 0; i < 4; ++i) http.answers.push_back(accepted(i % 2 == 0 ? "null" : "<html>"));
  EXPECT_EQ(code(kWrite), ErrorCode::kUnknownOutcome);
  for (int i = 0; i < 4; ++i) http.answers.push_back(accepted(" "));
  EXPECT_EQ(code(kRead), ErrorCode::kInternal);
}

TEST_F(CallerTest, TellsOfAStoreThatIsAwayOnceThatLasts) {
  const auto fail_for = [this](nanoseconds time, const HttpResponse& answer) {
    for (const BootTime end = clock.boot() + time; clock.boot() < end;) {
      for (int i = 0; i < 4; ++i) http.answers.push_back(answer);
      static_cast<void>(call(kRead));
      http.answers.clear();
      loop.run_for(milliseconds(100));
    }
  };
  fail_for(seconds(2), service_error(500, "InternalServerError"));
  EXPECT_EQ(caller().trouble(), "");
  fail_for(seconds(4), service_error(500, "InternalServerError"));
  EXPECT_EQ(caller().trouble(), "the engine cannot be used: http://one:8000: why");
  fail_for(seconds(1), service_error(400, "ResourceNotFoundException"));
  EXPECT_EQ(caller().trouble(), "") << "it answers";
  fail_for(seconds(6), service_error(400, "ThrottlingException"));
  EXPECT_EQ(caller().trouble(), "") << "it is busy";
  fail_for(seconds(6), service_error(400, "ExpiredTokenException"));
  EXPECT_NE(caller().trouble(), "");
  http.answers.push_back(accepted());
  EXPECT_TRUE(call(kRead));
  EXPECT_EQ(caller().trouble(), "");
}

TEST_F(CallerTest, AFaultLongAgoSaysNothingOfTheStore) {
  for (int i = 0; i < 4; ++i) http.answers.push_back(fail(kTimedOut));
  static_cast<void>(call(kRead));
  loop.run_for(seconds(10));
  EXPECT_EQ(caller().trouble(), "") << "nobody has asked since";
  for (int i = 0; i < 4; ++i) http.answers.push_back(fail(kTimedOut));
  static_cast<void>(call(kRead));
  EXPECT_NE(caller().trouble(), "");
  loop.run_for(seconds(70));
  EXPECT_EQ(caller().trouble(), "");
  for (int i = 0; i < 4; ++i) http.answers.push_back(service_error(500, "InternalServerError"));
  static_cast<void>(call(kRead));
  EXPECT_EQ(caller().trouble(), "") << "a fault after so long is a new one";
}

TEST_F(CallerTest, CountsThrottledAttemptsByTheBoundThatTheyMet) {
  const auto reason_of = [this](const char* error, const char* reason) {
    throttled.clear();
    const std::string more = *reason == 0 ? "" : fmt::format(R"(,"throttlingReasons":[{{"reason":"{}"}}])", reason);
    for (int i = 0; i < 4; ++i) http.answers.push_back(service_error(400, error, more));
    call(kWrite);
    const size_t attempts = throttled.size();
    throttled.erase(std::unique(throttled.begin(), throttled.end()), throttled.end());
    http.answers.clear();
    return fmt::format("{} x {}", attempts, fmt::join(throttled, ", "));
  };
  const char* provisioned = "ProvisionedThroughputExceededException";
  EXPECT_EQ(reason_of(provisioned, "IndexWriteKeyRangeThroughputExceeded"), "4 x partition");
  EXPECT_EQ(reason_of(provisioned, "TableReadProvisionedThroughputExceeded"), "4 x provisioned");
  EXPECT_EQ(reason_of(provisioned, ""), "4 x provisioned");
  EXPECT_EQ(reason_of("ThrottlingException", "TableWriteMaxOnDemandThroughputExceeded"), "4 x on-demand");
  EXPECT_EQ(reason_of("ThrottlingException", "TableWriteAccountLimitExceeded"), "4 x account");
  EXPECT_EQ(reason_of("RequestLimitExceeded", ""), "4 x account");
  EXPECT_EQ(reason_of("ThrottlingException", ""), "4 x other");
  EXPECT_EQ(reason_of("TransactionConflictException", ""), "0 x ");
}

TEST_F(CallerTest, AWriteThatFailedWithinTheStoreIsUnknownAndAReadIsNot) {
  for (int i = 0; i < 4; ++i) http.answers.push_back(service_error(500, "InternalServerError"));
  EXPECT_EQ(code(kWrite), ErrorCode::kUnknownOutcome);
  for (int i = 0; i < 4; ++i) http.answers.push_back(fail(kTimedOut));
  EXPECT_EQ(code(kRead), ErrorCode::kTimeout);
}

TEST_F(CallerTest, WhatWasNeverSentLeavesNoDoubt) {
  for (int i = 0; i < 4; ++i) http.answers.push_back(never_sent(ErrorCode::kUnavailable, "connection refused"));
  EXPECT_EQ(code(kWrite), ErrorCode::kUnavailable);
  EXPECT_EQ(http.requests.size(), 4u);
}

TEST_F(CallerTest, AnotherKeyIsTriedOnce) {
  http.answers.push_back(service_error(400, "ExpiredTokenException"));
  http.answers.push_back(accepted());
  EXPECT_TRUE(call(kWrite));
  EXPECT_NE(header(http.requests[1].headers, "Authorization").find("Credential=KEY1/"), std::string::npos);
  http.answers.push_back(service_error(400, "UnrecognizedClientException"));
  http.answers.push_back(service_error(400, "UnrecognizedClientException"));
  const auto answer = call(kWrite);
  EXPECT_EQ(answer.error().code, ErrorCode::kAccessDenied);
  EXPECT_EQ(answer.error().message, "UnrecognizedClientException: why");
}

TEST_F(CallerTest, GoesToTheNextEndpointOnceOneFails) {
  endpoints = {"http://one:8000", "http://two:8000"};
  http.answers.push_back(accepted());
  http.answers.push_back(never_sent(ErrorCode::kUnavailable, "connection refused"));
  http.answers.push_back(accepted());
  http.answers.push_back(accepted());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(call(kWrite));
  const std::vector<std::string> expected{"http://one:8000/", "http://one:8000/", "http://two:8000/",
                                          "http://two:8000/"};
  EXPECT_EQ(http.urls, expected);
}

TEST_F(CallerTest, AStoreThatFailsAllTheTimeIsNotAskedFourTimesAsOften) {
  http.answer = [](const HttpRequest&) { return service_error(500, "InternalServerError"); };
  constexpr size_t kCalls = 1'000;
  for (size_t i = 0; i < kCalls; ++i) EXPECT_FALSE(call(kRead));
  EXPECT_EQ(http.requests.size(), kCalls + RetryQuota::kMost / RetryQuota::kRetryCosts);
  // As it recovers, so does the quota.
  http.answer = [](const HttpRequest&) { return accepted(); };
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(call(kRead));
  http.answer = [](const HttpRequest&) { return service_error(500, "InternalServerError"); };
  http.requests.clear();
  for (size_t i = 0; i < kCalls; ++i) EXPECT_FALSE(call(kRead));
  EXPECT_EQ(http.requests.size(), kCalls + 20 * RetryQuota::kFirstSuccessGives / RetryQuota::kRetryCosts);
}

TEST_F(CallerTest, AnswersOfSomethingElseAreSaidToBe) {
  HttpResponse page;
  page.status = 404;
  page.content_type = "text/html";
  page.body = "<html>not here</html>";
  http.answers.push_back(page);
  const auto answer = call(kRead);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message,
            "the endpoint answered 404 without an error of the DynamoDB protocol: is it such a store?");
}

}  // namespace
}  // namespace freshet::remote
