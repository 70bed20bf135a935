#include "base/detached.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "runtime/loop/sim_loop.h"

namespace freshet {
namespace {

struct DetachedTest : testing::Test {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  SimLoop scheduler{clock};
  int ended = 0;

  Async<int> work(milliseconds takes) {
    if (takes > milliseconds(0)) co_await sleep_for(scheduler, takes);
    co_return ++ended;
  }
};

TEST_F(DetachedTest, TheCallerGetsTheResult) {
  Detached detached{scheduler};
  auto quick = detached.run<int>([this] { return work(milliseconds(0)); });
  ASSERT_TRUE(quick.is_ready());
  EXPECT_EQ(quick.take(), 1);
  auto slow = detached.run<int>([this] { return work(milliseconds(10)); });
  EXPECT_FALSE(slow.is_ready());
  scheduler.run_for(milliseconds(20));
  ASSERT_TRUE(slow.is_ready());
  EXPECT_EQ(slow.take(), 2);
}

TEST_F(DetachedTest, WorkEndsThoughItsCallerGoesAwayAndKeepsItsThingsUntilThen) {
  Detached detached{scheduler};
  std::weak_ptr<int> watched;
  {
    const auto thing = std::make_shared<int>(1);
    watched = thing;
    const auto gone = detached.run<int>([this, thing] { return work(milliseconds(10)); });
  }
  EXPECT_FALSE(watched.expired());
  scheduler.run_for(milliseconds(20));
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(watched.expired());
}

TEST_F(DetachedTest, TheEndEndsWhatIsUnderWay) {
  std::optional<Detached> detached(std::in_place, scheduler);
  const auto waits = detached->run<int>([this] { return work(milliseconds(10)); });
  detached.reset();
  scheduler.run_for(milliseconds(20));
  EXPECT_EQ(ended, 0);
  EXPECT_FALSE(waits.is_ready());
}

}  // namespace
}  // namespace freshet
