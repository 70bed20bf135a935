// Readers of a fleet: their marks are in a table that all daemons write, one after the other, and sometimes two at
// once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tables/lease/positions_table.h"
#include "tests/sim/sim_engine.h"
#include "tests/streams/shards/shard_world.h"
#include "tests/streams/shards/table_streams.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

// Daemons that read the table "T" for the reader "m", all through one simulated engine.
struct SharedReaders : ShardWorld {
  struct Daemon {
    std::unique_ptr<ShardedStreams> streams;
    ShardedStreamPtr stream;
    uint64_t next = 1;
  };

  SharedReaders() : shared(*tables, sim, 7), of_tables(sim, 1), changes(of_tables.add("T", "A")) {
    must(provide_positions_table(*tables));
  }
  ~SharedReaders() { daemons.clear(); }

  // A start of the daemon: it has forgotten everything.
  Daemon& start(const std::string& name) {
    Daemon& daemon = daemons[name];
    daemon = {};
    daemon.streams = std::make_unique<ShardedStreams>(
        ShardedParts{of_tables, shared, sim, EventLog(clock, log, LogLevel::kInfo), kPositionsTable});
    must(daemon.streams->load());
    return daemon;
  }
  // Its mapping begins to run, or goes on.
  Result<ShardedStreamPtr> attached(Daemon& daemon, bool latest = false, const std::string& table = "T") {
    return wait(daemon.streams->attach({"m", table}, {"", false, daemon.next, latest}));
  }
  Result<void> store_start(Daemon& daemon, const ShardedStreamPtr& opened) {
    std::vector<WriteInput> writes = daemon.streams->start_writes(*opened);
    if (writes.empty()) return {};
    auto stored = wait(write_together(shared, std::move(writes)));
    if (stored) daemon.streams->started(opened);
    return stored;
  }
  void go_on(Daemon& daemon, bool latest = false, const std::string& table = "T") {
    auto opened = attached(daemon, latest, table);
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_TRUE(store_start(daemon, *opened));
    daemon.stream = *opened;
    daemon.next = daemon.stream->oldest();
  }
  Texts read(Daemon& daemon) {
    stream = daemon.stream;
    next = daemon.next;
    Texts read_now = texts(ShardWorld::read());
    daemon.next = next;
    stream.reset();
    return read_now;
  }
  Result<void> store(Daemon& daemon) { return wait(daemon.stream->save(daemon.next, {})); }
  void stop(Daemon& daemon) {
    daemon.stream.reset();
    daemon.streams->close("m");
  }
  // The stored marks of all starts, by shard.
  std::map<std::string, std::string> marks() {
    std::map<std::string, std::string> all;
    for (const ItemRef& ref : must(load_items_of(*tables, kPositionsTable, "shard-mark", "m/"))) {
      const Item mark = ref.decode();
      all[std::string(mark.string_or("shard"))] = mark.string_or("after");
    }
    return all;
  }

  SimEngine shared;
  TableStreams of_tables;
  FakeEngine& changes;
  std::map<std::string, Daemon> daemons;
};

TEST(SharedStreams, ADaemonGoesOnWhereAnotherStopped) {
  SharedReaders world;
  auto& a = world.start("a");
  auto& b = world.start("b");
  world.go_on(a);
  world.changes.write(0);
  EXPECT_EQ(world.read(a), (Texts{"i0:1"}));
  EXPECT_TRUE(world.store(a));
  world.stop(a);
  world.changes.write(0);
  world.go_on(b);
  EXPECT_EQ(world.read(b), (Texts{"i0:2"}));
  EXPECT_TRUE(world.store(b));
  world.stop(b);
  world.go_on(a);
  EXPECT_THAT(world.read(a), IsEmpty()) << "it has read what the other one stored";
}

