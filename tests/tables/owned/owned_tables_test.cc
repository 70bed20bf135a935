// An engine with lagging indexes and lost answers, made exact for the process that writes its tables.
#include "tables/owned/owned_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/tables/owned/owned_fixture.h"

namespace freshet {
namespace {

constexpr milliseconds kLag{1500};

TEST(OwnedTables, SaysWhatItAdds) {
  OwnedWorld world(1, {}, kLag);
  EXPECT_FALSE(world.engine.traits().has(Trait::kExactIndex));
  EXPECT_FALSE(world.engine.traits().has(Trait::kBooks));
  EXPECT_TRUE(world.owned.traits().has(Trait::kExactIndex));
  EXPECT_TRUE(world.owned.traits().has(Trait::kBooks));
  EXPECT_FALSE(world.owned.traits().has(Trait::kPromptTtl));
}

TEST(OwnedTables, AnIndexShowsAWriteOnceItIsAnswered) {
  OwnedWorld world(1, {}, kLag);
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  ASSERT_TRUE(world.create("b", "PENDING", 2));
  EXPECT_EQ(world.ids(world.engine, "PENDING"), "") << "the engine's own index lags";
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "b a ");
  EXPECT_EQ(world.ids(world.owned, "PENDING", true), "a b ");
  world.pass(2 * kLag);
  EXPECT_EQ(world.ids(world.engine, "PENDING"), "b a ");
  ASSERT_TRUE(world.move(world.read(world.owned, "b"), "TAKEN"));
  EXPECT_EQ(world.ids(world.engine, "PENDING"), "b a ");
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "a ");
  EXPECT_EQ(world.ids(world.owned, "TAKEN"), "b ");
  ASSERT_TRUE(world.remove("a"));
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "");
}

// Otherwise a queue that looks at that moment passes a task over that is due.
TEST(OwnedTables, AWriteWithoutAnAnswerLeavesNoDoubtIfALaterOneOvertookIt) {
  OwnedWorld world(1, {}, seconds(10));
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  const ItemRef seen = world.read(world.owned, "a");
  SimFaults silent;
  silent.lost_before = 1;
  silent.timeout = seconds(3);
  world.engine.set_faults(silent);
  std::vector<EditItemInput> one{OwnedWorld::moving(seen, "SUCCESS")};
  auto lost = world.owned.edit_many(std::move(one));
  world.pass(milliseconds(100));
  world.engine.set_faults({});
  ASSERT_TRUE(world.move(seen, "TAKEN"));
  ASSERT_EQ(world.wait(std::move(lost))[0].error().code, ErrorCode::kUnknownOutcome);
  QueryInput query = OwnedWorld::in_state("TAKEN", 10);
  auto page = world.wait(world.owned.query(std::move(query)));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.size(), 1u);
}

TEST(OwnedTables, AShortPageIsFilledFromBehindWhatHasMoved) {
  OwnedWorld world(1, {}, kLag);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(world.create("t" + std::to_string(i), "PENDING", i));
  world.pass(2 * kLag);
  for (int i = 39; i >= 10; --i) ASSERT_TRUE(world.move(world.read(world.owned, "t" + std::to_string(i)), "TAKEN"));
  const QueryInput query = OwnedWorld::in_state("PENDING", 10);
  auto page = world.wait(world.owned.query(query));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 10u) << "all 30 in front of them are passed over by one call";
  EXPECT_EQ(page->items[0].find("id")->bytes(), "t9");
}

TEST(OwnedTables, AClientsChangeIsKnownOnceAWriteIsRefused) {
  OwnedWorld world(1, {}, kLag);
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  const ItemRef seen = world.read(world.owned, "a");
  // Past this process.
  PutItemInput put;
  put.table = "Things";
  put.item = OwnedWorld::thing("a", "CANCELLED", 1);
  ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
  world.pass(2 * kLag);
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "a ") << "its own write is the newest that it knows of";
  const auto refused = world.move(seen, "TAKEN");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConditionalCheckFailed);
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "");
  EXPECT_EQ(world.ids(world.owned, "CANCELLED"), "a ");
}

