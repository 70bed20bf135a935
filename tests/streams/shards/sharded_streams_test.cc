// Where readers of an engine's streams begin and go on; tests/runtime/invoke/sharded_start_test.cc has it with
// mappings.
#include "streams/shards/sharded_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/streams/shards/shard_world.h"
#include "tests/streams/shards/table_streams.h"

namespace freshet {
namespace {

using testing::IsEmpty;
using Texts = std::vector<std::string>;

TEST(ShardedStreams, LatestDoesNotReadShardsThatHadEndedAfterARestartEither) {
  ShardWorld world;
  world.engine.write(0);
  world.engine.split(0);
  world.begin(true);
  world.engine.write(0);
  EXPECT_EQ(world.texts(world.read()), (Texts{"i0:2"}));
  world.save();
  world.restart();
  world.attach();
  EXPECT_THAT(world.texts(world.read()), IsEmpty()) << "an item's older change never follows its newer one";
  world.engine.write(0);
  EXPECT_EQ(world.texts(world.read()), (Texts{"i0:3"}));
  EXPECT_EQ(world.log.count("STREAM_RECORDS_LOST"), 0u);
  world.must(write_together(*world.tables, world.streams->removals("m")));
  EXPECT_THAT(world.must(load_system_items(*world.tables, "shard-mark")), IsEmpty());
}

TEST(ShardedStreams, MarksThatAreLeftOverAreRemovedAtTheNextStart) {
  ShardWorld world;
  world.begin();
  world.engine.write(0);
  world.read();
  world.save();
  const ShardMark late{FakeEngine::text(1), false};
  for (const char* reader : {"gone", "m"}) {
    const ShardCheckpoints earlier({reader, "T", "L", {}, 7, {}});
    world.must(write_together(*world.tables, earlier.writes({{"shard-1000", late}})));
  }
  EXPECT_EQ(world.must(load_system_items(*world.tables, "shard-mark")).size(), 3u);
  world.restart();
  EXPECT_EQ(world.must(load_system_items(*world.tables, "shard-mark")).size(), 1u);
  world.attach();
  EXPECT_THAT(world.texts(world.read()), IsEmpty()) << "the reader's own mark is still there";
}

struct TableReader : ShardWorld {
  TableReader() : of_tables(sim, 1), first(of_tables.add("T", "A")) { load(); }
  void load() {
    stream.reset();
    streams =
        std::make_unique<ShardedStreams>(ShardedParts{of_tables, *tables, sim, EventLog(clock, log, LogLevel::kInfo)});
    must(streams->load());
  }
  void go_on(const std::string& label) { take(wait(streams->attach({"m", "T"}, {label, false, next}))); }

  TableStreams of_tables;
  FakeEngine& first;
};

TEST(ShardedStreams, AStreamIsFoundByItsArnWhenItsTableIsGone) {
  TableReader world;
  world.first.write(0);
  world.begin();
  EXPECT_EQ(world.read().size(), 1u);
  world.save();
  world.first.write(1);
  world.of_tables.deleted = {"T"};
  world.load();
  world.go_on("A");
  EXPECT_EQ(world.texts(world.read()), (Texts{"i1:1"}));
  world.stream.reset();
  world.streams.reset();
}

TEST(ShardedStreams, AStartWithoutAnArnIsFoundByTheTable) {
  TableReader world;
  world.first.write(0);
  world.begin();
  EXPECT_EQ(world.read().size(), 1u);
  world.save();
  const auto stored = world.must(load_checkpoints(*world.tables));
  const ShardCheckpoints older({"m", {}, "A", {}, stored.at("m").start().number, {}});
  std::vector<WriteInput> start;
  start.emplace_back(older.start_write());
  world.must(write_together(*world.tables, std::move(start)));
  world.of_tables.add("T", "B").write(3);
  world.first.write(1);
  world.load();
  world.go_on("A");
  EXPECT_EQ(world.texts(world.read()), (Texts{"i1:1"})) << "behind the mark of the same start";
  world.stream.reset();
  world.streams.reset();
}

}  // namespace
}  // namespace freshet
