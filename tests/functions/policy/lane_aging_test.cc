// Which priority is next while waiting priorities age.
#include "functions/queue/policy/lane_aging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace freshet {
namespace {

using std::chrono::seconds;

constexpr std::string_view kHigh = "090";  // Priority 10.
constexpr std::string_view kLow = "100";   // Priority 0.
const std::vector<std::string_view> kBoth{kHigh, kLow};

BootTime second(int64_t number) {
  return BootTime(seconds(1'000 + number));
}

TEST(LaneAging, ALowPriorityStartsOncePerStepsBetweenThem) {
  LaneAging aging;
  std::vector<int64_t> low;
  for (int64_t now = 0; now <= 400; ++now) {
    const auto next = aging.next(kBoth, seconds(10), second(now));
    aging.served(next, second(now));
    if (next == kLow) low.push_back(now);
  }
  EXPECT_THAT(low, testing::ElementsAre(100, 200, 300, 400));
}

TEST(LaneAging, EachOfManyPrioritiesGetsItsStarts) {
  const std::vector<std::string_view> levels{"000", "050", "100", "200"};
  LaneAging aging;
  std::map<std::string_view, int> starts;
  for (int64_t now = 0; now < 10'000; ++now) {
    const auto next = aging.next(levels, seconds(5), second(now));
    aging.served(next, second(now));
    ++starts[next];
  }
  EXPECT_GE(starts["050"], 10'000 / (51 * 5));
  EXPECT_GE(starts["100"], 10'000 / (101 * 5));
  EXPECT_GE(starts["200"], 10'000 / (201 * 5));
  EXPECT_GT(starts["000"], 9'900);
}

TEST(LaneAging, AStartAndABeginningCountFromThenOn) {
  LaneAging aging;
  EXPECT_EQ(aging.next(kBoth, seconds(1), second(0)), kHigh);
  EXPECT_EQ(aging.steps(kLow, seconds(1), second(9)), 9);
  EXPECT_EQ(aging.next(kBoth, seconds(1), second(10)), kHigh) << "it has waited as long";
  aging.served(kHigh, second(10));
  EXPECT_EQ(aging.next(kBoth, seconds(1), second(10)), kLow) << "both count the same, and it has waited longer";
  aging.served(kLow, second(10));
  EXPECT_EQ(aging.steps(kLow, seconds(1), second(10)), 0);
  EXPECT_EQ(aging.next({kHigh}, seconds(1), second(15)), kHigh) << "low has no task which may start";
  aging.served(kHigh, second(15));
  EXPECT_EQ(aging.next(kBoth, seconds(1), second(19)), kHigh);
  aging.served(kHigh, second(20));
  EXPECT_EQ(aging.next(kBoth, seconds(1), second(20)), kLow) << "its steps were kept";
}

TEST(LaneAging, WhenNothingStartsAllAgeAlike) {
  LaneAging aging;
  EXPECT_EQ(aging.next(kBoth, seconds(1), second(0)), kHigh);
  EXPECT_EQ(aging.next(kBoth, seconds(1), second(5'000)), kHigh);
  const auto high_started = [](std::string_view level) { return level == kHigh; };
  EXPECT_EQ(aging.next(kBoth, seconds(1), second(5'000), high_started), kLow) << "later in the same take";
}

}  // namespace
}  // namespace freshet
