// RATE_LIMIT for pull workers: whoever waits starts as soon as the rate allows it, and never beyond it.
#include "tests/functions/queue_fixture.h"

#include <algorithm>

namespace freshet {
namespace {

class QueuePullRate : public QueueFixture {
 protected:
  using Takes = std::vector<Async<Result<std::vector<TakenTask>>>>;

  static QueueSettings rate(double per_second, int burst = 0) {
    QueueSettings settings;
    settings.work.rate_limit = per_second;
    settings.work.rate_burst = burst;
    settings.look_around = milliseconds(60'000);  // So that nothing else wakes a take.
    return settings;
  }
  void fill(Queue& queue, size_t count) {
    std::vector<NewTask> tasks(count);
    for (auto& made : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(made) << made.error().message;
  }
  static Takes workers(Queue& queue, int count, int max, milliseconds wait) {
    Takes out;
    for (int i = 0; i < count; ++i) {
      TakeInput input;
      input.max = max;
      input.wait = wait;
      out.push_back(queue.take(std::move(input)));
    }
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueuePullRate, ::testing::Bool(), store_name);

// A worker that asks for many and gets one wakes the next, or the others would sleep beside work that may start.
TEST_P(QueuePullRate, WorkersThatAskForManyStartAtTheRate) {
  Queue& queue = world.start(rate(10));
  auto takes = workers(queue, 5, 10, milliseconds(60'000));
  fill(queue, 50);
  world.pass(milliseconds(600));
  size_t ready = 0;
  for (const auto& one : takes) ready += one.is_ready() ? 1 : 0;
  EXPECT_EQ(ready, 5u) << "one each, a tenth of a second apart";
}

// However late the store answers: what is claimed and not answered yet counts.
TEST_P(QueuePullRate, WorkersThatAskTogetherDoNotStartMoreThanTheRate) {
  Queue& queue = world.start(rate(10));
  fill(queue, 50);
  auto takes = workers(queue, 20, 1, milliseconds(0));
  for (int i = 0; i < 50; ++i) world.pass(milliseconds(1));
  EXPECT_EQ(world.stock("TAKEN"), 1u);
}

TEST_P(QueuePullRate, APauseSavesNoBurst) {
  Queue& queue = world.start(rate(10, 5));
  fill(queue, 50);
  ASSERT_EQ(take(queue, 50)->size(), 5u);
  const Actor actor;
  ASSERT_TRUE(world.wait(queue.pause({}, actor)));
  world.pass(milliseconds(10'000));
  ASSERT_TRUE(world.wait(queue.resume(Pause::Of::kQueue, {}, actor)));
  EXPECT_EQ(take(queue, 50)->size(), 1u);
  ASSERT_TRUE(world.wait(queue.pause({Pause::Of::kQueue, {}, {}, milliseconds(10'000)}, actor)));
  auto takes = workers(queue, 1, 50, milliseconds(60'000));
  world.pass(milliseconds(10'050));
  ASSERT_TRUE(takes[0].is_ready()) << "it ended by itself";
  EXPECT_EQ(takes[0].take()->size(), 1u);
}

TEST_P(QueuePullRate, ExplainSaysThatAPullWorkersTaskWaitsForTheRate) {
  Queue& queue = world.start(rate(0.1));
  create(queue, {"a", "b"});
  ASSERT_EQ(ids(take(queue)), "b");
  const auto explained = world.wait(queue.explain("a"));
  ASSERT_TRUE(explained);
  const auto is_rate = [](const Reason& reason) { return reason.code == "rate-limit"; };
  EXPECT_TRUE(std::any_of(explained->why.begin(), explained->why.end(), is_rate))
      << ::testing::PrintToString(sentences(*explained));
}

// One of those that wait looks at the rate; when it goes away, another one does.
TEST_P(QueuePullRate, AWaitingWorkerThatGoesAwayLeavesNobodyAsleep) {
  Queue& queue = world.start(rate(1));
  fill(queue, 20);
  ASSERT_EQ(take(queue, 1)->size(), 1u);
  auto watcher = workers(queue, 1, 1, milliseconds(60'000));
  auto takes = workers(queue, 3, 1, milliseconds(60'000));
  watcher.clear();  // It has looked at the rate, and its client hangs up.
  world.pass(milliseconds(3'400));
  size_t ready = 0;
  for (const auto& one : takes) ready += one.is_ready() ? 1 : 0;
  EXPECT_EQ(ready, 3u);
}

TEST_P(QueuePullRate, AWorkerWhoseTimeIsOverLeavesNobodyAsleep) {
  Queue& queue = world.start(rate(0.5));
  fill(queue, 20);
  ASSERT_EQ(take(queue, 1)->size(), 1u);
  auto first = workers(queue, 1, 1, milliseconds(500));
  auto second = workers(queue, 2, 1, milliseconds(60'000));
  world.pass(milliseconds(2'200));
  EXPECT_TRUE(first[0].take()->empty());
  EXPECT_EQ(second[0].is_ready() + second[1].is_ready(), 1);
  world.pass(milliseconds(2'000));
  EXPECT_TRUE(second[0].is_ready() && second[1].is_ready());
}

}  // namespace
}  // namespace freshet