TEST(OwnedTables, AClientsDeleteIsKnownOnceAWriteIsRefused) {
  OwnedWorld world(1, {}, kLag);
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  const ItemRef seen = world.read(world.owned, "a");
  DeleteItemInput gone;
  gone.table = "Things";
  gone.key = id_key("a");
  ASSERT_TRUE(world.wait(world.engine.delete_item(std::move(gone))));
  world.pass(2 * kLag);
  ASSERT_FALSE(world.move(seen, "TAKEN"));
  world.pass(milliseconds(100));
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "");
}

TEST(OwnedTables, AClientsChangeIsKnownOnceAnUpdateIsRefused) {
  OwnedWorld world(1, {}, kLag);
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  PutItemInput put;
  put.table = "Things";
  put.item = OwnedWorld::thing("a", "CANCELLED", 1);
  ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
  UpdateItemInput update = OwnedWorld::to_taken_if("a", "PENDING");
  ASSERT_FALSE(world.wait(world.owned.update_item(std::move(update))));
  world.pass(milliseconds(100));
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "");
  EXPECT_EQ(world.ids(world.owned, "CANCELLED"), "a ");
}

TEST(OwnedTables, ForgetsWhatIndexesHaveShownForLong) {
  OwnedWorld world(1, {}, kLag);
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  // Past this process, long afterwards: the index is right, and what was remembered is not.
  world.pass(seconds(31));
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "a ");
  PutItemInput put;
  put.table = "Things";
  put.item = OwnedWorld::thing("a", "CANCELLED", 1);
  ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
  world.pass(2 * kLag);
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "");
}

TEST(OwnedTables, CountsWhatIsThereAndFollowsItsWrites) {
  OwnedWorld world(1, {}, kLag);
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  ASSERT_TRUE(world.create("b", "PENDING", 2));
  ASSERT_TRUE(world.move(world.read(world.owned, "b"), "TAKEN"));
  auto books = world.wait(world.owned.books("Things"));
  ASSERT_TRUE(books) << books.error().message;
  EXPECT_EQ(books->stock["PENDING"], 1u);
  EXPECT_EQ(books->stock["TAKEN"], 1u);
  EXPECT_EQ((books->flow[{"PENDING", "TAKEN", Cause::kQueue}]), 1u);
  EXPECT_TRUE(world.owned.is_counted("Things"));
  // A client's, which is found as soon as the queue takes it.
  PutItemInput put;
  put.table = "Things";
  put.item = OwnedWorld::thing("c", "PENDING", 3);
  ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
  world.pass(2 * kLag);
  ASSERT_TRUE(world.move(world.read(world.owned, "c"), "TAKEN"));
  ASSERT_TRUE(world.move(world.read(world.owned, "a"), "TAKEN"));
  world.pass(seconds(10));
  books = world.wait(world.owned.books("Things"));
  EXPECT_EQ(books->stock["PENDING"], 0u);
  EXPECT_EQ(books->stock["TAKEN"], 3u);
  EXPECT_TRUE(check_balance(*books));
}

TEST(OwnedTables, NumbersAreStatesAsInTheStoresOwnBooks) {
  OwnedWorld world(1, {}, kLag);
  TableDefinition numbered = things();
  numbered.name = "Numbered";
  numbered.books = BooksDefinition{"rank", ""};
  ASSERT_TRUE(world.wait(world.owned.create_table(numbered)));
  for (const int64_t rank : {2, 2, 1000}) {
    PutItemInput put;
    put.table = "Numbered";
    put.item = OwnedWorld::thing("t" + std::to_string(world.random.below(1000)), "PENDING", rank);
    ASSERT_TRUE(world.wait(world.owned.put_item(std::move(put))));
  }
  const auto books = world.wait(world.owned.books("Numbered"));
  ASSERT_TRUE(books);
  EXPECT_EQ(books->stock.at("2"), 2u);
  EXPECT_EQ(books->stock.at("?"), 1u) << "larger than the store counts by itself";
}

