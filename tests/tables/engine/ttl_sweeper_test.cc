// How the TTL sweep shares its steps out among tables.
#include "tables/engine/ttl_sweeper.h"

#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using TtlSweeperTest = DiskStoreTest;

// The first by name has more to remove than many steps can.
TEST_F(TtlSweeperTest, ABacklogOfOneTableLeavesTheOthersTheirTurn) {
  options.ttl_step = 10;
  open();
  for (const char* name : {"First", "Second", "Third"}) create(queue_definition(name));
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(put("First", task("a" + std::to_string(i), "PENDING", i, kNow + 1)));
  for (const char* name : {"Second", "Third"}) {
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(put(name, task("b" + std::to_string(i), "PENDING", i, kNow + 1)));
  }
  scheduler.run_for(milliseconds(500));
  clock.advance(milliseconds(600));
  for (int step = 0; step < 2; ++step) store->run_due();
  EXPECT_EQ(now(store->describe_table("First"))->items, 490u);
  EXPECT_EQ(now(store->describe_table("Second"))->items, 0u);
  EXPECT_EQ(now(store->describe_table("Third"))->items, 0u);
  store->run_due();
  EXPECT_EQ(now(store->describe_table("First"))->items, 480u);
}

}  // namespace
}  // namespace freshet
