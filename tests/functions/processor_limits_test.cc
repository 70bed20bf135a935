// The processor and limits of groups and of cost.
#include <algorithm>
#include <map>

#include "functions/queue/attributes.h"
#include "tests/functions/processor_fixture.h"

namespace freshet {
namespace {

class ProcessorLimits : public ProcessorTest {
 protected:
  std::vector<int64_t> starts_;  // In ms, of the answers.

  void add(Queue& queue, const std::string& group, int count) {
    std::vector<NewTask> tasks(static_cast<size_t>(count));
    for (auto& task : tasks) task.group = group;
    for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created) << created.error().message;
  }
  void answer_with_cost(std::string cost) {
    world.http.answer = [this, cost = std::move(cost)](const HttpRequest&) {
      starts_.push_back(std::chrono::duration_cast<milliseconds>(world.clock.boot().time_since_epoch()).count());
      HttpResponse response;
      response.headers.emplace_back("Freshet-Cost", cost);
      return response;
    };
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, ProcessorLimits, ::testing::Bool());

TEST_P(ProcessorLimits, TheCostThatTheHandlerTellsSlowsTheQueueDown) {
  environment["RATE_LIMIT"] = "100";
  environment["RATE_COUNTS"] = "cost";
  environment["CONCURRENCY"] = "1";
  auto& queue = start();
  create(queue, {"a", "b", "c"});
  answer_with_cost("500");
  EXPECT_EQ(process(), R"({"taken":3,"succeeded":3,"failed":0,"bounced":0,"shed":0,"lost":0,"tailCall":false})");
  ASSERT_EQ(starts_.size(), 3u);
  for (size_t i = 1; i < starts_.size(); ++i) {
    EXPECT_GE(starts_[i] - starts_[i - 1], 4900);
    EXPECT_LE(starts_[i] - starts_[i - 1], 5200);
  }
  EXPECT_EQ(int_of(*world.wait(queue.get("a")), attribute::kCost, 0), 500);
}

TEST_P(ProcessorLimits, TasksThatCostLittleStartTogetherWithinWhatMayBeSpent) {
  environment["RATE_LIMIT"] = "100";
  environment["RATE_BURST"] = "10";
  environment["RATE_COUNTS"] = "cost";
  environment["CONCURRENCY"] = "100";
  auto& queue = start();
  std::vector<NewTask> tasks(20);
  for (auto& task : tasks) task.cost = 4;
  for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
  world.http.duration = milliseconds(50);
  process();
  EXPECT_EQ(world.http.requests.size(), 20u);
  EXPECT_LE(world.http.most_in_work, 6) << "three of the burst, and a little more in 50 ms";
}

TEST_P(ProcessorLimits, ACostThatIsNoneIsIgnored) {
  environment["RATE_LIMIT"] = "100";
  environment["RATE_COUNTS"] = "cost";
  auto& queue = start();
  create(queue, {"a", "b"});
  answer_with_cost("-5 apples");
  process();
  EXPECT_EQ(world.status("a"), "SUCCESS");
  EXPECT_EQ(world.status("b"), "SUCCESS");
  ASSERT_EQ(starts_.size(), 2u);
  EXPECT_LE(starts_[1] - starts_[0], 100);
}

TEST_P(ProcessorLimits, AGroupHasNoMoreInWorkThanItMay) {
  environment["KEY_CONCURRENCY"] = "2";
  environment["CONCURRENCY"] = "100";
  environment["LINGER_MS"] = "1000";
  auto& queue = start();
  add(queue, "loud", 30);
  add(queue, "quiet", 2);
  world.http.duration = milliseconds(100);
  process();
  EXPECT_EQ(world.stock("SUCCESS"), 32u);
  EXPECT_LE(world.http.most_in_work, 4);
}

// A run that finds nothing that may start ends, and the next one is asked for when something may.
TEST_P(ProcessorLimits, ARunIsAskedForWhenAGroupMayStartAgain) {
  environment["KEY_RATE_LIMIT"] = "0.1";
  auto& queue = start();
  world.pass(seconds(11));
  add(queue, "a", 2);
  process();
  EXPECT_EQ(world.stock("SUCCESS"), 1u);
  const auto before = world.topics.published.size();
  world.pass(seconds(4));
  EXPECT_EQ(world.topics.published.size(), before) << "nothing may start";
  world.pass(seconds(7));
  EXPECT_GT(world.topics.published.size(), before);
  process();
  EXPECT_EQ(world.stock("SUCCESS"), 2u);
}

}  // namespace
}  // namespace freshet