TEST(OwnedTables, WhatOthersRemoveIsFoundByTheNextCount) {
  OwnedWorld world(1, {}, kLag);
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  ASSERT_TRUE(world.create("b", "PENDING", 2));
  world.pass(seconds(6));
  DeleteItemInput gone;
  gone.table = "Things";
  gone.key = id_key("a");
  ASSERT_TRUE(world.wait(world.engine.delete_item(std::move(gone))));
  world.pass(seconds(12));
  const auto books = world.wait(world.owned.books("Things"));
  EXPECT_EQ(books->stock.at("PENDING"), 1u) << "nothing here could raise doubt";
}

TEST(OwnedTables, ARefusalDoesNotMoveWhatOnlyALaggingIndexShowed) {
  OwnedWorld world(1, {}, kLag);
  const ItemRef seen = ItemRef::encode(OwnedWorld::thing("x", "PENDING", 1));
  PutItemInput put;
  put.table = "Things";
  put.item = OwnedWorld::thing("x", "TAKEN", 1, 1);
  ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
  world.pass(seconds(12));
  ASSERT_FALSE(world.move(seen, "TAKEN")) << "it is taken already";
  const auto books = world.wait(world.owned.books("Things"));
  EXPECT_EQ(books->stock.at("TAKEN"), 1u);
  EXPECT_FALSE(books->stock.contains("PENDING") && books->stock.at("PENDING") > 0);
}

TEST(OwnedTables, AnIndexThatIsFarBehindIsReportedUntilItHasCaughtUp) {
  OwnedWorld world(1, {}, seconds(900));
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "a ");
  for (int i = 0; i < 85; ++i) {
    world.pass(seconds(10));
    ASSERT_EQ(world.ids(world.owned, "PENDING"), "a ") << "remembered as long as the index lacks it";
    EXPECT_EQ(world.owned.trouble().empty(), i < 6) << i;
  }
  EXPECT_EQ(world.owned.trouble(),
            "index 'by-state' of table 'Things' is far behind: the engine has not shown a write in it for more than a "
            "minute\n");
  world.pass(seconds(200));
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "a ");
  EXPECT_EQ(world.owned.trouble(), "");
}

TEST(OwnedTables, ADaemonThatOwnsATableAgainStartsOver) {
  OwnedWorld world(1, {}, milliseconds(50));
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  ASSERT_TRUE(world.create("b", "PENDING", 2));
  world.pass(seconds(1));
  for (const char* id : {"a", "b"}) {
    std::vector<EditItemInput> done{OwnedWorld::moving(world.read(*world.store, id), "SUCCESS")};
    ASSERT_TRUE(world.wait(world.engine.edit_many(std::move(done)))[0]);
  }
  world.pass(milliseconds(100));
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "b a ") << "as this process remembers them";
  world.owned.start_over("Things");
  EXPECT_FALSE(world.owned.is_counted("Things"));
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "");
  world.pass(seconds(2));
  EXPECT_TRUE(world.owned.is_counted("Things"));
  const auto books = world.wait(world.owned.books("Things"));
  ASSERT_TRUE(books);
  EXPECT_EQ(books->stock.at("SUCCESS"), 2u);
}

TEST(OwnedTables, WhatAClientHasChangedIsNoLag) {
  OwnedWorld world(1, {}, milliseconds(1500));
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  world.pass(seconds(5));
  DeleteItemInput gone;
  gone.table = "Things";
  gone.key = id_key("a");
  ASSERT_TRUE(world.wait(world.engine.delete_item(std::move(gone))));
  for (int i = 0; i < 10; ++i) {
    world.pass(seconds(10));
    static_cast<void>(world.ids(world.owned, "PENDING"));
    EXPECT_EQ(world.owned.trouble(), "");
  }
  EXPECT_EQ(world.ids(world.owned, "PENDING"), "");
}

