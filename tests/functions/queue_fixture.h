// Shared by tests of a queue on request: a world, and calls that wait for their answer.
#pragma once

#include "tests/functions/world.h"

namespace freshet {

class QueueFixture : public ::testing::TestWithParam<bool> {
 protected:
  using Kind = Settlement::Kind;

  QueueWorld world{GetParam()};

  Result<std::vector<TakenTask>> take(Queue& queue, int max = 1, milliseconds wait = milliseconds(0)) {
    TakeInput input;
    input.max = max;
    input.wait = wait;
    return world.wait(queue.take(input));
  }
  Result<ItemRef> settle(Queue& queue, Settlement settlement) {
    std::vector<Settlement> one;
    one.push_back(std::move(settlement));
    return world.wait(queue.settle(std::move(one)))[0];
  }
  Result<ItemRef> settle(Queue& queue, Kind kind, const TakenTask& task) {
    return settle(queue, settlement(kind, task));
  }
  Result<CreatedTask> create(Queue& queue, NewTask task) {
    std::vector<NewTask> one;
    one.push_back(std::move(task));
    return world.wait(queue.create(std::move(one)))[0];
  }
  void create(Queue& queue, std::initializer_list<const char*> names) {
    for (auto& created : world.wait(queue.create(named(names)))) ASSERT_TRUE(created) << created.error().message;
  }
  void expect_balance() {
    auto balanced = check_balance(world.books());
    EXPECT_TRUE(balanced) << balanced.error().message;
  }
};

// Names the store: the embedded one, which answers at once, or one that answers late and out of step.
inline std::string store_name(const ::testing::TestParamInfo<bool>& store) {
  return store.param ? "late" : "embedded";
}

}  // namespace freshet
