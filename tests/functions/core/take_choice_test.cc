// Which pages a take reads, and what it chooses, without store and loop: the test answers each page itself.
#include "functions/queue/core/take_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kTable;
using testing::ElementsAre;

const std::string kLaneA = lane_name(0, "a");
const std::string kLaneB = lane_name(0, "b");

struct TestedChoice {
  QueueSettings settings;
  Random random{7};
  QueueCore core{kTable, settings, random, "node", "2"};
  Now now{WallTime(milliseconds(1'000'000)), BootTime(seconds(100)), WallTime(milliseconds(1'000'000)),
          WallTime(milliseconds(1'000'000)), false};
  std::vector<PageAsk> asked;
  std::map<std::string, std::vector<Page>> pages;  // By lane; "": of the queue. An empty page behind them.

  std::vector<std::string> run(TakeChoice& choice) {
    while (auto ask = choice.next(now)) {
      asked.push_back(*ask);
      auto& of_lane = pages[ask->lane];
      Page page;
      if (!of_lane.empty()) {
        page = std::move(of_lane.front());
        of_lane.erase(of_lane.begin());
      }
      choice.came(std::move(page), now);
    }
    std::vector<std::string> ids;
    for (const auto& task : choice.found().tasks) ids.emplace_back(text_of(task, attribute::kId));
    return ids;
  }
  std::vector<std::string> take(size_t wanted) {
    TakeChoice choice(core, settings, wanted, settings.order == Order::kDeadline, {});
    return run(choice);
  }
  void add_lanes(std::vector<std::string> names) {
    const auto planned = core.lanes.plan(std::move(names));
    core.lanes.stored(planned);
  }
};

