// The adopter as a part by itself: no store, no loop.
#include "functions/queue/core/adopter.h"

#include <gtest/gtest.h>

#include "functions/queue/attributes.h"
#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kTable;
using fixed::kWall;

struct TestedAdopter {
  QueueSettings settings;
  Adopter adopter{kTable, settings};
};

Item adopted_item(std::string_view status) {
  Item out;
  out.set(attribute::kId, Value("t"));
  out.set(attribute::kStatus, Value(status));
  return out;
}

TEST(Adopter, APlainTaskLacksNothing) {
  TestedAdopter t;
  const auto task = ItemRef::encode(adopted_item(state::kPending));
  EXPECT_FALSE(t.adopter.needs_adoption(task, false));
  EXPECT_FALSE(t.adopter.adoption(task, false, ""));
  EXPECT_FALSE(t.adopter.times_for(task, true, kWall));
}

TEST(Adopter, ATaskGetsItsLaneAndItsKeyUnderWhatWasSeen) {
  TestedAdopter t;
  Item put = adopted_item(state::kPending);
  put.set(attribute::kKey, Value("k"));
  const auto task = ItemRef::encode(put);
  EXPECT_TRUE(t.adopter.needs_adoption(task, true));
  const auto write = t.adopter.adoption(task, true, "100##0");
  ASSERT_TRUE(write);
  EXPECT_EQ(write->update, "SET lane = :m, liveKey = :n");
  EXPECT_EQ(write->condition, "taskStatus = :s AND attribute_not_exists(lane) AND attribute_not_exists(liveKey)");
  EXPECT_EQ(t.adopter.adoption(task, true, "")->update, "SET liveKey = :n") << "there is no lane for it yet";
}

TEST(Adopter, ATaskThatAClientEndedLosesItsLaneAndItsKey) {
  TestedAdopter t;
  Item ended = adopted_item(state::kSuccess);
  ended.set(attribute::kKey, Value("k"));
  ended.set(attribute::kLiveKey, Value("k"));
  ended.set(attribute::kLane, Value("100##0"));
  const auto task = ItemRef::encode(ended);
  EXPECT_TRUE(t.adopter.needs_adoption(task, false));
  EXPECT_EQ(t.adopter.adoption(task, false, "")->update, " REMOVE lane, liveKey");
}

TEST(Adopter, ANewTaskGetsTheDefaultDeadlineAndAnEndedOneTheTimeThatItIsKept) {
  TestedAdopter t;
  t.settings.default_deadline = milliseconds(5000);
  const auto fresh = t.adopter.times_for(ItemRef::encode(adopted_item(state::kPending)), true, kWall);
  ASSERT_TRUE(fresh);
  ASSERT_EQ(fresh->edits.size(), 1u);
  EXPECT_EQ(fresh->edits[0].name, attribute::kDeadline);
  EXPECT_EQ(*fresh->edits[0].value, Value::number(1'005'000));
  EXPECT_FALSE(t.adopter.times_for(ItemRef::encode(adopted_item(state::kPending)), false, kWall)) << "it is not new";
  Item dated = adopted_item(state::kPending);
  dated.set(attribute::kDeadline, Value::number(7));
  EXPECT_FALSE(t.adopter.times_for(ItemRef::encode(dated), true, kWall)) << "it has one of its own";
  Item delayed = adopted_item(state::kDelayed);
  delayed.set(attribute::kNotBefore, Value::number(1'002'000));
  EXPECT_EQ(*t.adopter.times_for(ItemRef::encode(delayed), true, kWall)->edits[0].value, Value::number(1'007'000))
      << "from the end of its delay";
}

TEST(Adopter, OneWalkAtATimeAndAnotherOneIfSomethingWasLeft) {
  TestedAdopter t;
  EXPECT_FALSE(t.adopter.take_again());
  EXPECT_TRUE(t.adopter.begin_walk());
  EXPECT_FALSE(t.adopter.begin_walk());
  t.adopter.end_walk();
  EXPECT_TRUE(t.adopter.take_again()) << "somebody asked for it meanwhile";
  EXPECT_FALSE(t.adopter.take_again());
  t.adopter.try_again();
  EXPECT_TRUE(t.adopter.take_again());
}

}  // namespace
}  // namespace freshet
