// The end of the queue that takes go from.
#include "functions/queue/policy/take_order.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(TakeOrder, AdaptiveGoesNewestFirstWhileTheQueueStands) {
  TakeOrder order(Order::kAdaptive);
  order.found_empty(boot_at(0));
  EXPECT_FALSE(order.newest_first(boot_at(50), kServiceUnknown));
  EXPECT_TRUE(order.newest_first(boot_at(100), kServiceUnknown));
  order.set(Order::kOldestFirst);
  EXPECT_FALSE(order.newest_first(boot_at(101), kServiceUnknown));
  order.set(Order::kNewestFirst);
  EXPECT_TRUE(order.newest_first(boot_at(102), kServiceUnknown));
}

}  // namespace
}  // namespace freshet
