// The memory of recent writes is full: what waits, what is refused, and what goes on.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tables/owned/owned_fixture.h"

namespace freshet {
namespace {

constexpr size_t kLittle = 3000;

class OwnedRoom : public ::testing::Test {
 protected:
  // Creates until one is refused.
  void fill() {
    Result<WriteOutput> last;
    for (int i = 0; i < 100 && last; ++i) last = world_.create("fill" + std::to_string(i), "PENDING", 100 + i);
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().code, ErrorCode::kThroughputExceeded);
  }
  Async<void> create_later(std::string id, size_t bytes = 0) {
    PutItemInput put;
    put.table = "Things";
    put.item = OwnedWorld::thing(id, "PENDING", 1);
    if (bytes > 0) put.item.set("payload", Value(std::string(bytes, 'x')));
    put.only_new = true;
    const auto answer = co_await world_.owned.put_item(std::move(put));
    ++(answer ? made_ : refused_);
    if (answer) order_ += id + " ";
  }

  OwnedWorld world_{1, {}, seconds(4), kLittle};
  int made_ = 0;
  int refused_ = 0;
  std::string order_;  // The ids of those that were made.
};

TEST_F(OwnedRoom, WorkInHandCanBeEndedWithoutRoom) {
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) {
    ASSERT_TRUE(world_.create(id, "PENDING", 1));
    world_.pass(seconds(40));
  }
  fill();
  const BootTime began = world_.clock.boot();
  EXPECT_TRUE(world_.move(world_.read(world_.owned, "a"), "DONE"));
  EXPECT_LT(world_.clock.boot() - began, seconds(1)) << "creates leave room for it";
  UpdateItemInput beat;
  beat.table = "Things";
  beat.key = id_key("b");
  beat.update = "SET rev = rev + :one";
  beat.placeholders.values.set(":one", Value::number(1));
  EXPECT_TRUE(world_.wait(world_.owned.update_item(std::move(beat))));
  EXPECT_TRUE(world_.remove("c"));
  for (const char* id : {"d", "e", "f"}) EXPECT_TRUE(world_.move(world_.read(world_.owned, id), "DONE")) << id;
  EXPECT_EQ(world_.ids(world_.owned, "DONE"), world_.ids(*world_.store, "DONE"));
}

TEST_F(OwnedRoom, WritesThatAreUnderWayTakeRoom) {
  uint64_t most = 0;
  Scope scope;
  for (int i = 0; i < 40; ++i) scope.spawn(create_later("t" + std::to_string(i)));
  for (int i = 0; i < 3000; ++i) {
    world_.pass(milliseconds(1));
    most = std::max(most, world_.owned.memory_bytes());
  }
  EXPECT_GT(made_, 1);
  EXPECT_GT(refused_, 20);
  EXPECT_EQ(made_ + refused_, 40);
  EXPECT_LE(most, kLittle);
}

TEST_F(OwnedRoom, SmallCreatesDoNotPassALargeOneThatWaits) {
  Result<WriteOutput> last;
  // Full, of writes that may be forgotten one after the other.
  for (int i = 0; i < 100 && last; ++i) {
    last = world_.create("fill" + std::to_string(i), "PENDING", 100 + i);
    world_.pass(milliseconds(200));
  }
  ASSERT_FALSE(last);
  world_.pass(milliseconds(1000));
  Scope scope;
  scope.spawn(create_later("large", 200));
  for (int i = 0; i < 60; ++i) {
    scope.spawn(create_later("s" + std::to_string(i)));
    world_.pass(milliseconds(50));
  }
  EXPECT_EQ(order_.substr(0, order_.find(' ')), "large") << order_;
  EXPECT_GT(made_, 1);
}

TEST_F(OwnedRoom, WhatAClientHasChangedMakesNothingWait) {
  ASSERT_TRUE(world_.create("a", "PENDING", 1));
  world_.pass(seconds(5));
  DeleteItemInput gone;
  gone.table = "Things";
  gone.key = id_key("a");
  ASSERT_TRUE(world_.wait(world_.engine.delete_item(std::move(gone))));
  world_.pass(seconds(15));
  EXPECT_EQ(world_.ids(world_.owned, "PENDING"), "a ");
  fill();
  world_.pass(seconds(6));
  EXPECT_TRUE(world_.create("one more", "PENDING", 2)) << "the index has not lagged by 20 s";
}

}  // namespace
}  // namespace freshet
