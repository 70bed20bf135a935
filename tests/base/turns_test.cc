#include "base/turns.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/loop/sim_loop.h"

namespace freshet {
namespace {

struct TurnsTest : testing::Test {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  SimLoop scheduler{clock};
  Turns turns{scheduler};
  std::vector<std::string> done;

  Async<int> change(std::string name, milliseconds takes) {
    done.push_back(name + " begins");
    if (takes > milliseconds(0)) co_await sleep_for(scheduler, takes);
    done.push_back(name + " ends");
    co_return static_cast<int>(done.size());
  }
  Async<int> ask(const std::string& name, milliseconds takes) {
    return turns.run<int>([this, name, takes] { return change(name, takes); });
  }
};

TEST_F(TurnsTest, WhatIsReadyAtOnceWaitsForNobody) {
  auto first = ask("a", milliseconds(0));
  ASSERT_TRUE(first.is_ready());
  EXPECT_EQ(first.take(), 2);
  EXPECT_TRUE(ask("b", milliseconds(0)).is_ready()) << "the turn is over";
}

TEST_F(TurnsTest, ChangesDoNotOverlapAndKeepTheirOrder) {
  auto slow = ask("slow", milliseconds(20));
  auto quick = ask("quick", milliseconds(0));
  auto last = ask("last", milliseconds(5));
  EXPECT_FALSE(quick.is_ready());
  scheduler.run_for(milliseconds(100));
  ASSERT_TRUE(slow.is_ready() && quick.is_ready() && last.is_ready());
  EXPECT_EQ(done, (std::vector<std::string>{"slow begins", "slow ends", "quick begins", "quick ends", "last begins",
                                            "last ends"}));
  EXPECT_EQ(quick.take(), 4);
  EXPECT_TRUE(ask("after", milliseconds(0)).is_ready());
}

TEST_F(TurnsTest, ACallerThatGoesAwayTakesNothingBack) {
  {
    auto gone = ask("a", milliseconds(10));
    auto also = ask("b", milliseconds(10));
  }
  auto last = ask("c", milliseconds(0));
  scheduler.run_for(milliseconds(100));
  ASSERT_TRUE(last.is_ready());
  EXPECT_EQ(done.size(), 6u);
}

TEST_F(TurnsTest, AChangeMayAskForAnother) {
  std::optional<Async<int>> asked;
  auto outer = turns.run<int>([this, &asked] {
    asked.emplace(ask("inner", milliseconds(0)));
    return change("outer", milliseconds(0));
  });
  scheduler.run_for(milliseconds(1));
  ASSERT_TRUE(outer.is_ready() && asked->is_ready());
  EXPECT_EQ(done, (std::vector<std::string>{"outer begins", "outer ends", "inner begins", "inner ends"}));
}

}  // namespace
}  // namespace freshet
