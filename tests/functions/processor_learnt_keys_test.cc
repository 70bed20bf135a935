// KEY_RATE_LIMIT=adaptive through the processor: the limit of each group is learnt by itself. In both worlds.
#include <algorithm>
#include <map>

#include "tables/value/json.h"
#include "tests/functions/processor_fixture.h"

namespace freshet {
namespace {

// A token bucket of two tokens.
struct Bucket {
  double rate = 1;
  double tokens = 1;
  int64_t last = 0;
  int taken = 0;
  int refused = 0;

  bool take(int64_t now) {
    tokens = std::min(2.0, tokens + rate * static_cast<double>(now - last) / 1000);
    last = now;
    const bool may = tokens >= 1;
    if (may) tokens -= 1;
    ++(may ? taken : refused);
    return may;
  }
};

class LearntKeys : public ProcessorTest {
 protected:
  std::map<std::string, Bucket, std::less<>> buckets_;

  void serve(const std::map<std::string, double>& rates) {
    for (const auto& [name, rate] : rates) buckets_[name] = Bucket{rate, 1, world.now_ms()};
    world.http.duration = milliseconds(30);
    world.http.answer = [this](const HttpRequest& request) {
      const auto task = parse_plain_json(request.body);
      HttpResponse response;
      auto its = buckets_.find(std::string(task->get_if<Map>()->string_or("group")));
      if (its == buckets_.end() || !its->second.take(world.now_ms())) response.status = 429;
      return response;
    };
  }
  void add(Queue& queue, const std::string& group, int count) {
    std::vector<NewTask> tasks(static_cast<size_t>(count));
    for (auto& task : tasks) task.group = group;
    for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created) << created.error().message;
  }
  void forget_counts() {
    for (auto& [name, bucket] : buckets_) bucket.taken = bucket.refused = 0;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, LearntKeys, ::testing::Values(false, true),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

TEST_P(LearntKeys, EachGroupLearnsItsOwnLimit) {
  world.set_faults({});  // It counts milliseconds: needs the trait of immediate answers, or that each one comes.
  environment["KEY_RATE_LIMIT"] = "adaptive";
  environment["CONCURRENCY"] = "20";
  environment["LINGER_MS"] = "5000";
  environment["MAX_ACTIVE_MS"] = "110000";
  Queue& queue = start();
  serve({{"fast", 20}, {"slow", 5}});
  add(queue, "fast", 2300);
  add(queue, "slow", 600);
  Running running(world, process_tasks, environment);
  world.pass(seconds(10));
  for (const auto& [name, bucket] : buckets_) EXPECT_LE(bucket.refused, 15) << name;
  forget_counts();
  world.pass(seconds(90));
  for (const auto& [name, bucket] : buckets_) {
    EXPECT_GE(bucket.taken, 0.9 * 90 * bucket.rate) << name;
    EXPECT_LE(bucket.refused, 0.02 * bucket.taken) << name;
  }
}

// Slow groups too: two in a hundred calls are refused at most.
TEST_P(LearntKeys, ASlowGroupIsSeldomRefused) {
  environment["KEY_RATE_LIMIT"] = "adaptive";
  environment["CONCURRENCY"] = "20";
  environment["LINGER_MS"] = "5000";
  environment["MAX_ACTIVE_MS"] = "119000";
  Queue& queue = start();
  serve({{"slow", 2}});
  add(queue, "slow", 400);
  Running running(world, process_tasks, environment);
  world.pass(seconds(20));
  forget_counts();
  world.pass(seconds(95));
  EXPECT_GE(buckets_["slow"].taken, 0.9 * 95 * 2);
  EXPECT_LE(buckets_["slow"].refused, 0.02 * 95 * 2 + 1);
}

// The limit learnt for each group outlives a restart without a clean stop, as with kill -9.
TEST_P(LearntKeys, ARestartForgetsNothing) {
  environment["KEY_RATE_LIMIT"] = "adaptive";
  environment["CONCURRENCY"] = "20";
  environment["LINGER_MS"] = "5000";
  environment["MAX_ACTIVE_MS"] = "30000";
  Queue* queue = &start();
  serve({{"fast", 20}, {"slow", 5}});
  add(*queue, "fast", 1500);
  add(*queue, "slow", 500);
  process();
  std::map<std::string, double> before;
  for (const auto& one : queue->key_limits().learnt()) before[one.key] = one.limit.rate;
  ASSERT_EQ(before.size(), 2u);
  world.pass(seconds(10));
  queue = &start();
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(300));
  const auto after = queue->key_limits().learnt();
  EXPECT_EQ(after.size(), 2u);
  for (const auto& one : after) EXPECT_NEAR(one.limit.rate, before[one.key], 0.06 * before[one.key]) << one.key;
}

}  // namespace
}  // namespace freshet
