// Where mappings over an engine's shards begin and go on: moves to another table, the next stream of a table, and
// restarts, while writes of the start or the position fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "streams/system_table.h"
#include "tests/runtime/invoke/sharded_world.h"
#include "tests/streams/shards/table_streams.h"

namespace freshet {
namespace {

using testing::IsEmpty;
using Texts = ShardedMappings::Texts;

// Fails the writes that the test names.
class StartTables final : public SplitTables, public HasEngineStreams {
 public:
  StartTables(Tables& tables, EngineStreams& engine) : SplitTables(tables, tables), engine_(engine) {}
  EngineStreams* engine_streams() override { return &engine_; }

  Async<Result<WriteOutput>> put_item(PutItemInput input) override {
    const std::vector<WriteInput> writes{input};
    if (refuses && refuses(writes)) co_return fail(ErrorCode::kDiskFull, "the disk is full");
    auto put = co_await SplitTables::put_item(std::move(input));
    if (put && written) written(writes);
    co_return put;
  }
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override {
    const std::vector<WriteInput> writes = input.actions;
    if (refuses && refuses(writes)) co_return fail(ErrorCode::kDiskFull, "the disk is full");
    auto done = co_await SplitTables::transact_write(std::move(input));
    if (done && written) written(writes);
    co_return done;
  }

  std::function<bool(const std::vector<WriteInput>&)> refuses;
  std::function<void(const std::vector<WriteInput>&)> written;

 private:
  EngineStreams& engine_;
};

bool puts(const std::vector<WriteInput>& writes, std::string_view kind) {
  return std::any_of(writes.begin(), writes.end(), [&](const WriteInput& write) {
    const auto* put = std::get_if<PutItemInput>(&write);
    return put && put->item.string_or("kind") == kind;
  });
}

struct ShardedStart : testing::Test {
  ShardedStart() : engine(world.sim.loop(), 1), tables(*world.tables, engine), first(engine.add("T", "A")) {
    world.options.log = EventLog(world.clock, log, LogLevel::kWarn);
    start();
    world.add_function("F");
    mapping = mapping_of("T", "F");
    mapping.starting_position = StartingPosition::kTrimHorizon;
  }
  ~ShardedStart() override { world.runtime.reset(); }

  void start() { start_on(world, tables); }
  Result<std::string> put_mapping() { return world.wait(world.runtime->put_mapping(mapping)); }
  void run(seconds time = seconds(30)) { world.sim.run_for(time); }
  // Two changes of the first stream are delivered, and that is stored.
  void begin() {
    ASSERT_TRUE(put_mapping());
    first.write(0);
    first.write(1);
    run();
    ASSERT_EQ(take(), (Texts{"i0@1", "i1@2"}));
  }
  // The records that were delivered since the last call.
  Texts take() {
    Texts all;
    for (const std::string& payload : world.payloads("F")) {
      for (const std::string& record : ShardedMappings::records_of(payload)) all.push_back(record);
    }
    const size_t before = std::exchange(taken_, all.size());
    return Texts(all.begin() + static_cast<ptrdiff_t>(before), all.end());
  }
  ShardCheckpoints stored() { return world.must(load_checkpoints(*world.tables))["m"]; }
  std::string mark(const std::string& shard = "shard-1000") {
    const ShardCheckpoints all = stored();
    const ShardMark* found = all.find(shard);
    return found ? found->after : "none";
  }
  // The mapping looks for its stream again.
  void change_mapping() {
    ++mapping.batch_size;
    ASSERT_TRUE(put_mapping());
    run();
  }

  LogCapture log;
  RuntimeWorld world;
  TableStreams engine;
  StartTables tables;
  FakeEngine& first;  // The stream "A" of the table "T".
  MappingDefinition mapping;

