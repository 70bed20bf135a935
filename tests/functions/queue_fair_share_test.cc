// Shares of groups in a queue that one of them floods.
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class FairQueue : public QueueFixture {
 protected:
  void add(Queue& queue, const std::string& group, int count) {
    std::vector<NewTask> tasks(static_cast<size_t>(count));
    for (auto& task : tasks) {
      task.id = group + std::to_string(++created_);
      task.group = group;
    }
    for (auto& made : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(made) << made.error().message;
  }
  int created_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, FairQueue, ::testing::Bool(), store_name);

// One worker at a time: nothing is in work when the next task is taken.
TEST_P(FairQueue, OneSlotGoesRound) {
  auto& queue = world.start();
  add(queue, "loud", 100);
  add(queue, "b", 3);
  add(queue, "c", 3);
  std::map<std::string, int> got;
  for (int i = 0; i < 9; ++i) {
    auto taken = take(queue);
    ASSERT_EQ(taken->size(), 1u);
    ++got[std::string((*taken)[0].task.decode().string_or("group"))];
    ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
  }
  EXPECT_EQ(got, (std::map<std::string, int>{{"loud", 3}, {"b", 3}, {"c", 3}}));
  auto taken = take(queue, 5);
  EXPECT_EQ(taken->size(), 5u) << "what the others leave belongs to the loud one";
}

TEST_P(FairQueue, ATakeOfManyIsShared) {
  auto& queue = world.start();
  add(queue, "loud", 200);
  for (const auto* group : {"b", "c", "d"}) add(queue, group, 10);
  auto taken = take(queue, 20);
  std::map<std::string, int> got;
  for (const auto& task : *taken) ++got[std::string(task.task.decode().string_or("group"))];
  EXPECT_EQ(got, (std::map<std::string, int>{{"loud", 5}, {"b", 5}, {"c", 5}, {"d", 5}}));
}

// The store calls of 20 takes of one group, where this many other groups once had a task each.
uint64_t calls_of_takes(int others) {
  QueueWorld world(true);
  QueueSettings settings;
  settings.look_around = seconds(600);
  auto& queue = world.start(settings);
  const auto add = [&](const std::string& group, size_t count) {
    std::vector<NewTask> tasks(count);
    for (auto& task : tasks) task.group = group;
    for (auto& made : world.wait(queue.create(std::move(tasks)))) EXPECT_TRUE(made) << made.error().message;
  };
  const auto take = [&] { return world.wait(queue.take(TakeInput{})); };
  for (int i = 0; i < others; ++i) add("g" + std::to_string(i), 1);
  for (int i = 0; i < others; ++i) {
    auto taken = take();
    if (!taken || taken->size() != 1) {
      ADD_FAILURE() << "task " << i << " is not there";
      return 0;
    }
    std::vector<Settlement> done(1);
    done[0].kind = Settlement::Kind::kComplete;
    done[0].id = (*taken)[0].task.decode().string_or("taskId");
    done[0].lease = (*taken)[0].lease;
    EXPECT_TRUE(world.wait(queue.settle(std::move(done)))[0]);
  }
  EXPECT_EQ(take()->size(), 0u);
  add("again", 50);
  const auto before = world.store_calls();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(take()->size(), 1u);
  return world.store_calls() - before;
}

// The cost of a take must not grow with the groups that there are, only with those that turn out to be empty, once.
TEST(FairQueueCost, LanesThatAreEmptyAreNotLookedAtByTakes) {
  const auto few = calls_of_takes(2);
  const auto many = calls_of_takes(200);
  EXPECT_LE(many, few + 10) << "of 20 takes; one look at each empty lane would be 4,000 calls";
}

}  // namespace
}  // namespace freshet