ItemRef waiting_task(const std::string& id, const std::string& group = {}, int64_t deadline = 0) {
  Item item;
  item.set(attribute::kId, Value(id));
  item.set(attribute::kStatus, Value(state::kPending));
  item.set(attribute::kCreated, Value::number(999'000));
  if (!group.empty()) item.set(attribute::kGroup, Value(group));
  if (deadline > 0) item.set(attribute::kDeadline, Value::number(deadline));
  return ItemRef::encode(item);
}

Page page_of(std::vector<ItemRef> tasks, bool more = false) {
  Page page;
  page.items = std::move(tasks);
  if (more) page.last_evaluated_key.set("taskId", Value("there"));
  return page;
}

TEST(TakeChoice, OnePageOfTheNewestIsReadAndTheNextTakeGoesOnBehindIt) {
  TestedChoice t;
  t.pages[""] = {page_of({waiting_task("a"), waiting_task("b")}, true)};
  TakeChoice choice(t.core, t.settings, 2, false, {});
  EXPECT_THAT(t.run(choice), ElementsAre("a", "b"));
  ASSERT_EQ(t.asked.size(), 1u);
  EXPECT_EQ(t.asked[0].from, PageAsk::From::kNewest);
  EXPECT_EQ(t.asked[0].limit, 2u);
  EXPECT_TRUE(choice.found().more);
  EXPECT_TRUE(choice.found().newest_first);

  TakeChoice next(t.core, t.settings, 2, false, std::move(choice.found().next));
  EXPECT_THAT(t.run(next), ElementsAre());
  EXPECT_EQ(t.asked[1].walk.key.string_or("taskId"), "there");
  EXPECT_FALSE(next.found().more);
}

TEST(TakeChoice, TasksInFlightArePassedOverAndThePageIsLongerForThem) {
  TestedChoice t;
  t.core.claims.sent("a");
  t.pages[""] = {page_of({waiting_task("a"), waiting_task("b")})};
  EXPECT_THAT(t.take(1), ElementsAre("b"));
  EXPECT_EQ(t.asked[0].limit, 2u);
}

TEST(TakeChoice, ThePageAfterOneOfWhichNothingCanBeTakenIsLonger) {
  TestedChoice t;
  t.core.claims.sent("a");
  t.pages[""] = {page_of({waiting_task("a")}, true)};
  TakeChoice choice(t.core, t.settings, 1, false, {});
  EXPECT_THAT(t.run(choice), ElementsAre());
  TakeChoice next(t.core, t.settings, 1, false, std::move(choice.found().next));
  t.run(next);
  EXPECT_EQ(t.asked[1].limit, 4 * t.asked[0].limit);
}

TEST(TakeChoice, WhileTheClockIsDoubtedThePageIsAsLongAsItMayBe) {
  TestedChoice t;
  t.now.doubted = true;
  t.take(1);
  EXPECT_EQ(t.asked[0].limit, 1000u);
}

TEST(TakeChoice, ByDeadlineThePartsOfTheWalkFollowEachOther) {
  TestedChoice t;
  t.settings.order = Order::kDeadline;
  t.core.times.follow_order();
  t.pages[""] = {page_of({waiting_task("urgent", "", 1'100'000)})};
  TakeChoice choice(t.core, t.settings, 2, true, {});
  EXPECT_THAT(t.run(choice), ElementsAre("urgent"));
  EXPECT_EQ(t.asked[0].from, PageAsk::From::kDeadline);
  EXPECT_EQ(t.asked[0].walk.part, TaskWalk::Part::kEnough);
  EXPECT_TRUE(choice.found().more) << "there are two parts behind it";
  EXPECT_EQ(choice.found().next.part, TaskWalk::Part::kLess);
  TakeChoice less(t.core, t.settings, 2, true, std::move(choice.found().next));
  EXPECT_THAT(t.run(less), ElementsAre());
  EXPECT_EQ(less.found().next.part, TaskWalk::Part::kNoDeadline);
  t.pages[""] = {page_of({waiting_task("plain"), waiting_task("dated", "", 1'200'000)})};
  TakeChoice rest(t.core, t.settings, 2, true, std::move(less.found().next));
  EXPECT_THAT(t.run(rest), ElementsAre("plain"));
  EXPECT_FALSE(rest.found().more);
}

struct TestedLaneChoice : TestedChoice {
  TestedLaneChoice() {
    add_lanes({kLaneA, kLaneB});
    for (const auto& lane : {kLaneA, kLaneB}) core.lanes.filled_by_new(lane, 0);
  }
};

TEST(TakeChoice, LanesGiveInTurn) {
  TestedLaneChoice t;
  t.pages[kLaneA] = {page_of({waiting_task("a1", "a"), waiting_task("a2", "a")})};
  t.pages[kLaneB] = {page_of({waiting_task("b1", "b"), waiting_task("b2", "b")})};
  EXPECT_THAT(t.take(4), testing::UnorderedElementsAre("a1", "b1", "a2", "b2"));
  for (const auto& ask : t.asked) EXPECT_FALSE(ask.lane.empty());
}

TEST(TakeChoice, ALaneThatIsEmptyIsNotLookedAtAgain) {
  TestedLaneChoice t;
  t.pages[kLaneB] = {page_of({waiting_task("b1", "b")}), page_of({waiting_task("b2", "b")})};
  EXPECT_THAT(t.take(1), ElementsAre("b1"));
  t.asked.clear();
  EXPECT_THAT(t.take(1), ElementsAre("b2"));
  for (const auto& ask : t.asked) EXPECT_EQ(ask.lane, kLaneB);
}

TEST(TakeChoice, ALaneWhoseTasksArePassedOverIsReadFurther) {
  TestedLaneChoice t;
  t.core.claims.sent("a1");
  t.pages[kLaneA] = {page_of({waiting_task("a1", "a")}, true), page_of({waiting_task("a2", "a")})};
  EXPECT_THAT(t.take(2), ElementsAre("a2"));
}

TEST(TakeChoice, TheAdaptiveOrderIsToldHowOldTheOldestOfAllIs) {
  TestedLaneChoice t;
  t.settings.order = Order::kAdaptive;
  t.core.times.follow_order();
  t.pages[kLaneA] = {page_of({waiting_task("a1", "a")})};
  t.pages[""] = {page_of({waiting_task("b1", "b")})};
  TakeChoice adaptive(t.core, t.settings, 1, false, {});
  EXPECT_THAT(t.run(adaptive), ElementsAre("a1"));
  EXPECT_EQ(adaptive.found().oldest, 999'000);
  EXPECT_TRUE(t.asked.back().may_fail);
}

TEST(TakeChoice, ALookLeavesTheEndAsItIs) {
  TestedLaneChoice t;
  t.settings.order = Order::kAdaptive;
  t.core.times.follow_order();
  TakeChoice look(t.core, t.settings, 1, false, {}, TakeChoice::Purpose::kLook);
  t.run(look);
  t.now.boot += milliseconds(150);
  TakeChoice first(t.core, t.settings, 1, false, {});
  t.run(first);
  EXPECT_FALSE(first.found().newest_first) << "until the first take the queue counts as empty";
  t.now.boot += milliseconds(150);
  TakeChoice second(t.core, t.settings, 1, false, {});
  t.run(second);
  EXPECT_TRUE(second.found().newest_first);
}

TEST(TakeChoice, OldestFirstGoesFromTheOldestEnd) {
  TestedLaneChoice t;
  t.settings.order = Order::kOldestFirst;
  t.core.times.follow_order();
  t.pages[kLaneA] = {page_of({waiting_task("a1", "a")})};
  TakeChoice plain(t.core, t.settings, 1, false, {});
  t.run(plain);
  EXPECT_FALSE(plain.found().oldest) << "only ORDER=adaptive needs it";
  EXPECT_EQ(t.asked[0].from, PageAsk::From::kOldest);
}

TEST(WorkLook, PagesGrowUntilSomethingIsFound) {
  TestedChoice t;
  t.core.claims.sent("a");
  WorkLook look(t.core);
  auto first = look.next();
  ASSERT_TRUE(first);
  look.came(page_of({}, true), t.now);
  auto second = look.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->limit, 4 * first->limit);
  EXPECT_EQ(second->walk.key.string_or("taskId"), "there");
  look.came(page_of({waiting_task("b")}), t.now);
  EXPECT_FALSE(look.next());
  EXPECT_TRUE(look.found());
}

TEST(WorkLook, AnEmptyQueueHasNoWork) {
  TestedChoice t;
  WorkLook look(t.core);
  ASSERT_TRUE(look.next());
  look.came(page_of({}), t.now);
  EXPECT_FALSE(look.next());
  EXPECT_FALSE(look.found());
}

}  // namespace
}  // namespace freshet
