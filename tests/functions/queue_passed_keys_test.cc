// Waiting tasks that may not start yet (paused, their key in work, at a limit) block no others, and are not queried
// again and again.
#include "tests/functions/queue_fixture.h"

#include "functions/queue/attributes.h"

namespace freshet {
namespace {

class QueuePassedKeys : public QueueFixture {
 protected:
  static QueueSettings limited(double rate, int concurrency = 0, bool by_key = false) {
    QueueSettings settings;
    settings.limits.rate = rate;
    settings.limits.concurrency = concurrency;
    settings.limits.by_key = by_key;
    return settings;
  }
  static NewTask of(const std::string& group, const std::string& id) {
    NewTask task;
    task.id = id;
    task.group = group;
    return task;
  }
  static NewTask keyed(const std::string& key, const std::string& id) {
    NewTask task;
    task.id = id;
    task.key = key;
    return task;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueuePassedKeys, ::testing::Bool(), store_name);

// Paused keys have lanes that nothing may be taken from. A take goes past them, and does not ask again and again.
TEST_P(QueuePassedKeys, ByKeyManyPausedKeysHoldUpNoOther) {
  auto settings = limited(0, 5, true);
  settings.look_around = milliseconds(60'000);
  auto& queue = world.start(settings);
  ASSERT_TRUE(create(queue, of("", "other")));
  for (int i = 0; i < 200; ++i) {
    const auto key = "k" + std::to_string(i);
    ASSERT_TRUE(create(queue, keyed(key, "of-" + key)));
    ASSERT_TRUE(world.wait(queue.pause({Pause::Of::kKey, key, {}, {}}, {})));
  }
  EXPECT_TRUE(*world.wait(queue.has_work()));
  EXPECT_EQ(ids(take(queue)), "other");
  const uint64_t before = world.store_calls();
  EXPECT_EQ(ids(take(queue, 1, milliseconds(5'000))), "");
  EXPECT_LE(world.store_calls() - before, 50u) << "nothing has come that may be taken";
  ASSERT_TRUE(world.wait(queue.resume(Pause::Of::kKey, "k7", {})));
  EXPECT_EQ(ids(take(queue)), "of-k7");
}

// The same of keys whose next task waits until the one in work has ended.
TEST_P(QueuePassedKeys, ByKeyManyKeysInWorkHoldUpNoOther) {
  auto settings = limited(0, 5, true);
  settings.look_around = milliseconds(60'000);
  auto& queue = world.start(settings);
  const auto renew = [&](const std::string& suffix) {
    for (int i = 0; i < 200; ++i) {
      const auto key = "k" + std::to_string(i);
      auto task = keyed(key, key + suffix);
      task.replace = true;
      ASSERT_TRUE(create(queue, task));
    }
  };
  renew("-old");
  auto held = take(queue, 200);
  ASSERT_EQ(held->size(), 200u);
  ASSERT_TRUE(create(queue, of("", "other")));
  renew("-new");
  EXPECT_EQ(ids(take(queue)), "other");
  const uint64_t before = world.store_calls();
  EXPECT_EQ(ids(take(queue, 1, milliseconds(5'000))), "");
  EXPECT_LE(world.store_calls() - before, 1'000u) << "a look at the keys in work now and then";
  ASSERT_TRUE(settle(queue, Kind::kComplete, held->at(0)));
  EXPECT_EQ(take(queue, 9)->size(), 1u);
}

// A queue before a limit of each group stands, although a take finds nothing more that may start.
TEST_P(QueuePassedKeys, BeforeALimitAnAdaptiveOrderSeesThatTheQueueStands) {
  auto settings = limited(1);
  settings.order = Order::kAdaptive;
  auto& queue = world.start(settings);
  world.pass(milliseconds(2'000));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(create(queue, of("a", "a" + std::to_string(i))));
    world.pass(milliseconds(1));
  }
  std::string order;
  for (int i = 0; i < 500; ++i) {
    auto taken = take(queue, 10);
    for (auto& one : *taken) {
      order.append(order.empty() ? "" : " ").append(text_of(one.task, attribute::kId));
      ASSERT_TRUE(settle(queue, Kind::kComplete, one));
    }
    world.pass(milliseconds(10));
  }
  EXPECT_EQ(order, "a0 a4 a3 a2 a1");
}

}  // namespace
}  // namespace freshet
