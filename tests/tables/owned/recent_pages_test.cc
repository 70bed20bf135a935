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
    QueryInput query = OwnedWorld::in_state("PENDING", limit);
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
  world.pass(kOld + milliseconds(10));
  EXPECT_EQ(heads(2), "* other t0 end");
}

TEST_F(PagesOfAMomentAgo, ANewOwnerBeginsWithoutThem) {
  create(0, 1);
  EXPECT_EQ(heads(1), "* t0 end");
  put_by_another("other", 5);
  world.owned.start_over("Things");
  EXPECT_EQ(heads(1), "* other more");
}

class KeptPages : public ::testing::Test {
 protected:
  static QueryInput query() {
    QueryInput out;
    out.table = "Things";
    out.may_be_old = kOld;
    return out;
  }
  static Page page_of(const std::string& id, uint64_t bytes = 100) {
    Page page;
    page.items.push_back(ItemRef::encode(OwnedWorld::thing(id, "PENDING", 1)));
    page.scanned_bytes = bytes;
    return page;
  }
  std::string kept(BootTime now) const {
    const auto* found = pages.find(query(), now);
    return found == nullptr ? "none" : std::string(found->page.items[0].find("id")->bytes());
  }
  static BootTime at(int64_t ms) { return BootTime(milliseconds(ms)); }

  RecentPages pages;
};

TEST_F(KeptPages, AnEarlierAnswerThatComesLateReplacesNothing) {
  pages.keep(query(), page_of("new"), at(20), 0);
  pages.keep(query(), page_of("old"), at(10), 0);
  EXPECT_EQ(kept(at(30)), "new");
  EXPECT_EQ(kept(at(270)), "new");
  EXPECT_EQ(kept(at(271)), "none");
}

TEST_F(KeptPages, APageThatWasUnderWayWhenTheTableWasForgottenIsNotKept) {
  pages.keep(query(), page_of("a"), at(10), pages.generation("Things"));
  const uint64_t asked = pages.generation("Things");
  pages.forget("Things");
  EXPECT_EQ(kept(at(20)), "none");
  pages.keep(query(), page_of("b"), at(15), asked);
  EXPECT_EQ(kept(at(20)), "none");
  pages.keep(query(), page_of("c"), at(25), pages.generation("Things"));
  EXPECT_EQ(kept(at(30)), "c");
}

TEST_F(KeptPages, AWidePageCostsNoMoreThanANarrowOne) {
  EXPECT_EQ(pages.wide_limit("Things", 1), 4u);
  pages.keep(query(), page_of("a", 300), at(10), 0);
  EXPECT_EQ(pages.wide_limit("Things", 1), 8u);
  EXPECT_EQ(pages.wide_limit("Things", 100), 100u);
  pages.keep(query(), page_of("a", 1500), at(20), 0);
  EXPECT_EQ(pages.wide_limit("Things", 1), 2u);
  pages.keep(query(), page_of("a", 50'000), at(30), 0);
  EXPECT_EQ(pages.wide_limit("Things", 1), 1u);
  EXPECT_EQ(kept(at(40)), "a");
  pages.keep(query(), page_of("b", 70'000), at(50), 0);
  EXPECT_EQ(kept(at(60)), "a") << "a page of more than 64 KiB is not kept";
}

}  // namespace
}  // namespace freshet
