// Writes that the engine refuses, while others of the same item are under way: the books stay right.
#include <gtest/gtest.h>

#include "tests/tables/owned/owned_fixture.h"

namespace freshet {
namespace {

// The refusal shows the item as the other write has made it, perhaps before that one is answered.
TEST(OwnedTables, ARefusalBesideAWriteUnderWayLeavesTheBooksRight) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    OwnedWorld world(seed, {}, milliseconds(100));
    ASSERT_TRUE(world.create("a", "PENDING", 1));
    ASSERT_TRUE(world.create("other", "PENDING", 2));
    world.pass(seconds(60));  // They are forgotten.
    static_cast<void>(world.ids(world.owned, "PENDING"));
    DeleteItemInput gone;
    gone.table = "Things";
    gone.key = id_key("other");
    EXPECT_TRUE(world.wait(world.engine.delete_item(std::move(gone))));
    while (world.wait(world.owned.books("Things"))->stock.at("PENDING") == 2) world.pass(milliseconds(10));
    world.pass(milliseconds(1'500));  // Just counted: doubt has it counted at once, and else it takes 3 s.
    auto taken = world.owned.update_item(OwnedWorld::to_taken_if("a", "PENDING"));
    auto refused = world.owned.update_item(OwnedWorld::to_taken_if("a", "NOTHING"));
    static_cast<void>(world.wait(std::move(taken)));
    static_cast<void>(world.wait(std::move(refused)));
    world.pass(seconds(1));
    const auto books = world.wait(world.owned.books("Things"));
    ASSERT_TRUE(books);
    const auto in = [&](const char* state) {
      const auto found = books->stock.find(state);
      return found == books->stock.end() ? 0 : found->second;
    };
    EXPECT_EQ(in("TAKEN"), 1u);
    EXPECT_EQ(in("PENDING"), 0u);
  }
}

}  // namespace
}  // namespace freshet
