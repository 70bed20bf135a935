// The processor's knowledge of its downstream outlives its runs. In both worlds.
#include <algorithm>

#include "functions/queue/attributes.h"
#include "tests/functions/processor_fixture.h"

namespace freshet {
namespace {

class DownstreamTest : public ProcessorTest {};

INSTANTIATE_TEST_SUITE_P(Stores, DownstreamTest, ::testing::Values(false, true),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

// A run ends, the downstream does not know.
TEST_P(DownstreamTest, AHandlerThatAsksToBeLeftAloneIsByTheNextRunToo) {
  environment["MAX_ACTIVE_MS"] = "3000";
  environment["CONCURRENCY"] = "2";
  Queue& queue = start();
  create(queue, {"a", "b", "c", "d", "e", "f"});
  const auto begun = world.now_ms();
  std::vector<int64_t> calls;
  world.http.answer = [&](const HttpRequest&) {
    calls.push_back(world.now_ms() - begun);
    HttpResponse response;
    response.status = calls.size() <= 2 ? 429 : 200;
    if (calls.size() <= 2) response.headers.emplace_back("retry-after", "10");
    return response;
  };
  for (int runs = 0; runs < 5; ++runs) process();
  ASSERT_EQ(calls.size(), 8u);
  EXPECT_GE(calls[2], 10'000) << "the second run began after three seconds";
  EXPECT_EQ(world.stock("SUCCESS"), 6u);
}

TEST_P(DownstreamTest, ANewRunHasNoFreshRate) {
  environment["RATE_LIMIT"] = "2";
  environment["MAX_ACTIVE_MS"] = "100";
  environment["CONCURRENCY"] = "10";
  Queue& queue = start();
  create(queue, {"a", "b", "c", "d", "e", "f", "g", "h"});
  for (int runs = 0; runs < 10; ++runs) process();
  EXPECT_LE(world.http.requests.size(), 4u) << "one at once, and two a second";
}

// A handler that takes so many calls a second, one at once, and answers others with 429.
struct Limited {
  QueueWorld& world;
  double rate;
  std::vector<int64_t> calls{};  // When they came, in ms.
  int refused = 0;
  double tokens = 1;
  int64_t last = 0;

  void serve() {
    last = world.now_ms();
    world.http.answer = [this](const HttpRequest&) {
      const int64_t now = world.now_ms();
      tokens = std::min(2.0, tokens + rate * static_cast<double>(now - last) / 1000);
      last = now;
      calls.push_back(now);
      HttpResponse response;
      if (tokens >= 1) {
        tokens -= 1;
      } else {
        response.status = 429;
        ++refused;
      }
      return response;
    };
  }
};

std::vector<NewTask> many(int count) {
  std::vector<NewTask> out(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) out[static_cast<size_t>(i)].id = "t" + std::to_string(i);
  return out;
}

TEST_P(DownstreamTest, ARateALittleBelowTheLimitIsNeverRefused) {
  environment["RATE_LIMIT"] = "19";
  environment["CONCURRENCY"] = "8";
  Queue& queue = start();
  world.wait(queue.create(many(60)));
  Limited handler{world, 20};
  handler.serve();
  for (int runs = 0; runs < 10 && world.stock("SUCCESS") < 60; ++runs) process();
  EXPECT_EQ(world.stock("SUCCESS"), 60u);
  EXPECT_EQ(handler.refused, 0);
}

// After the breaker the first second has no more calls than the rate, whatever the burst.
TEST_P(DownstreamTest, NoBurstIsSavedWhileTheHandlerTakesNothing) {
  environment["RATE_LIMIT"] = "10";
  environment["RATE_BURST"] = "30";
  environment["CONCURRENCY"] = "50";
  Queue& queue = start();
  world.wait(queue.create(many(100)));
  std::vector<int64_t> calls;
  const int64_t begun = world.now_ms();
  world.http.answer = [&](const HttpRequest&) {
    calls.push_back(world.now_ms());
    HttpResponse response;
    if (world.now_ms() > begun + 1'000) return response;
    response.status = 429;
    response.headers.emplace_back("Retry-After", "20");
    return response;
  };
  Running running(world, process_tasks, environment);
  world.pass(seconds(30));
  const auto after = std::upper_bound(calls.begin(), calls.end(), begun + 1'000);
  ASSERT_NE(after, calls.end());
  EXPECT_LE(std::upper_bound(after, calls.end(), *after + 999) - after, 11);
}

TEST_P(DownstreamTest, LearnsTheRateThatIsNotRefused) {
  environment["RATE_LIMIT"] = "adaptive";
  environment["CONCURRENCY"] = "20";
  Queue& queue = start();
  world.wait(queue.create(many(900)));
  Limited handler{world, 20};
  handler.serve();
  const int64_t begun = world.now_ms();
  for (int runs = 0; runs < 10 && world.stock("SUCCESS") < 900; ++runs) process();
  EXPECT_EQ(world.stock("SUCCESS"), 900u);
  EXPECT_LE(world.now_ms() - begun, 54'000) << "45 s is possible";
  EXPECT_LE(handler.refused, 20);
  // It may have been asking for more when the tasks ran out.
  EXPECT_NEAR(queue.downstream().rate->rate(), 20, 13);
  const auto stats = world.wait(queue.stats());
  ASSERT_TRUE(stats && stats->rate_limit);
  EXPECT_TRUE(stats->rate_limit->learnt);
  EXPECT_DOUBLE_EQ(stats->rate_limit->per_second, queue.downstream().rate->rate());
}

TEST_P(DownstreamTest, ALimitChangedUnderLoadLosesNothing) {
  environment["RATE_LIMIT"] = "adaptive";
  environment["CONCURRENCY"] = "8";
  Queue& queue = start();
  world.wait(queue.create(many(200)));
  Limited handler{world, 50};
  handler.serve();
  Running running(world, process_tasks, environment);
  for (const char* rate : {"5", "adaptive", "0", "adaptive", "40", "adaptive"}) {
    world.pass(milliseconds(700));
    ASSERT_TRUE(queue.change_policy({{"RATE_LIMIT", rate}}));
  }
  for (int i = 0; i < 60 && world.stock("SUCCESS") < 200; ++i) world.pass(seconds(1));
  EXPECT_EQ(world.stock("SUCCESS"), 200u);
}

TEST_P(DownstreamTest, ExplainSaysWhatWasLearnt) {
  environment["RATE_LIMIT"] = "adaptive";
  environment["RATE_MAX"] = "0.5";
  environment["CONCURRENCY"] = "4";
  Queue& queue = start();
  create(queue, {"a", "b", "c"});
  world.http.answer = [](const HttpRequest&) { return HttpResponse{}; };
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(500));
  const auto explained = world.wait(queue.explain("a"));
  ASSERT_TRUE(explained);
  std::string why;
  for (const auto& reason : explained->why) why += reason.code + ": " + reason.message + "\n";
  EXPECT_NE(why.find("rate-limit: the downstream allows 0.5/s as learnt; next start in "), std::string::npos) << why;
}

// Workers that pull are held to it as well; what they release was refused.
TEST_P(DownstreamTest, TheRateOfPullWorkers) {
  world.set_faults({});  // It counts milliseconds: needs the trait of immediate answers, or that each one comes.
  environment["TASK_RUNNER"] = "none";
  environment["RATE_LIMIT"] = "10";
  Queue& queue = start();
  create(queue, {"a", "b", "c", "d"});
  TakeInput input;
  input.max = 10;
  EXPECT_EQ(world.wait(queue.take(input))->size(), 1u);
  EXPECT_EQ(world.wait(queue.take(input))->size(), 0u) << "at once";
  input.wait = milliseconds(1'000);
  const int64_t begun = world.now_ms();
  EXPECT_EQ(world.wait(queue.take(input))->size(), 1u);
  EXPECT_NEAR(static_cast<double>(world.now_ms() - begun), 100, 20);
  ASSERT_TRUE(queue.change_policy({{"RATE_LIMIT", "adaptive"}}));
  world.pass(seconds(1));
  const auto taken = world.wait(queue.take(input));
  ASSERT_EQ(taken->size(), 1u);
  EXPECT_EQ(queue.downstream().rate->in_flight(), 1u);
  Settlement release;
  release.kind = Settlement::Kind::kRelease;
  release.id = text_of((*taken)[0].task, attribute::kId);
  release.lease = (*taken)[0].lease;
  ASSERT_TRUE(world.wait(queue.settle({release}))[0]);
  EXPECT_EQ(queue.downstream().rate->in_flight(), 0u);
}

// A learnt limit survives a restart; without one nothing is written.
TEST_P(DownstreamTest, TheLearntLimitIsKeptAcrossRestarts) {
  environment["RATE_LIMIT"] = "adaptive";
  environment["CONCURRENCY"] = "10";
  Queue* queue = &start();
  EXPECT_NEAR(queue->downstream().rate->rate(), 5, 0.01) << "of the start";
  double tokens = 1;
  auto seen = world.clock.boot();
  world.http.answer = [&](const HttpRequest&) {
    const auto now = world.clock.boot();
    tokens = std::min(1.0, tokens + 20 * std::chrono::duration<double>(now - seen).count());
    seen = now;
    HttpResponse response;
    response.status = tokens >= 1 ? 200 : 429;
    if (tokens >= 1) tokens -= 1;
    return response;
  };
  environment["BOUNCE_DELAY_MS"] = "1000";
  for (int i = 0; i < 15; ++i) {
    for (auto& made : world.wait(queue->create(std::vector<NewTask>(100)))) ASSERT_TRUE(made);
  }
  process();
  world.pass(milliseconds(6'000));
  const double learnt = queue->downstream().rate->rate();
  EXPECT_NEAR(learnt, 20, 4);
  queue = &start();  // The old life ends without a word, as by kill -9.
  EXPECT_NEAR(queue->downstream().rate->rate(), learnt, 0.05 * learnt);
  environment.erase("RATE_LIMIT");
  queue = &start();
  EXPECT_FALSE(queue->downstream().rate);
}

// A timeout says nothing of a limit: the rate is not raised by it.
TEST_P(DownstreamTest, ATimeoutIsNotAnAcceptedCall) {
  environment["RATE_LIMIT"] = "adaptive";
  environment["CONCURRENCY"] = "100";
  environment["MAX_ATTEMPTS"] = "1";
  Queue& queue = start();
  for (auto& made : world.wait(queue.create(std::vector<NewTask>(200)))) ASSERT_TRUE(made);
  world.http.answer = [](const HttpRequest&) -> Result<HttpResponse> { return fail(ErrorCode::kTimeout, "no answer"); };
  process();
  EXPECT_EQ(queue.downstream().rate->in_flight(), 0u);
  EXPECT_NEAR(queue.downstream().rate->rate(), 5, 0.01);
}

}  // namespace
}  // namespace freshet
