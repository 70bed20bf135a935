// Lanes as a part by itself: no store, no loop.
#include "functions/queue/core/lanes.h"

#include <gtest/gtest.h>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kTable;

struct TestedLanes {
  QueueSettings settings;
  Lanes lanes{kTable, settings};

  // As the queue does when the system table has taken the names.
  Result<void> add(std::vector<std::string> names) {
    const auto planned = lanes.plan(std::move(names));
    lanes.stored(planned);
    return planned.room;
  }
};

NewTask new_task(int priority, const std::string& group, const std::string& key = {}) {
  NewTask out;
  out.priority = priority;
  out.group = group;
  out.key = key;
  return out;
}

ItemRef pending(const std::string& group, const std::string& key = {}, const std::string& lane = {}) {
  Item item;
  item.set(attribute::kId, Value("t"));
  item.set(attribute::kStatus, Value(state::kPending));
  item.set(attribute::kCreated, Value::number(5000));
  if (!group.empty()) item.set(attribute::kGroup, Value(group));
  if (!key.empty()) item.set(attribute::kKey, Value(key));
  if (!lane.empty()) item.set(attribute::kLane, Value(lane));
  return ItemRef::encode(item);
}

TEST(Lanes, TheFirstTaskThatAsksForALaneGivesTheQueueLanes) {
  TestedLanes t;
  std::vector<NewTask> tasks{new_task(0, "")};
  std::vector<Result<CreatedTask>> out(2);
  EXPECT_TRUE(t.lanes.needed_by(tasks, out).empty()) << "a plain queue needs none";
  EXPECT_EQ(t.lanes.of_pending(pending("")), "");
  tasks.push_back(new_task(5, "a"));
  const auto names = t.lanes.needed_by(tasks, out);
  EXPECT_EQ(names, std::vector<std::string>{lane_name(5, "a")});
  const auto planned = t.lanes.plan(names);
  EXPECT_TRUE(planned.first);
  EXPECT_EQ(planned.stored, (std::set<std::string>{lane_name(0, ""), lane_name(5, "a")}));
  EXPECT_TRUE(t.lanes.empty()) << "they must be stored first";
  t.lanes.stored(planned);
  EXPECT_EQ(t.lanes.size(), 2u);
  EXPECT_EQ(t.lanes.of_new(tasks[1]), lane_name(5, "a"));
  out[1] = fail(ErrorCode::kValidation, "wrong");
  EXPECT_TRUE(t.lanes.needed_by(tasks, out).empty()) << "a refused task needs none";
}

TEST(Lanes, BeyondTheStoredNamesLanesAreOnlyInMemory) {
  TestedLanes t;
  std::vector<std::string> names;
  for (size_t i = 0; i < Lanes::kMostStored + 5; ++i) names.push_back(lane_name(0, "g" + std::to_string(i)));
  const auto planned = t.lanes.plan(names);
  EXPECT_EQ(planned.stored.size(), Lanes::kMostStored);
  EXPECT_EQ(planned.others.size(), 6u) << "with the lane of plain tasks";
  EXPECT_TRUE(planned.room);
  t.lanes.stored(planned);
  EXPECT_TRUE(t.lanes.plan({lane_name(3, "x")}).stored.empty());
  EXPECT_TRUE(t.lanes.contains(lane_name(3, "x"))) << "it needs no write, so it is there at once";
}

