// The names of lanes.
#include "functions/queue/policy/lanes.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(LaneNames, SortAsTheLanesAreServed) {
  EXPECT_EQ(lane_name(0, "eu"), "100#eu#0");
  EXPECT_EQ(lane_name(5, ""), "095##0");
  EXPECT_LT(lane_name(100, "z"), lane_name(99, "a"));
  EXPECT_LT(lane_name(1, "z"), lane_name(-1, "a"));
  EXPECT_EQ(lane_name(1'000, "a"), lane_name(100, "a")) << "priorities end there";
  EXPECT_EQ(lane_name(-1'000, "a"), "200#a#0");
}

TEST(LaneNames, ComeFromPriorityAndGroupOfTheTask) {
  EXPECT_FALSE(asks_for_lane(task({})));
  EXPECT_FALSE(asks_for_lane(task({{"priority", Value::number(0)}})));
  const ItemRef both = task({{"priority", Value::number(7)}, {"group", Value("eu")}});
  EXPECT_TRUE(asks_for_lane(both));
  EXPECT_EQ(lane_name(both), lane_name(7, "eu"));
  EXPECT_EQ(lane_level_name(both), lane_name(7, ""));
  EXPECT_TRUE(asks_for_lane(task({{"priority", Value::number(-1)}})));
  const auto of_group = [](size_t bytes) { return lane_name(task({{"group", Value(std::string(bytes, 'g'))}})); };
  EXPECT_EQ(of_group(kMaxGroupBytes), lane_name(0, std::string(kMaxGroupBytes, 'g')));
  EXPECT_EQ(of_group(kMaxGroupBytes + 1), lane_name(0, "")) << "a name that is too long counts as none";
}

TEST(LaneNames, GiveTheirPartsBack) {
  for (const std::string group : {"", "eu", "a#b", "#", "100"}) {
    const auto lane = lane_name(3, group);
    EXPECT_EQ(lane_level(lane), "097") << group;
    EXPECT_EQ(lane_group(lane), group);
    EXPECT_FALSE(is_key_lane(lane)) << group;
    EXPECT_EQ(share_of(lane), lane);
  }
}

TEST(LaneNames, HoldTheKeyWhereKeysHaveLanes) {
  const auto plain = lane_name(3, "a#b");
  for (const std::string key : {"k", "", "a#b", "100%", "%23", "%25#"}) {
    const auto lane = key_lane_name(plain, key);
    EXPECT_TRUE(is_key_lane(lane)) << key;
    EXPECT_EQ(lane_key(lane), key);
    EXPECT_EQ(lane_group(lane), "a#b") << key;
    EXPECT_EQ(share_of(lane), plain) << key;
  }
  EXPECT_NE(key_lane_name(plain, "#"), key_lane_name(plain, "%23"));
}

}  // namespace
}  // namespace freshet
