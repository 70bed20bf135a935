// What the processor knows of its downstream outlives its runs. In both worlds.
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
  EXPECT_LE(world.http.requests.size(), 6u) << "two at once, and two a second";
}

}  // namespace
}  // namespace freshet
