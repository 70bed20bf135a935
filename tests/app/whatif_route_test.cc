// POST /queues/NAME/whatif: a comparison is a process that ends with the daemon's stop.
#include "app/daemon/whatif_route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/loop/sim_loop.h"
#include "wire/http/own_error.h"

namespace freshet {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Answers each request with the head of a recording; the first `more` answers say that there is more.
class FakeRecording final : public Route {
 public:
  explicit FakeRecording(int& more) : more_(more) {}
  bool matches(const HttpRequest&) const override { return true; }
  std::unique_ptr<Exchange> accept(HttpRequest) override {
    HttpResponse response;
    response.body = R"({"freshet":"recording","version":1})";
    if (more_-- > 0) response.headers.emplace_back("X-Freshet-Next", "there");
    return answer_with_response(std::move(response));
  }

 private:
  int& more_;
};

// Programs that end when the test says so.
class HeldPrograms final : public Spawner {
 public:
  explicit HeldPrograms(Scheduler& scheduler) : scheduler_(scheduler) {}
  Async<Result<ProcessResult>> run(ProcessSpec spec) override {
    specs.push_back(std::move(spec));
    const Counted counted(running);
    ended.emplace_back(scheduler_);
    const auto end = ended.back();
    ProcessResult result = co_await end.future();
    co_return result;
  }

  std::vector<ProcessSpec> specs;
  std::vector<Promise<ProcessResult>> ended;
  int running = 0;

 private:
  struct Counted {
    explicit Counted(int& of) : count(of) { ++count; }
    ~Counted() { --count; }
    int& count;
  };
  Scheduler& scheduler_;
};

class WhatIfRouteTest : public testing::Test {
 protected:
  struct Asked {
    std::unique_ptr<Exchange> exchange;
    Async<void> run;
  };
  Asked ask(std::string body = {}) {
    HttpRequest request;
    request.method = "POST";
    request.body = std::move(body);
    request.target = "/queues/q/whatif";
    auto exchange = route->accept(std::move(request));
    auto run = exchange->run();
    return {std::move(exchange), std::move(run)};
  }
  static HttpResponse answer(Asked& asked) {
    EXPECT_TRUE(asked.run.is_ready());
    return asked.exchange->respond();
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop loop{clock};
  HeldPrograms programs{loop};
  Comparisons comparisons;
  int more = 0;
  std::unique_ptr<Route> route = make_whatif_route(std::make_unique<FakeRecording>(more), comparisons, loop, programs);
};

TEST_F(WhatIfRouteTest, HandsTheLimiterBehindTheQueueOn) {
  Asked asked = ask(R"({"downstream":"token-bucket 20/s burst 5"})");
  loop.run_for(milliseconds(10));
  ASSERT_EQ(programs.specs.size(), 1u);
  EXPECT_THAT(programs.specs[0].argv, Contains("--downstream=token-bucket 20/s burst 5"));
}

TEST_F(WhatIfRouteTest, RefusesALimiterThatIsNoText) {
  for (const std::string& wrong : {std::string("20"), "\"" + std::string(201, 'x') + "\"", std::string("\"a\\nb\"")}) {
    Asked asked = ask("{\"downstream\":" + wrong + "}");
    const HttpResponse response = answer(asked);
    EXPECT_EQ(response.status, 400) << wrong;
    EXPECT_THAT(response.body, HasSubstr("'downstream' must be")) << wrong;
  }
  EXPECT_TRUE(programs.specs.empty());
}

TEST_F(WhatIfRouteTest, AnswersWhatTheProcessWrote) {
  Asked asked = ask();
  loop.run_for(milliseconds(10));
  ASSERT_EQ(programs.running, 1);
  EXPECT_TRUE(comparisons.runs());
  Asked second = ask();
  EXPECT_EQ(answer(second).status, 429);
  ProcessResult result;
  result.exit_status = 0;
  result.output = R"({"queue":"q"})";
  programs.ended.back().set(result);
  loop.run_ready();
  const HttpResponse response = answer(asked);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "{\"queue\":\"q\"}\n");
  EXPECT_FALSE(comparisons.runs());
}

TEST_F(WhatIfRouteTest, AComparisonEndsWithTheDaemonsStop) {
  Asked asked = ask();
  loop.run_for(milliseconds(10));
  ASSERT_EQ(programs.running, 1);
  comparisons.end();
  loop.run_ready();
  const HttpResponse response = answer(asked);
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr("the daemon is stopping"));
  EXPECT_EQ(programs.running, 0) << "its process has been ended";
  Asked later = ask();
  EXPECT_EQ(answer(later).status, 503) << "none begins any more";
  EXPECT_EQ(programs.specs.size(), 1u);
}

TEST_F(WhatIfRouteTest, AStopEndsOneThatStillReadsTheRecording) {
  more = 1'000'000;
  Asked asked = ask();
  loop.run_for(milliseconds(10));
  comparisons.end();
  loop.run_for(milliseconds(10));
  EXPECT_EQ(answer(asked).status, 503);
  EXPECT_TRUE(programs.specs.empty());
}

TEST_F(WhatIfRouteTest, AClientThatHangsUpEndsTheProcess) {
  {
    Asked asked = ask();
    loop.run_for(milliseconds(10));
    ASSERT_EQ(programs.running, 1);
  }
  EXPECT_EQ(programs.running, 0);
  EXPECT_FALSE(comparisons.runs());
}

}  // namespace
}  // namespace freshet