TEST(Lanes, BeyondTheBoundALaneIsRefusedAndTheOthersOfTheBatchAreNot) {
  TestedLanes t;
  std::vector<std::string> names;
  for (size_t i = 0; i < Lanes::kMost - 1; ++i) names.push_back(lane_name(0, "g" + std::to_string(i)));
  ASSERT_TRUE(t.add(std::move(names)));
  ASSERT_EQ(t.lanes.size(), Lanes::kMost);
  const auto refused = t.add({lane_name(0, "more")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimitExceeded);
  EXPECT_NE(refused.error().message.find("200000"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(t.add({key_lane_name(lane_name(0, ""), "k")})) << "a task with a key can do without a lane of its own";
  EXPECT_EQ(t.lanes.of_new(new_task(0, "more", "")), lane_name(0, "more"));
}

TEST(Lanes, WhileLimitsAreByKeyATaskWithAKeyHasALaneOfIt) {
  TestedLanes t;
  ASSERT_TRUE(t.add({lane_name(0, "a")}));
  const auto task = pending("a", "k", lane_name(0, "a"));
  EXPECT_EQ(t.lanes.asked_by(task), lane_name(0, "a"));
  EXPECT_FALSE(t.lanes.lacks(task));
  t.settings.limits.by_key = true;
  t.settings.limits.concurrency = 1;
  const auto of_key = key_lane_name(lane_name(0, "a"), "k");
  EXPECT_EQ(t.lanes.asked_by(task), of_key);
  EXPECT_TRUE(t.lanes.lacks(task)) << "it has the lane of its group";
  EXPECT_EQ(t.lanes.known_for(task), lane_name(0, "a")) << "until the queue has the other one";
  EXPECT_EQ(t.lanes.of_pending(task), of_key) << "a lane of a key need not be stored";
  EXPECT_EQ(t.lanes.known_for(task), of_key);
  EXPECT_EQ(t.lanes.of_new(new_task(0, "a", "other")), lane_name(0, "a")) << "the queue does not have that lane yet";
}

TEST(Lanes, ATaskOfALaneThatMustBeStoredIsAdoptedLater) {
  TestedLanes t;
  ASSERT_TRUE(t.add({lane_name(0, "a")}));
  EXPECT_EQ(t.lanes.of_pending(pending("b")), "");
  EXPECT_TRUE(t.lanes.lacks(pending("b")));
  EXPECT_EQ(t.lanes.known_for(pending("b")), lane_name(0, "")) << "the lane of all others";
}

TEST(Lanes, ThePlaceGoesByTheOrderOfTheQueue) {
  TestedLanes t;
  EXPECT_LT(t.lanes.place(2000, 0), t.lanes.place(1000, 0)) << "the newest first";
  t.settings.order = Order::kOldestFirst;
  EXPECT_LT(t.lanes.place(1000, 0), t.lanes.place(2000, 0));
  EXPECT_EQ(t.lanes.place_of(pending("")), 5000);
  t.settings.order = Order::kDeadline;
  EXPECT_LT(t.lanes.place(1000, 7000), t.lanes.place(1000, 8000));
  EXPECT_LT(t.lanes.place(1000, 8000), t.lanes.place(1000, 0)) << "a task without a deadline comes last";
}

TEST(Lanes, ALookAtEmptyLanesGoesRoundAndForgetsWhatStaysEmpty) {
  TestedLanes t;
  EXPECT_FALSE(t.lanes.may_check()) << "there are none";
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back(key_lane_name(lane_name(0, ""), "k" + std::to_string(i)));
  ASSERT_TRUE(t.add({lane_name(0, "")}));
  ASSERT_TRUE(t.add(names));
  for (const auto& name : names) t.lanes.shares().emptied(name);
  BootTime now(seconds(1));
  const auto look = [&] {
    EXPECT_TRUE(t.lanes.may_check());
    EXPECT_FALSE(t.lanes.may_check()) << "one look at a time";
    size_t looked = 0;
    for (auto next = t.lanes.next_to_check(looked); !next.empty(); next = t.lanes.next_to_check(looked)) {
      looked += next.size();
      for (auto& name : next) t.lanes.checked(std::move(name), false, now);
    }
    t.lanes.check_ended();
    return looked;
  };
  EXPECT_EQ(look(), 40u);
  now += Lanes::kForgotten;
  EXPECT_EQ(look(), 40u);
  EXPECT_EQ(t.lanes.size(), 1u) << "all others were empty for a minute";
}

}  // namespace
}  // namespace freshet
