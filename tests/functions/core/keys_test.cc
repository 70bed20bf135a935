// Keys as a part by itself: no store, no loop.
#include "functions/queue/core/keys.h"

#include <gtest/gtest.h>

#include "functions/queue/attributes.h"

namespace freshet {
namespace {

ItemRef keyed_task(const std::string& id, std::string_view status, bool replace = false) {
  Item item;
  item.set(attribute::kId, Value(id));
  item.set(attribute::kStatus, Value(status));
  item.set(attribute::kLiveKey, Value("k"));
  if (replace) item.set(attribute::kReplace, Value::boolean(true));
  return ItemRef::encode(item);
}

TEST(Keys, ATaskThatReplacesOthersWaitsWhileOneOfItsKeyIsInWork) {
  Keys keys;
  const ItemRef plain = keyed_task("a", state::kPending);
  const ItemRef latest = keyed_task("b", state::kPending, true);
  EXPECT_TRUE(keys.idle());
  EXPECT_FALSE(keys.passes_over(latest, "k", false)) << "nothing of its key is in work";
  EXPECT_TRUE(keys.passes_over(latest, "k", true)) << "a task is held under a lease";
  EXPECT_FALSE(keys.passes_over(plain, "k", true)) << "it replaces nothing";
  EXPECT_FALSE(keys.passes_over(latest, "", true)) << "it has no key";

  keys.claim_sent("k");
  keys.claim_sent("k");
  EXPECT_FALSE(keys.idle());
  EXPECT_TRUE(keys.passes_over(latest, "k", false)) << "a claim is in flight";
  keys.claim_answered("k");
  EXPECT_TRUE(keys.passes_over(latest, "k", false)) << "another claim is in flight";
  keys.claim_answered("k");
  EXPECT_FALSE(keys.passes_over(latest, "k", false));

  keys.look_began("k");
  EXPECT_TRUE(keys.is_looked_at("k"));
  EXPECT_TRUE(keys.passes_over(latest, "k", false)) << "a create looks at the key";
  keys.look_ended("k");
  EXPECT_TRUE(keys.idle());
}

TEST(Keys, AFreedKeyIsToldOnceAndOnlyIfATakePassedItOver) {
  Keys keys;
  EXPECT_FALSE(keys.freed("k"));
  EXPECT_TRUE(keys.passes_over(keyed_task("b", state::kPending, true), "k", true));
  EXPECT_EQ(keys.passed(), 1u);
  EXPECT_FALSE(keys.freed("other"));
  EXPECT_TRUE(keys.freed("k"));
  EXPECT_FALSE(keys.freed("k"));
  keys.passed_over("k");
  keys.table_lost();
  EXPECT_FALSE(keys.freed("k")) << "the table is gone, and nothing waits in it";
}

TEST(Keys, AReplacementEndsWhatWaitsAndMarksWhatIsInWork) {
  const WallTime now(milliseconds(1'000));
  const auto waits = Keys::replacement("t", keyed_task("a", state::kPending), "b", {}, now, now);
  ASSERT_TRUE(waits);
  EXPECT_EQ(text_of(waits->seen, attribute::kId), "a");
  const auto sets = [](const EditItemInput& write, std::string_view name) -> std::string {
    for (const auto& edit : write.edits) {
      if (edit.name == name && edit.value && edit.value->is(Type::kString)) return *edit.value->get_if<std::string>();
    }
    return {};
  };
  EXPECT_EQ(sets(*waits, attribute::kStatus), state::kCancelled);
  EXPECT_EQ(sets(*waits, attribute::kReplacedBy), "b");

  const auto held = Keys::replacement("t", keyed_task("a", state::kTaken), "b", {}, now, now);
  ASSERT_TRUE(held);
  EXPECT_EQ(sets(*held, attribute::kStatus), state::kTaken) << "it goes on";
  EXPECT_EQ(sets(*held, attribute::kReplacedBy), "b");

  EXPECT_FALSE(Keys::replacement("t", keyed_task("b", state::kPending), "b", {}, now, now))
      << "it is the newest itself";
  Item marked = keyed_task("a", state::kTaken).decode();
  marked.set(attribute::kReplacedBy, Value("x"));
  EXPECT_FALSE(Keys::replacement("t", ItemRef::encode(marked), "b", {}, now, now)) << "it is marked already";
}

TEST(Keys, WhatTheStoreRefusedToEndIsPassedOverUntilItHasEnded) {
  Keys keys;
  Unreplaced left{"new"};
  EXPECT_EQ(Keys::refused(keyed_task("old", state::kPending), ErrorCode::kConditionalCheckFailed, left),
            Replaced::kMoved);
  EXPECT_EQ(Keys::refused(keyed_task("older", state::kPending), ErrorCode::kThroughputExceeded, left),
            Replaced::kRefused);
  keys.not_replaced("k", left);
  EXPECT_TRUE(keys.is_replaced(keyed_task("old", state::kPending), "k"));
  EXPECT_TRUE(keys.passes_over(keyed_task("older", state::kPending), "k", false));
  EXPECT_FALSE(keys.passes_over(keyed_task("new", state::kPending, true), "k", false));
  EXPECT_FALSE(keys.is_replaced(keyed_task("later", state::kPending), "k")) << "it was not there to be replaced";
  EXPECT_EQ(keys.replacing("k"), "new");
  EXPECT_EQ(keys.unreplaced_keys(), std::vector<std::string>{"k"});

  EXPECT_TRUE(keys.may_replace_again());
  EXPECT_FALSE(keys.may_replace_again()) << "one attempt at a time";
  keys.replaced_again();
  EXPECT_TRUE(keys.all_replaced("k"));
  EXPECT_FALSE(keys.all_replaced("k"));
  EXPECT_TRUE(keys.freed("k"));
  EXPECT_FALSE(keys.may_replace_again()) << "nothing is left";
}

TEST(Keys, WhereTheStoreDidNotSayWhichAllOthersOfTheKeyAreToEnd) {
  Keys keys;
  Unreplaced left{"new"};
  left.all = true;
  keys.not_replaced("k", left);
  EXPECT_TRUE(keys.is_replaced(keyed_task("any", state::kPending), "k"));
  EXPECT_FALSE(keys.is_replaced(keyed_task("new", state::kPending), "k"));
}

TEST(Keys, ATaskThatEndsByItselfIsNotToBeReplacedAnyMore) {
  Keys keys;
  keys.not_replaced("k", {"new", {"a", "b"}});
  EXPECT_FALSE(keys.has_ended(keyed_task("other", state::kDead), "k"));
  EXPECT_FALSE(keys.has_ended(keyed_task("a", state::kCancelled), "k")) << "the other one is left";
  EXPECT_FALSE(keys.is_replaced(keyed_task("a", state::kPending), "k"));
  EXPECT_TRUE(keys.is_replaced(keyed_task("b", state::kPending), "k"));
  EXPECT_TRUE(keys.has_ended(keyed_task("b", state::kCancelled), "k"));
  EXPECT_TRUE(keys.idle());
  Unreplaced left{"new"};
  left.all = true;
  keys.not_replaced("k", left);
  EXPECT_FALSE(keys.has_ended(keyed_task("a", state::kCancelled), "k")) << "nobody knows which are left";
  EXPECT_FALSE(keys.is_replaced(keyed_task("a", state::kPending), "k"));
  EXPECT_TRUE(keys.is_replaced(keyed_task("b", state::kPending), "k"));
}

}  // namespace
}  // namespace freshet
