// Queries that accept a page of a moment ago: when the engine is not asked again, and what such a page shows.
#include <gtest/gtest.h>

#include "tests/tables/owned/owned_fixture.h"

namespace freshet {
namespace {

constexpr milliseconds kOld{250};

class PagesOfAMomentAgo : public ::testing::Test {
 protected:
  // The first `limit` items, newest first; a star before them if the engine was asked.
  std::string heads(uint32_t limit, milliseconds may_be_old = kOld) {
    QueryInput query;
    query.table = "Things";
    query.index = "by-state";
    query.key_condition = "#s = :s";
    query.placeholders.names = {{"#s", "state"}};
    query.placeholders.values.set(":s", Value("PENDING"));
    query.forward = false;
    query.limit = limit;
    query.may_be_old = may_be_old;
    const uint64_t queries = world.engine.index_queries();
    const auto page = world.wait(world.owned.query(std::move(query)));
    std::string out = world.engine.index_queries() == queries ? "" : "* ";
    if (!page) return page.error().message;
    EXPECT_LE(page->items.size(), limit);
    for (const auto& item : page->items) out += std::string(item.find("id")->bytes()) + " ";
    return out + (page->last_evaluated_key.empty() ? "end" : "more");
  }
  // Past this process.
  void put_by_another(const std::string& id, int64_t rank) {
    PutItemInput put;
    put.table = "Things";
    put.item = OwnedWorld::thing(id, "PENDING", rank);
    ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
  }
  void create(int from, int to) {
    for (int i = from; i < to; ++i) ASSERT_TRUE(world.create("t" + std::to_string(i), "PENDING", i));
  }
  void take(const std::string& id) { ASSERT_TRUE(world.move(world.read(world.owned, id), "TAKEN")); }

  OwnedWorld world{1, {}, milliseconds(0)};
};

TEST_F(PagesOfAMomentAgo, OneQueryServesSeveralTakes) {
  create(0, 9);
  world.pass(seconds(1));
  EXPECT_EQ(heads(1), "* t8 more");
  for (const std::string id : {"t8", "t7", "t6"}) {
    take(id);
    EXPECT_EQ(heads(1), "t" + std::to_string(id[1] - '0' - 1) + " more");
  }
  take("t5");
  EXPECT_EQ(heads(1), "* t4 more") << "all items of the page are gone, and there are more behind it";
}

TEST_F(PagesOfAMomentAgo, OwnWritesShowAtOnce) {
  create(0, 3);
  world.pass(seconds(1));
  EXPECT_EQ(heads(2), "* t2 t1 more");
  create(3, 5);
  EXPECT_EQ(heads(2), "t4 t3 more");
  take("t4");
  take("t2");
  EXPECT_EQ(heads(4), "t3 t1 t0 end") << "the page has all that there was";
}

TEST_F(PagesOfAMomentAgo, OthersShowOnceThePageIsTooOld) {
  create(0, 1);
  world.pass(seconds(1));
  EXPECT_EQ(heads(2), "* t0 end");
  put_by_another("other", 5);
  EXPECT_EQ(heads(2), "t0 end");
  EXPECT_EQ(heads(2, milliseconds(0)), "* other t0 more") << "a query that accepts no such page asks the engine";
  EXPECT_EQ(heads(2), "* other t0 end") << "as it has shown that the page is out of date";
  put_by_another("another", 6);
  world.pass(kOld + milliseconds(10));
  EXPECT_EQ(heads(2), "* another other more");
}

TEST_F(PagesOfAMomentAgo, ANewOwnerBeginsWithoutThem) {
  create(0, 1);
  EXPECT_EQ(heads(1), "* t0 end");
  put_by_another("other", 5);
  world.owned.start_over("Things");
  EXPECT_EQ(heads(1), "* other more");
}

TEST_F(PagesOfAMomentAgo, AStreamThatShowsAChangeByAnotherEndsThem) {
  TableDefinition streamed = things();
  streamed.stream = StreamView::kKeysOnly;
  ASSERT_TRUE(world.wait(world.owned.alter_table(streamed)));
  create(0, 1);
  world.pass(seconds(1));
  EXPECT_EQ(heads(2), "* t0 end");
  ReadStreamInput read;
  read.table = "Things";
  auto page = world.wait(world.owned.read_stream(read));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(heads(2), "t0 end") << "the stream has shown own writes only";
  put_by_another("other", 5);
  world.pass(milliseconds(20));
  read.from = page->next;
  ASSERT_TRUE(world.wait(world.owned.read_stream(std::move(read))));
  EXPECT_EQ(heads(2), "* other t0 end");
}

}  // namespace
}  // namespace freshet
