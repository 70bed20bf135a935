// CONCURRENCY=adaptive in the processor.
#include "tests/functions/processor_fixture.h"

namespace freshet {
namespace {

class AdaptiveProcessor : public ProcessorTest {};

INSTANTIATE_TEST_SUITE_P(Stores, AdaptiveProcessor, ::testing::Values(false, true),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

TEST_P(AdaptiveProcessor, GrowsAndIsSwitchedWhileItWorks) {
  environment["CONCURRENCY"] = "adaptive";
  environment["CONCURRENCY_MAX"] = "12";
  environment["MAX_ACTIVE_MS"] = "40000";
  Queue& queue = start();
  std::vector<NewTask> tasks(8'000);
  for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created) << created.error().message;
  world.http.duration = milliseconds(100);  // Many times what a late store takes.
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(500));
  EXPECT_LE(world.http.most_in_work, 4) << "it begins with one";
  for (int i = 0; i < 25 && world.http.most_in_work < 12; ++i) world.pass(seconds(1));
  EXPECT_EQ(world.http.most_in_work, 12) << "the handler takes whatever comes";
  ASSERT_TRUE(queue.downstream().concurrency);
  ASSERT_TRUE(queue.change_policy({{"CONCURRENCY", "3"}}));
  world.pass(seconds(1));
  world.http.most_in_work = 0;
  world.pass(seconds(2));
  EXPECT_EQ(world.http.most_in_work, 3) << "in the run under way";
  EXPECT_FALSE(queue.downstream().concurrency);
  ASSERT_TRUE(queue.change_policy({{"CONCURRENCY", "adaptive"}, {"CONCURRENCY_MIN", "2"}}));
  world.pass(seconds(2));
  EXPECT_TRUE(queue.downstream().concurrency);
  ASSERT_TRUE(running.outcome(world));
  world.pass(milliseconds(200));  // Tasks that the run left in work end now.
  EXPECT_EQ(queue.downstream().busy, 0u);
  EXPECT_EQ(queue.downstream().left, 0u);
  EXPECT_EQ(queue.downstream().concurrency->in_work(), 0u);
  EXPECT_EQ(world.stock("TAKEN"), 0u);
  EXPECT_EQ(world.http.requests.size(), world.stock("SUCCESS")) << "each was started once";
}

// In a fleet: the daemon that served the queue before still has tasks in work.
TEST_P(AdaptiveProcessor, TasksInWorkElsewhereCountAgainstTheLimit) {
  environment["CONCURRENCY"] = "3";
  environment["MAX_ACTIVE_MS"] = "60000";
  Queue& queue = start();
  size_t elsewhere = 3;
  queue.set_left_elsewhere([&elsewhere] { return elsewhere; });
  create(queue, {"a", "b", "c", "d", "e", "f"});
  world.http.duration = milliseconds(1'000);
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(3'000));
  EXPECT_EQ(order(), "") << "the limit is used up";
  elsewhere = 2;
  world.pass(milliseconds(2'500));
  EXPECT_EQ(world.http.most_in_work, 1);
  elsewhere = 0;
  world.pass(milliseconds(600));
  EXPECT_EQ(world.http.most_in_work, 3) << "nobody has to notify it";
  world.pass(milliseconds(5'000));
  EXPECT_EQ(order(), "f e d c b a");
  EXPECT_EQ(world.http.most_in_work, 3);
}

}  // namespace
}  // namespace freshet