TEST(OwnedTables, AClientsChangeIsHiddenForHalfAMinuteAtMost) {
  OwnedWorld world(1, {}, milliseconds(100));
  ASSERT_TRUE(world.create("a", "PENDING", 1));
  const BootTime written = world.clock.boot();
  world.pass(seconds(14));
  PutItemInput put;
  put.table = "Things";
  put.item = OwnedWorld::thing("a", "CANCELLED", 1);
  ASSERT_TRUE(world.wait(world.engine.put_item(std::move(put))));
  while (world.ids(world.owned, "PENDING") != "") {
    world.pass(milliseconds(500));
    ASSERT_LE(world.clock.boot() - written, seconds(30));
  }
  EXPECT_EQ(world.ids(world.owned, "CANCELLED"), "a ");
}

TEST(OwnedTables, ARefusedUpdateIsNoReasonToCountTheTable) {
  OwnedWorld world(1, {}, milliseconds(100));
  for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(world.create(id, "PENDING", 1));
  const auto remove_and_wait = [&](const char* id, nanoseconds time) {
    DeleteItemInput gone;
    gone.table = "Things";
    gone.key = id_key(id);
    EXPECT_TRUE(world.wait(world.engine.delete_item(std::move(gone))));
    world.pass(time);
    return world.wait(world.owned.books("Things"))->stock.at("PENDING");
  };
  world.pass(seconds(60));
  static_cast<void>(world.ids(world.owned, "PENDING"));
  for (uint64_t left = remove_and_wait("a", seconds(0)); left == 4;) {
    world.pass(milliseconds(10));
    left = world.wait(world.owned.books("Things"))->stock.at("PENDING");
  }
  world.pass(milliseconds(1500));  // Just counted: doubt has it counted at once, and else it takes 3 s.
  for (const char* id : {"b", "c"}) {
    UpdateItemInput update = OwnedWorld::to_taken_if(id, "TAKEN");
    EXPECT_FALSE(world.wait(world.owned.update_item(std::move(update))));
  }
  EXPECT_EQ(remove_and_wait("d", seconds(1)), 3u);
  EXPECT_EQ(remove_and_wait("d", seconds(5)), 2u);
}

class Recent : public ::testing::Test {
 protected:
  Recent() { writes_.know(things(), "an id"); }

  static Item key(const std::string& id) { return id_key(id); }
  static ItemRef thing(const std::string& id, const char* state, int64_t rank, int64_t rev = 0) {
    return ItemRef::encode(OwnedWorld::thing(id, state, rank, rev));
  }
  bool wrote(const std::string& id, ItemRef now) {
    return writes_.wrote("Things", key(id), std::move(now), writes_.begin_call(), BootTime{});
  }
  static std::string ids(const Page& page) {
    std::string out;
    for (const auto& item : page.items) out += std::string(item.find("id")->bytes()) + " ";
    return out;
  }
  // The engine shows these, and goes on behind the last one if `more`.
  Page corrected(std::vector<ItemRef> shown, bool more, uint32_t limit = 0, BootTime at = BootTime{}) {
    QueryInput query;
    query.table = "Things";
    query.index = "by-state";
    query.key_condition = "#s = :s";
    query.placeholders.names = {{"#s", "state"}};
    query.placeholders.values.set(":s", Value("PENDING"));
    query.limit = limit;
    Page page;
    page.items = std::move(shown);
    if (more) page.last_evaluated_key = page.items.back().decode();
    if (more) page.last_evaluated_key.erase("rev");
    size_t masked = 0;
    return writes_.corrected(query, std::move(page), at, masked);
  }

  OwnedWorld world_{1, {}, milliseconds(0)};
  RecentWrites writes_{*world_.memory, "rev", {}};
};

// DynamoDB promises no order of items with equal sort keys.
TEST_F(Recent, NothingIsLostAmongEqualSortKeysWhateverTheirOrder) {
  ASSERT_TRUE(wrote("m", thing("m", "PENDING", 5)));
  const Page cut = corrected({thing("z", "PENDING", 5), thing("a", "PENDING", 5)}, true);
  EXPECT_THAT(ids(cut), ::testing::HasSubstr("z ")) << "the page after this one begins behind a";
  EXPECT_THAT(ids(cut), ::testing::HasSubstr("a "));
  EXPECT_EQ(cut.last_evaluated_key.string_or("id"), "a");
  const Page limited = corrected({thing("z", "PENDING", 5), thing("a", "PENDING", 5)}, false, 1);
  EXPECT_EQ(limited.items.size(), 3u) << "a cut between them could lose one";
  EXPECT_TRUE(limited.last_evaluated_key.empty());
}

