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
    QueryInput query = OwnedWorld::in_state("PENDING", limit);
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
  EXPECT_LE(calls_of(pending(0)), 6u) << "two reads for all that are not, and perhaps pages of the count";
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

struct CurrentItems : ::testing::Test {
  CurrentItems() { EXPECT_TRUE(world.wait(world.owned.describe_table("Things"))); }
  void put_by_another(const std::string& id, int64_t rank, const std::string& state = "PENDING",
                      const std::string& kind = "good") {
    PutItemInput put;
    put.table = "Things";
    put.item = OwnedWorld::thing(id, state, rank);
    put.item.set("kind", Value(kind));
    ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
  }
  OwnedWorld world{1, {}, milliseconds(500)};
};

TEST_F(CurrentItems, AnIndexThatHasAllAttributesIsNotTrustedEither) {
  for (int i = 0; i < 3; ++i) put_by_another("t" + std::to_string(i), i);
  world.pass(seconds(1));
  put_by_another("t2", 2, "TAKEN");
  QueryInput query = OwnedWorld::in_state("PENDING", 2);
  auto page = world.wait(world.owned.query(query));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.at(0).decode().string_or("id"), "t2") << "as the index still shows it";
  query.current_items = true;
  page = world.wait(world.owned.query(query));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 2u);
  EXPECT_EQ(page->items[0].decode().string_or("id"), "t1");
  EXPECT_EQ(page->items[1].decode().string_or("id"), "t0");
}

TEST_F(CurrentItems, WhatNoLongerFitsTheFilterIsLeftOut) {
  put_by_another("a", 1);
  put_by_another("b", 2);
  world.pass(seconds(1));
  put_by_another("b", 2, "PENDING", "bad");  // In the same place, and the index still shows what it was.
  QueryInput query = OwnedWorld::in_state("PENDING", 9);
  query.filter = "kind = :k";
  query.placeholders.values.set(":k", Value("good"));
  query.current_items = true;
  const auto page = world.wait(world.owned.query(std::move(query)));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].decode().string_or("id"), "a");
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

// An item may be forgotten while others of its page are read.
TEST_F(WholeItems, WhatIsForgottenDuringTheReadIsThere) {
  int forgotten = 0;
  for (int offset = 0; offset < 40; ++offset) {
    const std::string mine = "mine" + std::to_string(offset);
    const std::string other = "other" + std::to_string(offset);
    ASSERT_TRUE(world.create(mine, "PENDING", 2 * offset));
    put_by_another(other, 2 * offset + 1);
    world.pass(seconds(30) - milliseconds(offset));
    auto reading = world.owned.query(pending(2));
    for (int i = 0; i < 60 && !reading.is_ready(); ++i) {
      auto beside = world.owned.query(pending(1));  // It forgets what has been remembered for long enough.
      world.pass(milliseconds(1));
      forgotten += world.wait(std::move(beside)) ? 1 : 0;
    }
    const auto page = world.wait(std::move(reading));
    ASSERT_TRUE(page);
    ASSERT_EQ(page->items.size(), 2u) << offset;
    EXPECT_EQ(page->items[1].decode().string_or("id"), mine);
  }
  EXPECT_GT(forgotten, 0);
}

// A take of this process may take a task while another one still reads its page, and be done with it, too.
TEST_F(WholeItems, WhatMovesDuringTheReadIsNotThere) {
  for (int i = 0; i < 60; ++i) put_by_another("t" + std::to_string(i), i);
  int moved = 0;
  for (int offset = 0; offset < 40; ++offset) {
    const std::string first = "first" + std::to_string(offset);
    put_by_another(first, 1000 + offset);
    world.pass(seconds(1));
    const ItemRef seen = world.read(world.engine, first);
    auto reading = world.owned.query(pending(50));
    world.pass(milliseconds(offset));
    std::vector<EditItemInput> one{OwnedWorld::moving(seen, "TAKEN")};
    auto moving = world.owned.edit_many(std::move(one));
    while (!moving.is_ready()) world.pass(milliseconds(1));
    ASSERT_TRUE(moving.take()[0]);
    const bool is_over = reading.is_ready();
    const auto page = world.wait(std::move(reading));
    ASSERT_TRUE(page);
    if (is_over) continue;
    ++moved;
    EXPECT_NE(page->items.at(0).decode().string_or("id"), first) << offset;
  }
  EXPECT_GT(moved, 3);
}