TEST(SharedStreams, ALateMarkMovesNothingBack) {
  SharedReaders world;
  auto& old = world.start("old");
  world.go_on(old);
  world.changes.write(0);
  EXPECT_EQ(world.read(old), (Texts{"i0:1"}));
  auto& now = world.start("now");  // The old one stands still before it stores its mark.
  world.go_on(now);
  world.changes.write(0);
  EXPECT_EQ(world.read(now), (Texts{"i0:1", "i0:2"}));
  EXPECT_TRUE(world.store(now));
  const auto stored = world.marks();
  EXPECT_TRUE(world.store(old)) << "what it processed is stored already";
  EXPECT_EQ(world.marks(), stored);
  world.changes.write(1);
  EXPECT_EQ(world.read(now), (Texts{"i1:1"}));
  EXPECT_TRUE(world.store(now));
  EXPECT_NE(world.marks(), stored);
}

TEST(SharedStreams, AMarkIsStoredAlthoughAFormerDaemonWroteOneMeanwhile) {
  SharedReaders world;
  auto& old = world.start("old");
  world.go_on(old);
  world.changes.write(0);
  world.changes.write(1);
  EXPECT_EQ(world.read(old).size(), 2u);
  auto& now = world.start("now");
  world.go_on(now);
  EXPECT_TRUE(world.store(old));
  world.changes.write(2);
  EXPECT_EQ(world.read(now).size(), 3u);
  EXPECT_TRUE(world.store(now));
  auto& next = world.start("next");
  world.go_on(next);
  EXPECT_THAT(world.read(next), IsEmpty());
}

TEST(SharedStreams, AMarkWhoseAnswerIsLostIsNotWrittenTwice) {
  SharedReaders world;
  auto& a = world.start("a");
  world.go_on(a);
  SimFaults faults;
  faults.everywhere = true;
  faults.lost_after = 1;
  for (int i = 0; i < 3; ++i) {
    world.changes.write(i);
    EXPECT_EQ(world.read(a).size(), 1u);
    world.shared.set_faults(faults);
    EXPECT_TRUE(world.store(a)) << "it reads that the mark is there";
    world.shared.set_faults({});
    EXPECT_EQ(world.marks().size(), 1u);
  }
  auto& b = world.start("b");
  world.go_on(b);
  EXPECT_THAT(world.read(b), IsEmpty());
}

TEST(SharedStreams, OfTwoStartsOneIsStored) {
  SharedReaders world;
  world.changes.write(0);
  auto& a = world.start("a");
  auto& b = world.start("b");
  auto first = world.attached(a);
  auto second = world.attached(b, true);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(world.store_start(a, *first));
  EXPECT_EQ(world.store_start(b, *second).error().code, ErrorCode::kConditionalCheckFailed);
  second = ShardedStreamPtr();
  world.go_on(b, true);
  EXPECT_EQ(world.read(b), (Texts{"i0:1"})) << "the stored start is at the oldest change";
}

TEST(SharedStreams, ALostAnswerToAStartDoesNotBeginAnew) {
  SharedReaders world;
  auto& a = world.start("a");
  auto opened = world.attached(a, true);
  ASSERT_TRUE(opened);
  SimFaults faults;
  faults.everywhere = true;
  faults.lost_after = 1;
  world.shared.set_faults(faults);
  EXPECT_EQ(world.store_start(a, *opened).error().code, ErrorCode::kUnknownOutcome);
  world.shared.set_faults({});
  world.changes.write(0);
  opened = ShardedStreamPtr();
  world.go_on(a, true);
  EXPECT_EQ(world.read(a), (Texts{"i0:1"})) << "it goes on with the start that was stored";
}

TEST(SharedStreams, EachTableHasAPositionOfItsOwn) {
  SharedReaders world;
  auto& a = world.start("a");
  world.go_on(a);
  world.changes.write(0);
  world.read(a);
  EXPECT_TRUE(world.store(a));
  world.stop(a);
  world.of_tables.add("U", "A").write(3);
  auto& b = world.start("b");
  world.go_on(b, false, "U");
  EXPECT_EQ(world.read(b), (Texts{"i3:1"}));
  EXPECT_TRUE(world.store(b));
  world.stop(b);
  world.changes.write(1);
  for (const auto& [table, read] : std::map<std::string, Texts>{{"U", {}}, {"T", {"i1:1"}}}) {
    auto& c = world.start("c");
    world.go_on(c, true, table);
    EXPECT_EQ(world.read(c), read);
    EXPECT_TRUE(world.store(c));
    world.stop(c);
  }
}

