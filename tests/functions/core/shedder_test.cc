// The shedder as a part by itself: no store, no loop.
#include "functions/queue/core/shedder.h"

#include <gtest/gtest.h>

#include "functions/queue/attributes.h"
#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kBoot;
using fixed::kRetry;
using fixed::kWall;

ItemRef pending(const std::string& id, int64_t deadline_ms) {
  Item item;
  item.set(attribute::kId, Value(id));
  item.set(attribute::kStatus, Value(state::kPending));
  item.set(attribute::kDeadline, Value::number(deadline_ms));
  return ItemRef::encode(item);
}

bool none_in_flight(const ItemRef&) {
  return false;
}

Shedder::Step begin(Shedder& shedder) {
  Shedder::Step step;
  step.began = kBoot;
  step.now = step.stale_at = kWall;
  shedder.begin(step);
  return step;
}

// Sheds what it can of one page that nothing follows; returns the ids.
std::string shed(Shedder& shedder, const std::vector<ItemRef>& page,
                 const std::function<bool(const ItemRef&)>& in_flight = none_in_flight) {
  std::string out;
  auto step = begin(shedder);
  shedder.next_start();
  shedder.page_came(step, page);
  size_t looked = 0;
  for (;;) {
    const auto alike = shedder.alike(step, page, looked, kBoot, false, in_flight);
    if (alike.tasks.empty()) break;
    EXPECT_EQ(alike.reason, "deadline");
    for (const auto& task : alike.tasks) {
      out += text_of(task, attribute::kId);
      Shedder::shed(step, task);
    }
  }
  shedder.page_done(step, looked, page.size(), {});
  shedder.pages_over(step);
  EXPECT_FALSE(shedder.goes_on(step, kBoot));
  shedder.end(step, kWall, kBoot, kRetry);
  return out;
}

TEST(Shedder, ShedsWhatIsLateAndComesBackForTheFirstThatHasTime) {
  Shedder shedder;
  EXPECT_TRUE(shedder.is_due(kWall, kBoot)) << "nothing is known at the start";
  EXPECT_EQ(shed(shedder, {pending("a", 999'000), pending("b", 1'000'000), pending("c", 1'004'000)}), "ab");
  EXPECT_FALSE(shedder.is_due(kWall, kBoot));
  EXPECT_EQ(shedder.next_look(kWall, kBoot), kBoot + milliseconds(4000));
  EXPECT_TRUE(shedder.is_due(kWall + milliseconds(4000), kBoot + milliseconds(4000)));
}

TEST(Shedder, WithoutDeadlinesItSleepsUntilATaskHasOne) {
  Shedder shedder;
  EXPECT_EQ(shed(shedder, {}), "");
  EXPECT_EQ(shedder.next_look(kWall, kBoot), BootTime::max());
  EXPECT_FALSE(shedder.due_by(0, {})) << "a deadline of 0 is none";
  EXPECT_FALSE(shedder.due_by(kNeverMs, {}));
  EXPECT_TRUE(shedder.due_by(1'060'000, {}));
  EXPECT_FALSE(shedder.due_by(1'070'000, {})) << "another one comes first";
  EXPECT_TRUE(shedder.due_by(1'060'000, milliseconds(10'000))) << "with a margin it is hopeless earlier";
  EXPECT_EQ(shedder.next_look(kWall, kBoot), kBoot + milliseconds(50'000));
}

TEST(Shedder, WhatIsInFlightIsPassedOverAndLookedAtAgain) {
  Shedder shedder;
  const auto in_flight = [](const ItemRef& task) { return text_of(task, attribute::kId) == "a"; };
  EXPECT_EQ(shed(shedder, {pending("a", 1'000), pending("b", 2'000)}, in_flight), "b");
  EXPECT_EQ(shedder.next_look(kWall, kBoot), kBoot + kRetry);
}

TEST(Shedder, ATaskThatBecomesUrgentDuringAStepIsNotForgotten) {
  Shedder shedder;
  shed(shedder, {});
  auto step = begin(shedder);
  EXPECT_TRUE(shedder.due_by(1'000'500, {}));
  shedder.page_came(step, {});
  shedder.page_done(step, 0, 0, {});
  shedder.end(step, kWall, kBoot, kRetry);
  EXPECT_EQ(shedder.next_look(kWall, kBoot), kBoot + milliseconds(500));
}

TEST(Shedder, AFailedPageIsTriedAgainLater) {
  Shedder shedder;
  auto step = begin(shedder);
  shedder.page_failed(step, kWall, kRetry);
  shedder.end(step, kWall, kBoot, kRetry);
  EXPECT_EQ(shedder.next_look(kWall, kBoot), kBoot + kRetry);
}

TEST(Shedder, AFullPageIsFollowedAfterARestAndManyWaitForALull) {
  Shedder shedder;
  EXPECT_FALSE(shedder.is_one_of_many());
  std::vector<ItemRef> page;
  for (uint32_t i = 0; i < ShedPace::kStep; ++i) page.push_back(pending("t", 1'000 + i));
  auto step = begin(shedder);
  shedder.page_came(step, page);
  size_t looked = 0;
  const auto alike = shedder.alike(step, page, looked, kBoot, false, none_in_flight);
  EXPECT_EQ(alike.tasks.size(), page.size()) << "nobody else waits: all at once";
  for (const auto& task : alike.tasks) Shedder::shed(step, task);
  Item end;
  end.set(attribute::kId, Value("t"));
  shedder.page_done(step, looked, page.size(), end);
  EXPECT_FALSE(shedder.goes_on(step, kBoot)) << "others are to have their turn";
  shedder.pages_over(step);
  EXPECT_TRUE(shedder.is_one_of_many());
  shedder.end(step, kWall, kBoot + milliseconds(1), kRetry);
  EXPECT_FALSE(shedder.is_due(kWall, kBoot + milliseconds(1)));
  EXPECT_TRUE(shedder.is_due(kWall, kBoot + milliseconds(1) + ShedPace::rest(milliseconds(1))));
  EXPECT_TRUE(shedder.next_start().empty()) << "what was shed is not in the way";
}

TEST(Shedder, WhileOthersWaitAStepEndsWithItsTime) {
  Shedder shedder;
  std::vector<ItemRef> page;
  for (size_t i = 0; i < 2 * ShedPace::kTogether; ++i) page.push_back(pending("t", 999'999));
  auto step = begin(shedder);
  step.others_wait = true;
  shedder.page_came(step, page);
  EXPECT_EQ(step.until, kBoot + ShedPace::lull(milliseconds(1)));
  size_t looked = 0;
  EXPECT_EQ(shedder.alike(step, page, looked, kBoot, false, none_in_flight).tasks.size(), ShedPace::kTogether);
  EXPECT_TRUE(shedder.alike(step, page, looked, step.until, false, none_in_flight).tasks.empty());
  shedder.page_done(step, looked, page.size(), {});
  EXPECT_TRUE(step.more);
  EXPECT_TRUE(shedder.goes_on(step, kBoot));
  EXPECT_FALSE(shedder.goes_on(step, step.until));
}

}  // namespace
}  // namespace freshet
