// The work that alter_table leaves to later turns.
#include <map>

#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using AlterTest = DiskStoreTest;

Item key(const std::string& id) {
  return Item{{"id", Value(id)}};
}

// Books of a large table are opened in steps while writes go on. Power is lost at the n-th call to the files: what is
// there balances, and goes on to.
TEST_F(AlterTest, BooksAreOpenedInStepsAndBalanceWheneverPowerIsLost) {
  bool early = false;
  bool late = false;
  for (uint64_t n = 1; n <= 40; ++n) {
    SCOPED_TRACE("crash at call " + std::to_string(n));
    close();
    options.directory = "data-" + std::to_string(n);
    options.backfill_step = 10;
    options.segment_bytes = 4096;
    open();
    TableDefinition d = queue_definition();
    d.books.reset();
    create(d);
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i)));
    turn();
    d.books = BooksDefinition{"status", "TAKEN"};
    ASSERT_TRUE(now(store->alter_table(d)));
    files.crash_at(files.calls() + n);
    for (int i = 0; i < 60 && !files.crashed(); i += 7) {
      if (i % 2) {
        (void)update("Queue", key("t" + std::to_string(i)), "SET #st = :s", Map{{":s", Value("DONE")}});
      } else {
        (void)erase("Queue", key("t" + std::to_string(i)));
      }
      (void)put("Queue", task("n" + std::to_string(i), "PENDING", 100 + i));
      store->run_due();
      store->commit();
    }
    const bool opened = now(store->books("Queue")).has_value();
    (files.crashed() && !opened ? early : late) = true;
    files.crash_at(UINT64_MAX);
    close();
    files.restart();
    open();
    if (!now(store->describe_table("Queue"))->definition.books) continue;  // It was not durable.
    const auto check = [&] {
      std::map<std::string, uint64_t> stock;
      ScanInput scan;
      scan.table = "Queue";
      const auto page = now(store->scan(scan));
      for (const auto& item : page->items) ++stock[std::string(item.decode().string_or("status"))];
      EXPECT_EQ(books().stock, stock);
    };
    check();
    ASSERT_TRUE(put("Queue", task("more", "PENDING", 1)));
    turn();
    reopen();
    check();
  }
  EXPECT_TRUE(early) << "no crash came while the books were opened";
  EXPECT_TRUE(late) << "every crash came while the books were opened";
}

TEST_F(AlterTest, WhatAnAlteredTableNoLongerHasGoesInSteps) {
  options.backfill_step = 10;
  open();
  TableDefinition d = queue_definition();
  create(d);
  for (int i = 0; i < 95; ++i) {
    ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i, kNow + 1000)));
  }
  turn();
  const uint64_t before = store->stats().memory_bytes;
  d.indexes.clear();
  d.ttl_attribute.reset();
  ASSERT_TRUE(now(store->alter_table(d)));
  uint64_t last = store->stats().memory_bytes;
  EXPECT_GT(last + 2500, before) << "in the turn of the change only the definition became smaller";
  for (int step = 0; step < 19; ++step) {
    store->run_due();
    const uint64_t now_held = store->stats().memory_bytes;
    EXPECT_LE(now_held, last);
    EXPECT_LE(last - now_held, 10u * 40 + 512) << "entries, and the nodes that they leave empty";
    last = now_held;
  }
  EXPECT_LT(last + 2 * 95 * 24, before);
  store->run_due();
  store->commit();
  EXPECT_EQ(store->stats().memory_bytes, last);
  EXPECT_GT(store->next_due(), clock.boot()) << "nothing is left to give back";
  // And of a table that goes meanwhile.
  d = queue_definition();
  ASSERT_TRUE(now(store->alter_table(d)));
  turn();
  d.indexes.clear();
  ASSERT_TRUE(now(store->alter_table(d)));
  ASSERT_TRUE(now(store->delete_table("Queue")));
  turn();
}

}  // namespace
}  // namespace freshet