TEST_F(Recent, ALimitCutsBetweenSortKeys) {
  ASSERT_TRUE(wrote("m", thing("m", "PENDING", 5)));
  const Page page = corrected({thing("a", "PENDING", 1), thing("b", "PENDING", 9)}, true, 2);
  EXPECT_EQ(ids(page), "a m ");
  EXPECT_EQ(page.last_evaluated_key.string_or("id"), "m");
}

TEST_F(Recent, AReadThatBeganBeforeALostWriteTellsNothing) {
  ASSERT_TRUE(wrote("x", thing("x", "PENDING", 1, 1)));
  const uint64_t read = writes_.begin_call();
  writes_.begin_call();
  writes_.unsure("Things", key("x"), thing("x", "PENDING", 1, 1), Cause::kQueue, BootTime{});
  writes_.read("Things", key("x"), thing("x", "PENDING", 1, 1), read, BootTime{});
  EXPECT_TRUE(writes_.cause_of_unsure("Things", key("x")));
  EXPECT_EQ(ids(corrected({}, false)), "") << "the index shows it as it likes";
  writes_.read("Things", key("x"), thing("x", "TAKEN", 1, 2), writes_.begin_call(), BootTime{});
  EXPECT_FALSE(writes_.cause_of_unsure("Things", key("x")));
}

TEST_F(Recent, AnIndexThatLacksAWriteWithoutAnAnswerIsNotFarBehindAtOnce) {
  const BootTime at(seconds(1000));
  const ItemRef thing_x = thing("x", "PENDING", 1, 1);
  writes_.unsure("Things", key("x"), thing_x, Cause::kQueue, at);
  writes_.read("Things", key("x"), thing_x, writes_.begin_call(), at + seconds(1));
  EXPECT_EQ(ids(corrected({}, false, 0, at + seconds(2))), "x ");
  EXPECT_TRUE(writes_.take_doubts().empty());
}

TEST_F(Recent, OverlappingWritesAreOrderedByTheirVersionOrNotAtAll) {
  const uint64_t claim = writes_.begin_call();
  const uint64_t end = writes_.begin_call();
  ASSERT_TRUE(writes_.wrote("Things", key("x"), thing("x", "DONE", 1, 2), end, BootTime{}));
  ASSERT_TRUE(writes_.wrote("Things", key("x"), thing("x", "TAKEN", 1, 1), claim, BootTime{}));
  EXPECT_EQ(writes_.find("Things", key("x"))->find("state")->bytes(), "DONE") << "its answer came first";
  const uint64_t put = writes_.begin_call();
  const uint64_t gone = writes_.begin_call();
  ASSERT_TRUE(writes_.wrote("Things", key("y"), thing("y", "PENDING", 1), put, BootTime{}));
  EXPECT_FALSE(writes_.wrote("Things", key("y"), ItemRef(), gone, BootTime{})) << "which came last?";
}

TEST_F(Recent, AnotherTableOfThatNameHasNothingOfTheOldOne) {
  ASSERT_TRUE(wrote("x", thing("x", "PENDING", 1)));
  writes_.know(things(), "an id");
  EXPECT_EQ(ids(corrected({}, false)), "x ");
  writes_.know(things(), "another id");
  EXPECT_EQ(ids(corrected({}, false)), "");
  EXPECT_EQ(writes_.size(), 0u);
}

class Full : public Recent {
 protected:
  Full() {
    writes_.know(things(), "an id");
    for (int i = 0; i < 10; ++i) {
      const std::string id = "t" + std::to_string(i);
      EXPECT_TRUE(writes_.wrote("Things", key(id), thing(id, "PENDING", i), writes_.begin_call(), BootTime{}));
    }
  }
  bool knows(const char* id) const { return writes_.find("Things", key(id)).has_value(); }

