// Reads that are sent again while the first sending is under way.
#include "wire/store/hedge.h"

#include <gtest/gtest.h>

#include "runtime/loop/sim_loop.h"
#include "tests/runtime/fakes.h"
#include "tests/wire/store/fixed_key.h"
#include "wire/store/remote_tables.h"

namespace freshet::remote {
namespace {

// Each sending takes its own time, and answers its own number.
class SlowHttp final : public HttpClient {
 public:
  explicit SlowHttp(Scheduler& scheduler) : scheduler_(scheduler) {}

  Async<Result<HttpResponse>> send(std::string, HttpRequest, milliseconds timeout) override {
    const size_t number = sent++;
    const milliseconds time = number < times.size() ? times[number] : milliseconds(1);
    const Ended counted(*this);
    co_await sleep_for(scheduler_, std::min(time, timeout));
    if (time > timeout) co_return fail(ErrorCode::kTimeout, "no answer");
    ++answered;
    HttpResponse response;
    if (failing) response.status = 400;
    const std::string word = failing ? R"("__type":"x#ProvisionedThroughputExceededException")"
                                     : R"("Item":{"n":{"N":")" + std::to_string(number) + R"("}})";
    response.body = "{" + word + "}";
    co_return response;
  }

  std::vector<milliseconds> times;
  bool failing = false;
  size_t sent = 0;
  size_t answered = 0;
  size_t ended = 0;  // Answered, failed or abandoned.

 private:
  struct Ended {
    explicit Ended(SlowHttp& of) : http(of) {}
    ~Ended() { ++http.ended; }
    SlowHttp& http;
  };
  Scheduler& scheduler_;
};

class HedgeTest : public testing::Test {
 protected:
  HedgeTest() { began = clock.boot(); }

  // The number of the sending whose answer it is, or -1 for a failure.
  int64_t get() {
    began = clock.boot();
    GetItemInput input;
    input.table = "T";
    input.key = Item{{"id", Value("a")}};
    auto work = tables.get_item(std::move(input));
    loop.run_until([&] { return work.is_ready(); }, seconds(60));
    EXPECT_TRUE(work.is_ready());
    const auto item = work.take();
    return item && *item ? item->decode().int_or("n", -1) : -1;
  }
  nanoseconds took() const { return clock.boot() - began; }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop loop{clock};
  SlowHttp http{loop};
  std::unique_ptr<AccessKeySource> keys = fixed_key(AccessKey{"id", "secret", ""});
  Random random{1};
  Caller caller{{.endpoints = {"http://one:8000"}}, http, *keys, loop, random};
  RemoteTables tables{caller, random, {.hedged_after = milliseconds(50)}};
  BootTime began{};
};

TEST_F(HedgeTest, AReadThatIsAnsweredInTimeIsSentOnce) {
  http.times = {milliseconds(49)};
  EXPECT_EQ(get(), 0);
  loop.run_for(seconds(1));
  EXPECT_EQ(http.sent, 1u);
}

TEST_F(HedgeTest, TheFirstAnswerCountsAndTheOtherSendingIsAbandoned) {
  http.times = {milliseconds(2'000), milliseconds(10)};
  EXPECT_EQ(get(), 1);
  EXPECT_EQ(took(), milliseconds(60));
  EXPECT_EQ(http.ended, 2u);
  EXPECT_EQ(http.answered, 1u);
  http.times = {milliseconds(0), milliseconds(0), milliseconds(70), milliseconds(500)};
  EXPECT_EQ(get(), 2);
  EXPECT_EQ(took(), milliseconds(70));
  EXPECT_EQ(http.ended, 4u);
}

TEST_F(HedgeTest, AFailureThatMayPassDoesNotEndTheOtherSending) {
  // The first one times out, is repeated by itself and times out again.
  http.times = {seconds(100), milliseconds(9'000)};
  EXPECT_EQ(get(), 2);
  http.failing = true;
  EXPECT_EQ(get(), -1);
}

TEST_F(HedgeTest, AStoreThatIsSlowAsAWholeIsNotAskedTwiceAsOften) {
  http.times.assign(5'000, milliseconds(100));
  constexpr size_t kReads = 1'000;
  for (size_t i = 0; i < kReads; ++i) EXPECT_GE(get(), 0);
  const size_t hedges = http.sent - kReads;
  EXPECT_GE(hedges, RetryQuota::kMost / RetryQuota::kRetryCosts);
  EXPECT_LE(hedges, RetryQuota::kMost / RetryQuota::kRetryCosts + kReads / 4);
}

TEST_F(HedgeTest, WithoutTheOptionNothingIsSentTwice) {
  RemoteTables plain{caller, random};
  http.times = {milliseconds(2'000)};
  GetItemInput input;
  input.table = "T";
  input.key = Item{{"id", Value("a")}};
  auto work = plain.get_item(std::move(input));
  loop.run_until([&] { return work.is_ready(); }, seconds(60));
  EXPECT_TRUE(work.take());
  EXPECT_EQ(http.sent, 1u);
}

}  // namespace
}  // namespace freshet::remote
