// A store whose disk has failed answers at once, always: whatever reads on must not hold the loop for it.
#include <unistd.h>

#include "tests/functions/world.h"
#include "tests/sim/sim_files.h"

namespace freshet {
namespace {

// A work that never ends cannot be caught any other way than by a signal, which ends this program.
class Alarm {
 public:
  Alarm() { alarm(60); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() { alarm(0); }
};

class FailedStoreTest : public ::testing::TestWithParam<bool> {
 protected:
  Alarm alarm_;
  SimFiles files{1};
  QueueWorld world{GetParam(), 1, &files};
};

INSTANTIATE_TEST_SUITE_P(Stores, FailedStoreTest, ::testing::Values(false, true),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

TEST_P(FailedStoreTest, AQueueThatFollowsItsTableGoesOnWithItsTurns) {
  Queue& queue = world.start();
  world.put_pending("a", world.now_ms());
  world.pass(seconds(1));
  ASSERT_EQ(world.status("a"), "PENDING");
  files.fail_sync(1);
  PutItemInput input;
  input.table = "QueueTable";
  input.item = Item{{"taskId", Value("b")}};
  auto put = world.wait(world.store->put_item(std::move(input)));
  world.pass(seconds(30));
  auto durable = world.wait(world.store->durable());
  ASSERT_FALSE(durable);
  EXPECT_EQ(durable.error().code, ErrorCode::kInternal);
  TakeInput take;
  take.max = 1;
  take.wait = milliseconds(50);
  EXPECT_FALSE(world.wait(queue.take(std::move(take)))) << "an error, not a wait without end";
}

}  // namespace
}  // namespace freshet