  static RecentWritesLimits limits() {
    RecentWritesLimits out;
    out.bytes = 2000;
    return out;
  }
  RecentWrites writes_{*world_.memory, "rev", limits()};
};

TEST_F(Full, NothingIsForgottenBeforeIndexesHadTimeToShowIt) {
  EXPECT_EQ(writes_.size(), 10u);
  EXPECT_FALSE(writes_.make_room(BootTime(seconds(4))));
  EXPECT_EQ(writes_.size(), 10u);
  EXPECT_TRUE(writes_.make_room(BootTime(seconds(6))));
  EXPECT_LT(writes_.size(), 5u);
  EXPECT_GT(writes_.size(), 2u);
  EXPECT_LT(writes_.bytes(), 2000u);
  EXPECT_TRUE(knows("t9"));
  EXPECT_FALSE(knows("t0")) << "the oldest first";
}

TEST_F(Full, AnIndexThatLagsMoreGetsMoreTime) {
  QueryInput query;
  query.table = "Things";
  query.index = "by-state";
  query.key_condition = "#s = :s";
  query.placeholders.names = {{"#s", "state"}};
  query.placeholders.values.set(":s", Value("PENDING"));
  size_t masked = 0;
  EXPECT_EQ(writes_.corrected(query, Page(), BootTime(seconds(4)), masked).items.size(), 10u)
      << "it shows none of them";
  const auto doubts = writes_.take_doubts();
  ASSERT_EQ(doubts.size(), 1u) << "one tells enough";
  writes_.lagged(doubts[0].lag, BootTime(seconds(4)));
  EXPECT_FALSE(writes_.make_room(BootTime(seconds(7)))) << "8 s are needed";
  EXPECT_FALSE(writes_.make_room(BootTime(seconds(33)))) << "those that were missing are kept for 30 s more";
  EXPECT_TRUE(writes_.make_room(BootTime(seconds(35))));
}

TEST_F(Full, AnOldLagIsForgottenAlthoughTheIndexStillLagsALittle) {
  writes_.lagged(seconds(14), BootTime(seconds(1)));
  EXPECT_FALSE(writes_.make_room(BootTime(seconds(20)))) << "28 s are needed";
  EXPECT_TRUE(writes_.make_room(BootTime(seconds(29))));
  for (int at = 100; at <= 1900; at += 100) writes_.lagged(seconds(1), BootTime(seconds(at)));
  const BootTime later(seconds(2000));
  for (int i = 0; i < 10; ++i) {
    const std::string id = "u" + std::to_string(i);
    ASSERT_TRUE(writes_.wrote("Things", key(id), thing(id, "PENDING", i), writes_.begin_call(), later));
  }
  EXPECT_TRUE(writes_.make_room(later + seconds(6)));
}

TEST(OwnedTables, WithoutRoomWritesWaitAndAreRefusedAndNothingIsWrong) {
  OwnedWorld world(1, {}, milliseconds(4000), 3000);
  Result<WriteOutput> last;
  int made = 0;
  const BootTime began = world.clock.boot();
  for (; made < 100 && last; ++made) last = world.create("t" + std::to_string(made), "PENDING", made);
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, ErrorCode::kThroughputExceeded);
  EXPECT_GE(world.clock.boot() - began, seconds(2)) << "it has waited";
  EXPECT_LE(world.owned.memory_bytes(), 4000u);
  EXPECT_EQ(world.ids(world.owned, "PENDING"), world.ids(*world.store, "PENDING"));
  EXPECT_TRUE(world.move(world.read(world.owned, "t0"), "TAKEN")) << "it is remembered already";
  world.pass(seconds(5));
  EXPECT_TRUE(world.create("one more", "PENDING", 1000));
  EXPECT_EQ(world.ids(world.owned, "PENDING"), world.ids(*world.store, "PENDING"));
}

