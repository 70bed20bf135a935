// Queries for whole items of an index that does not have all attributes: those that this process remembers need no
// read, and those that have moved since are left out.
#include <gtest/gtest.h>

#include "tests/tables/owned/owned_fixture.h"

namespace freshet {
namespace {

class WholeItems : public ::testing::Test {
 protected:
  WholeItems() {
    TableDefinition table = world.wait(world.owned.describe_table("Things"))->definition;
    for (IndexDefinition& index : table.indexes) {
      index.projection = Projection::kKeysOnly;
      index.included.clear();
    }
    EXPECT_TRUE(world.wait(world.owned.alter_table(table)));
    EXPECT_TRUE(world.wait(world.owned.describe_table("Things")));
  }
  void put_by_another(const std::string& id, int64_t rank, const std::string& state = "PENDING") {
    PutItemInput put;
    put.table = "Things";
    put.item = OwnedWorld::thing(id, state, rank);
    put.item.set("text", Value("of " + id));
    ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
  }
  QueryInput pending(uint32_t limit, milliseconds may_be_old = {}) {
    QueryInput query;
    query.table = "Things";
    query.index = "by-state";
    query.key_condition = "#s = :s";
    query.placeholders.names = {{"#s", "state"}};
    query.placeholders.values.set(":s", Value("PENDING"));
    query.forward = false;
    query.limit = limit;
    query.whole_items = true;
    query.may_be_old = may_be_old;
    return query;
  }
  // "ID=text ", the newest first.
  std::string read(QueryInput query) {
    const auto page = world.wait(world.owned.query(std::move(query)));
    if (!page) return page.error().message;
    std::string out;
    for (const auto& item : page->items) {
      const Item whole = item.decode();
      out += std::string(whole.string_or("id")) + "=" + std::string(whole.string_or("text")) + " ";
      EXPECT_TRUE(whole.find("rev")) << "an attribute that is not in the index";
    }
    return out;
  }
  // Calls of the engine for one such read.
  uint64_t calls_of(const QueryInput& query) {
    const uint64_t before = world.engine.calls() + world.engine.index_queries();
    read(query);
    return world.engine.calls() + world.engine.index_queries() - before;
  }

  OwnedWorld world{1, {}, milliseconds(500)};
};

TEST_F(WholeItems, ComeFromTheTable) {
  put_by_another("a", 1);
  put_by_another("b", 2);
  world.pass(seconds(1));
  EXPECT_EQ(read(pending(9)), "b=of b a=of a ");
  EXPECT_EQ(read(pending(1)), "b=of b ");
  QueryInput narrow = pending(1);
  narrow.whole_items = false;
  const auto page = world.wait(world.owned.query(std::move(narrow)));
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_FALSE(page->items[0].find("text"));
}

TEST_F(WholeItems, AreNotReadIfTheyAreRemembered) {
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  world.pass(seconds(1));
  EXPECT_EQ(calls_of(pending(9)), 1u);
  for (int i = 2; i < 50; ++i) put_by_another("b" + std::to_string(i), i);
  world.pass(seconds(1));
  EXPECT_LE(calls_of(pending(0)), 3u) << "one read for all that are not, and perhaps a page of the count";
}

TEST_F(WholeItems, WhatHasMovedIsLeftOutAndOthersComeInItsPlace) {
  for (int i = 0; i < 5; ++i) put_by_another("t" + std::to_string(i), i);
  world.pass(seconds(1));
  put_by_another("t4", 4, "TAKEN");
  put_by_another("t2", 1000);  // It is newer now. The index shows it in its old place, and soon in the new one.
  DeleteItemInput gone;
  gone.table = "Things";
  gone.key = id_key("t1");
  ASSERT_TRUE(world.wait(world.engine.delete_item(std::move(gone))));
  EXPECT_EQ(read(pending(2)), "t3=of t3 t0=of t0 ");
  world.pass(seconds(1));
  EXPECT_EQ(read(pending(2)), "t2=of t2 t3=of t3 ");
}

TEST_F(WholeItems, APageOfAMomentAgoIsCompletedToo) {
  for (int i = 0; i < 5; ++i) put_by_another("t" + std::to_string(i), i);
  world.pass(seconds(1));
  EXPECT_EQ(read(pending(1, milliseconds(250))), "t4=of t4 ");
  ASSERT_TRUE(world.move(world.read(world.owned, "t4"), "TAKEN"));
  EXPECT_EQ(read(pending(1, milliseconds(250))), "t3=of t3 ");
  put_by_another("t3", 3, "TAKEN");
  EXPECT_EQ(read(pending(1, milliseconds(250))), "t2=of t2 ");
}

TEST_F(WholeItems, AreRefusedIfTheyCannotBeRead) {
  put_by_another("a", 1);
  world.pass(seconds(1));
  SimFaults faults;
  faults.refused = 1;
  world.engine.set_faults(faults);
  const auto page = world.wait(world.owned.query(pending(9)));
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, ErrorCode::kThroughputExceeded);
  world.engine.set_faults({});
  EXPECT_EQ(read(pending(9)), "a=of a ");
}

}  // namespace
}  // namespace freshet