TEST(SharedStreams, MarksOfAnEarlierStartAreRemoved) {
  SharedReaders world;
  auto& a = world.start("a");
  world.go_on(a);
  world.changes.write(0);
  world.read(a);
  EXPECT_TRUE(world.store(a));
  world.changes.switch_off();
  EXPECT_THAT(world.read(a), IsEmpty());
  EXPECT_TRUE(world.store(a));
  EXPECT_EQ(world.marks(), (std::map<std::string, std::string>{{"shard-1000", FakeEngine::text(1)}}));
  FakeEngine& later = world.of_tables.add("T", "B");
  later.write(2);
  auto opened = world.wait(a.streams->attach({"m", "T"}, {"A", true, a.next, false}));
  ASSERT_TRUE(opened);
  EXPECT_TRUE(world.store_start(a, *opened));
  opened = ShardedStreamPtr();
  auto& b = world.start("b");
  world.go_on(b);
  EXPECT_THAT(world.marks(), IsEmpty());
  EXPECT_EQ(world.read(b), (Texts{"i2:1"}));
}

TEST(SharedStreams, AReaderOfOneDaemonGoesOnInItsFleet) {
  SharedReaders world;
  ShardedStreams alone(ShardedParts{world.of_tables, world.shared, world.sim, EventLog()});
  world.must(alone.load());
  auto opened = world.wait(alone.open_new({"m", "T"}, false));
  ASSERT_TRUE(opened);
  world.must(write_together(world.shared, alone.start_writes(**opened)));
  alone.started(*opened);
  world.changes.write(0);
  world.changes.split(0);
  world.changes.write(1);
  world.stream = *opened;
  EXPECT_EQ(world.texts(world.ShardWorld::read()).size(), 2u);
  world.save();
  world.stream.reset();
  opened = ShardedStreamPtr();
  alone.clear();
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto& a = world.start("a");
    world.changes.write(3);
    SimFaults faults;
    faults.everywhere = true;
    faults.lost_after = attempt == 0 ? 1 : 0;
    world.shared.set_faults(faults);
    auto attached = world.attached(a, true);
    EXPECT_EQ(attached.has_value(), attempt == 1);
    world.shared.set_faults({});
    while (attempt == 0 && !attached) attached = world.attached(a, true);
    a.stream = *attached;
    EXPECT_EQ(world.read(a).size(), 1u) << attempt;
    EXPECT_TRUE(world.store(a));
  }
  EXPECT_EQ(world.log.count("STREAM_RECORDS_LOST"), 0u);
}

TEST(SharedStreams, MarksAreComparedAsTheNumbersOfTheirShard) {
  const auto at = [](const char* after, bool over = false) { return ShardMark{after, over}; };
  EXPECT_TRUE(is_behind(at("9"), at("10")));
  EXPECT_FALSE(is_behind(at("10"), at("9")));
  EXPECT_TRUE(is_behind(at("000000000009"), at("10")));
  EXPECT_TRUE(is_behind(at("49590338271490256608559692538361571095921575989136588898"),
                        at("49590338271490256608559692538361571095921575989136588899")));
  EXPECT_TRUE(is_behind(at(""), at("1")));
  EXPECT_FALSE(is_behind(at("1"), at("")));
  EXPECT_TRUE(is_behind(at("5"), at("", true)));
  EXPECT_FALSE(is_behind(at("", true), at("5")));
  EXPECT_FALSE(is_behind(at("7"), at("7")));
  EXPECT_FALSE(is_behind(at("x1"), at("x2"))) << "not comparable";
}

}  // namespace
}  // namespace freshet