// The engine judges a filter by what the index shows.
TEST_F(WholeItems, WhatNoLongerFitsTheFilterIsLeftOut) {
  TableDefinition table = world.wait(world.owned.describe_table("Things"))->definition;
  table.indexes[0].projection = Projection::kInclude;
  table.indexes[0].included = {"kind"};
  ASSERT_TRUE(world.wait(world.owned.alter_table(table)));
  ASSERT_TRUE(world.wait(world.owned.describe_table("Things")));
  const auto put = [&](const std::string& id, int64_t rank, const std::string& kind) {
    PutItemInput input;
    input.table = "Things";
    input.item = OwnedWorld::thing(id, "PENDING", rank);
    input.item.set("kind", Value(kind));
    ASSERT_TRUE(world.wait(world.engine.put_item(std::move(input))));
  };
  put("a", 1, "good");
  put("b", 2, "good");
  world.pass(seconds(1));
  put("b", 2, "bad");  // In the same place, and the index still shows what it was.
  QueryInput query = pending(9);
  query.filter = "kind = :k";
  query.placeholders.values.set(":k", Value("good"));
  EXPECT_EQ(read(query), "a= ");
  world.pass(seconds(1));
  EXPECT_EQ(read(query), "a= ");
}

TEST_F(WholeItems, OnlyThoseUpToABoundAreRead) {
  for (int i = 0; i < 4; ++i) put_by_another("t" + std::to_string(i), i);
  world.pass(seconds(1));
  QueryInput query = pending(9);
  query.forward = true;
  query.whole_up_to = 1;
  const auto page = world.wait(world.owned.query(std::move(query)));
  ASSERT_EQ(page->items.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(page->items[i].find("text").has_value(), i < 2) << i;
}

// A claim is under way: its answer must find the books as they were.
TEST_F(WholeItems, TheBooksAreRightAlthoughAPageComesBeforeTheAnswerOfAClaim) {
  for (int round = 0; round < 30; ++round) {
    const std::string id = "t" + std::to_string(round);
    put_by_another(id, round);
    world.pass(seconds(6));  // It is counted.
    std::vector<EditItemInput> one{OwnedWorld::moving(world.read(world.engine, id), "TAKEN")};
    auto claim = world.owned.edit_many(std::move(one));
    world.pass(milliseconds(round % 15));
    ASSERT_TRUE(world.wait(world.owned.query(pending(3))));
    ASSERT_TRUE(world.wait(std::move(claim))[0]);
    const auto books = world.wait(world.owned.books("Things"));
    EXPECT_EQ(books->stock.at("TAKEN"), static_cast<uint64_t>(round + 1));
    const auto pending_there = books->stock.find("PENDING");
    EXPECT_EQ(pending_there == books->stock.end() ? 0 : pending_there->second, 0u) << round;
  }
}

TEST_F(WholeItems, ALargePageIsCutAtAMegabyte) {
  std::string expected;
  for (int i = 0; i < 400; ++i) {
    PutItemInput put;
    put.table = "Things";
    put.item = OwnedWorld::thing("t" + std::to_string(i), "PENDING", i);
    put.item.set("text", Value(std::string(10'000, 'x')));
    ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
    expected.insert(0, "t" + std::to_string(i) + " ");
  }
  world.pass(seconds(1));
  std::string ids;
  int pages = 0;
  QueryInput query = pending(0);
  for (;;) {
    QueryInput next = query;
    const auto page = world.wait(world.owned.query(std::move(next)));
    ASSERT_TRUE(page);
    size_t bytes = 0;
    for (const auto& item : page->items) {
      bytes += item.encoded().size();
      ids += std::string(item.find("id")->bytes()) + " ";
    }
    EXPECT_LT(bytes, 2'200'000u);
    ++pages;
    if (page->last_evaluated_key.empty()) break;
    query.exclusive_start_key = page->last_evaluated_key;
  }
  EXPECT_EQ(ids, expected);
  EXPECT_GE(pages, 3);
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