 private:
  size_t taken_ = 0;
};

// Storing positions.

TEST_F(ShardedStart, APositionThatCannotBeStoredIsLoggedOnceAndStoredLater) {
  begin();
  tables.refuses = [](const auto& writes) { return puts(writes, "shard-mark"); };
  for (int i = 0; i < 3; ++i) {
    first.write(0);
    run();
  }
  EXPECT_EQ(take().size(), 3u) << "the function gets them meanwhile";
  EXPECT_EQ(log.count("MAPPING_POSITION_NOT_STORED"), 1u);
  tables.refuses = nullptr;
  first.write(1);
  run();
  EXPECT_EQ(mark(), FakeEngine::text(6));
  tables.refuses = [](const auto& writes) { return puts(writes, "shard-mark"); };
  first.write(1);
  run();
  EXPECT_EQ(log.count("MAPPING_POSITION_NOT_STORED"), 2u) << "it is new again";
}

// Moving to another table.

TEST_F(ShardedStart, AMoveThatTheEngineRefusesLeavesTheReaderAsItWas) {
  begin();
  FakeEngine& other = engine.add("U", "B");
  other.refuses = Error{ErrorCode::kThroughputExceeded, "busy", nullptr};
  MappingDefinition moved = mapping;
  moved.table = "U";
  EXPECT_FALSE(world.wait(world.runtime->put_mapping(moved)));
  first.write(0);
  run();
  EXPECT_EQ(take(), (Texts{"i0@3"}));
  change_mapping();
  EXPECT_THAT(take(), IsEmpty()) << "nothing comes twice";
  first.write(1);
  run();
  EXPECT_EQ(take(), (Texts{"i1@4"}));
  EXPECT_EQ(mark(), FakeEngine::text(4)) << "marks are still stored";
}

TEST_F(ShardedStart, AMoveThatCannotBeStoredLeavesTheReaderAsItWas) {
  begin();
  engine.add("U", "B").write(3);
  tables.refuses = [](const auto& writes) { return puts(writes, "shard-reader"); };
  MappingDefinition moved = mapping;
  moved.table = "U";
  EXPECT_FALSE(world.wait(world.runtime->put_mapping(moved)));
  tables.refuses = nullptr;
  first.write(0);
  run();
  EXPECT_EQ(take(), (Texts{"i0@3"}));
  change_mapping();
  first.write(1);
  run();
  EXPECT_EQ(take(), (Texts{"i1@4"})) << "nothing comes twice";
  start();
  run();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_EQ(mark(), FakeEngine::text(4));
}

TEST_F(ShardedStart, AMoveBeginsTheOtherTablesStreamAndRemovesTheOldMarks) {
  begin();
  engine.add("U", "B").write(3);
  mapping.table = "U";
  ASSERT_TRUE(put_mapping());
  run();
  EXPECT_EQ(take(), (Texts{"i3@1"}));
  EXPECT_EQ(stored().start().label, "B");
  EXPECT_EQ(world.stored("shard-mark"), 1u);
  change_mapping();
  start();
  run();
  EXPECT_THAT(take(), IsEmpty());
}

// The next stream of the table.

struct NextStream : ShardedStart {
  // The first stream ends, and there is a second one with a change.
  FakeEngine& switch_stream() {
    first.switch_off();
    FakeEngine& second = engine.add("T", "B");
    second.write(2);
    return second;
  }
};

TEST_F(NextStream, AStartThatCouldNotBeStoredIsStoredLater) {
  begin();
  int refused = 0;
  tables.refuses = [&](const auto& writes) { return puts(writes, "shard-reader") && ++refused == 1; };
  FakeEngine& second = switch_stream();
  run();
  EXPECT_GT(refused, 1);
  EXPECT_EQ(take(), (Texts{"i2@1"}));
  EXPECT_EQ(stored().start().label, "B");
  EXPECT_EQ(mark(), FakeEngine::text(1));
  start();
  second.write(0);
  run();
  EXPECT_EQ(take(), (Texts{"i0@2"})) << "the marks belong to the stored start";
}

TEST_F(NextStream, AStartIsStoredTogetherWithThePosition) {
  begin();
  bool died = false;
  tables.refuses = [&](const auto&) { return died; };
  tables.written = [&](const auto& writes) { died = died || puts(writes, "shard-reader"); };
  switch_stream();
  run();
  ASSERT_TRUE(died);
  take();
  tables.refuses = nullptr;
  start();
  run();
  EXPECT_EQ(take(), (Texts{"i2@1"})) << "the first stream is not read again";
}

TEST_F(NextStream, WhereStartAndPositionDifferTheStartIsBelieved) {
  begin();
  switch_stream();
  run();
  EXPECT_EQ(take(), (Texts{"i2@1"}));
  const MappingPosition old = position_at("A", 3, 1);
  world.must(write_together(*world.tables, lane_writes("m", old, 0, 0)));
  start();
  run();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_EQ(stored().start().label, "B");
}

TEST_F(NextStream, ARestartAfterTheTableWasDeletedReadsTheRestOfItsStream) {
  begin();
  world.runtime.reset();
  first.write(3);
  first.switch_off();
  engine.deleted = {"T"};
  start();
  run();
  EXPECT_EQ(take(), (Texts{"i3@3"}));
  EXPECT_EQ(mark(), FakeEngine::text(3));
  engine.deleted.clear();
  engine.add("T", "B").write(2);
  run(seconds(90));
  EXPECT_EQ(take(), (Texts{"i2@1"})) << "it goes on with the stream of the new table";
  EXPECT_EQ(log.count("STREAM_RECORDS_LOST"), 0u);
}

}  // namespace
}  // namespace freshet
