// Waiting for indexes that an engine builds: what the log says of it.
#include <gtest/gtest.h>

#include "functions/table_built.h"
#include "tables/owned/split_tables.h"
#include "tests/functions/world.h"
#include "tests/sim/log_capture.h"

namespace freshet {
namespace {

// An engine that builds an index of a table, and may not answer meanwhile.
class BuildingTables final : public SplitTables {
 public:
  explicit BuildingTables(Tables& tables) : SplitTables(tables, tables), traits_(tables.traits()) {
    traits_.immediate = false;
  }
  const StoreTraits& traits() const override { return traits_; }
  Async<Result<TableDescription>> describe_table(std::string table) override {
    if (is_silent) return Result<TableDescription>(fail(ErrorCode::kUnavailable, "it starts again"));
    auto described = SplitTables::describe_table(std::move(table)).take();
    for (IndexState& index : described->indexes) index.building = is_building && index.name == "freshet-lane-index";
    return described;
  }
  bool is_building = true;
  bool is_silent = false;

 private:
  StoreTraits traits_;
};

class TableBuilt : public ::testing::Test {
 protected:
  TableBuilt() {
    TableDefinition table = queue_table();
    IndexDefinition index = table.indexes.front();
    index.name = "freshet-lane-index";
    table.indexes.push_back(index);
    EXPECT_TRUE(world_.wait(world_.store->alter_table(table)));
    world_.pass(seconds(1));
  }
  void finish(const Async<void>& work) {
    world_.pass(seconds(3));
    EXPECT_TRUE(work.is_ready());
  }
  Async<void> wait() { return table_built(services_, EventLog(world_.clock, log_, LogLevel::kInfo), "QueueTable"); }

  QueueWorld world_{false, 1};
  LogCapture log_;
  BuildingTables tables_{*world_.store};
  Services services_{tables_, world_.topics, world_.scheduler, world_.random, world_.http, world_.spawner};
};

TEST_F(TableBuilt, WhatIsThereIsNotWorthALine) {
  tables_.is_building = false;
  finish(wait());
  EXPECT_TRUE(log_.lines.empty());
}

TEST_F(TableBuilt, BeginningAndEndAreLoggedAndALongTimeIsWarnedOf) {
  auto work = wait();
  world_.pass(seconds(1205));
  EXPECT_FALSE(work.is_ready()) << "a large table takes hours";
  EXPECT_EQ(log_.count("TABLE_BUILDING"), 1u);
  EXPECT_EQ(log_.count("\"building\":\"index 'freshet-lane-index'\""), 3u);
  EXPECT_EQ(log_.count("TABLE_STILL_BUILDING"), 2u) << "each ten minutes";
  tables_.is_building = false;
  finish(work);
  ASSERT_EQ(log_.count("TABLE_BUILT"), 1u);
  EXPECT_EQ(log_.count("\"built\":\"index 'freshet-lane-index'\",\"tookMs\":120"), 1u) << log_.lines.back();
}

TEST_F(TableBuilt, AnEngineThatDoesNotAnswerIsNamed) {
  tables_.is_silent = true;
  auto work = wait();
  world_.pass(seconds(605));
  EXPECT_EQ(log_.count("TABLE_STILL_BUILDING"), 1u);
  EXPECT_EQ(log_.count("the engine cannot be asked: it starts again"), 1u);
  tables_.is_silent = tables_.is_building = false;
  finish(work);
}

}  // namespace
}  // namespace freshet