// Random work of one process, several calls at a time, on an engine that is late and loses answers. Whenever nothing is
// under way, indexes and books must be those of the store itself.
class OwnedRandomly {
 public:
  OwnedRandomly(uint64_t seed, SimFaults faults, milliseconds lag) : world_(seed, faults, lag), random_(seed ^ 0xabc) {}

  void round() {
    {
      Scope scope;
      for (int i = 0; i < 12; ++i) scope.spawn(step());
      world_.pass(seconds(2));  // Longer than any answer, and than a write that comes late.
    }
    // As a queue does with writes whose outcome is unknown.
    for (const auto& id : unsure_) static_cast<void>(world_.read(world_.owned, id));
    unsure_.clear();
    check();
    if (random_.below(4) == 0) world_.pass(milliseconds(random_.below(3000)));
  }

  void check() {
    for (const char* state : kStates) {
      for (const bool forward : {true, false}) {
        const uint32_t limit = static_cast<uint32_t>(random_.below(5));
        ASSERT_EQ(world_.ids(world_.owned, state, forward, limit), world_.ids(*world_.store, state, forward))
            << state << ", limit " << limit;
      }
    }
    const auto mine = world_.wait(world_.owned.books("Things"));
    ASSERT_TRUE(mine);
    ASSERT_TRUE(check_balance(*mine)) << check_balance(*mine).error().message;
  }

  void check_books() {
    world_.pass(seconds(20));
    const auto mine = world_.wait(world_.owned.books("Things"));
    ASSERT_TRUE(mine);
    for (const char* state : kStates) {
      QueryInput query;
      query.table = "Things";
      query.index = "by-state";
      query.key_condition = "#s = :s";
      query.placeholders.names = {{"#s", "state"}};
      query.placeholders.values.set(":s", Value(state));
      const auto page = world_.wait(world_.store->query(std::move(query)));
      const auto there = mine->stock.find(state);
      ASSERT_EQ(there == mine->stock.end() ? 0 : there->second, page->count) << state;
    }
  }

 private:
  static constexpr std::array<const char*, 3> kStates{"PENDING", "TAKEN", "DONE"};

  Async<void> step() {
    const std::string id = "t" + std::to_string(random_.below(30));
    GetItemInput get;
    get.table = "Things";
    get.key = id_key(id);
    const auto read = co_await world_.owned.get_item(std::move(get));
    if (!read) co_return;
    const ItemRef seen = *read;
    Result<WriteOutput> answer;
    if (!seen) {
      PutItemInput put;
      put.table = "Things";
      put.item = OwnedWorld::thing(id, "PENDING", next_rank_++);
      put.only_new = true;
      std::vector<WriteInput> one{put};
      auto work = world_.owned.write_many(std::move(one));
      auto answers = co_await work;
      answer = std::move(answers[0]);
    } else if (random_.below(6) == 0) {
      DeleteItemInput gone;
      gone.table = "Things";
      gone.key = id_key(id);
      gone.condition = "rev = :r";
      gone.placeholders.values.set(":r", seen.find("rev")->decode());
      answer = co_await world_.owned.delete_item(std::move(gone));
    } else {
      std::vector<EditItemInput> one{OwnedWorld::moving(seen, kStates[random_.below(3)])};
      auto work = world_.owned.edit_many(std::move(one));
      auto answers = co_await work;
      answer = std::move(answers[0]);
    }
    if (!answer && answer.error().code == ErrorCode::kUnknownOutcome) unsure_.push_back(id);
  }

  OwnedWorld world_;
  Random random_;
  int64_t next_rank_ = 0;
  std::vector<std::string> unsure_;
};

TEST(OwnedTables, IsExactWhateverTheEngineDoes) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimFaults faults = seed % 3 == 0 ? SimFaults{} : SimFaults::some();
    if (seed % 3 == 2) faults.lost_after = faults.lost_before = 0.2;
    OwnedRandomly work(seed, faults, milliseconds(seed % 4 * 700));
    for (int i = 0; i < 25 && !testing::Test::HasFatalFailure(); ++i) work.round();
    if (!testing::Test::HasFatalFailure()) work.check_books();
  }
}

}  // namespace
}  // namespace freshet
