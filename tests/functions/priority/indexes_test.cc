// Changes of a priority queue's table by a client while the queue runs: it drops the queue's indexes, or replaces
// them.
#include "functions/priority/table_queues.h"
#include "tests/functions/priority/priority_world.h"

namespace freshet::priority {
namespace {

class PriorityIndexesTest : public PriorityFixture {
 protected:
  TableQueues queues{*world.services, EventLog(), &world.store->wall_guard()};
  TableQueue* running = nullptr;

  // As the daemon opens it.
  void run() {
    Definition definition;
    definition.settings = shipment_settings();
    auto opened = world.wait(queues.open(std::move(definition)));
    ASSERT_TRUE(opened) << opened.error().message;
    running = *opened;
    queues.begin();
  }
  void add(const std::string& id) {
    PutRecordInput record;
    record.id = id;
    record.status = "READY_TO_SHIP";
    ASSERT_TRUE(world.wait(running->put(std::move(record))).ok());
    EnqueueInput input;
    input.call.id = id;
    ASSERT_TRUE(world.wait(running->enqueue(std::move(input))).ok());
    world.pass(milliseconds(1));
  }
  PriorityResult peek_one(milliseconds visibility = milliseconds(60'000)) {
    PeekInput input;
    input.visibility = visibility;
    return world.wait(running->peek(std::move(input))).front();
  }
  // As UpdateTable does.
  template <class Change>
  void alter(Change change) {
    auto described = world.wait(world.store->describe_table("Shipment"));
    ASSERT_TRUE(described);
    change(described->definition);
    auto altered = world.wait(world.client().alter_table(described->definition));
    ASSERT_TRUE(altered) << altered.error().message;
  }
  void drop(const std::string& name) {
    alter([&](TableDefinition& table) {
      EXPECT_EQ(std::erase_if(table.indexes, [&](const auto& index) { return index.name == name; }), 1u) << name;
    });
  }
  size_t indexes() { return world.wait(world.store->describe_table("Shipment"))->definition.indexes.size(); }
};
INSTANTIATE_TEST_SUITE_P(Stores, PriorityIndexesTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(PriorityIndexesTest, AnIndexThatIsDroppedIsMadeAgain) {
  run();
  for (const char* id : {"a", "b", "c", "d"}) add(id);
  ASSERT_EQ(peek_one(milliseconds(1'500)).id, "a");
  const Settings used = running->settings();
  for (const std::string& name : {used.queue_index, used.dead_index, used.visible_index}) {
    SCOPED_TRACE(name);
    drop(name);
    if (name != used.dead_index) {
      const auto meanwhile = peek_one();
      EXPECT_EQ(meanwhile.code, Code::kStoreError);
      EXPECT_EQ(meanwhile.error, ErrorCode::kUnavailable) << meanwhile.detail;
      EXPECT_NE(meanwhile.detail.find("has lost its index '" + name + "'"), std::string::npos) << meanwhile.detail;
    } else {
      EXPECT_EQ(world.wait(running->dlq_stats()).error().code, ErrorCode::kUnavailable);
    }
    world.pass(milliseconds(1'200));
    EXPECT_EQ(indexes(), 3u);
    EXPECT_EQ(queues.broken(), "");
    EXPECT_TRUE(world.wait(running->dlq_stats()));
  }
  world.pass(milliseconds(1'500));
  EXPECT_EQ(peek_one().id, "a") << "its timeout was over";
  EXPECT_EQ(peek_one().id, "b");
}

TEST_P(PriorityIndexesTest, OneOfTheClientsOwnWillDo) {
  run();
  add("a");
  const std::string name = running->settings().queue_index;
  alter([&](TableDefinition& table) {
    for (auto& index : table.indexes) {
      if (index.name == name) index.name = "mine";
    }
  });
  world.pass(milliseconds(1'200));
  EXPECT_EQ(indexes(), 3u) << "one is enough";
  EXPECT_EQ(peek_one().id, "a");
}

TEST_P(PriorityIndexesTest, WhatCannotBeMadeAgainIsTold) {
  run();
  add("a");
  const std::string name = running->settings().queue_index;
  alter([&](TableDefinition& table) {
    for (auto& index : table.indexes) {
      if (index.name == name) index.keys.sort = KeyAttribute{"other", Type::kString};
    }
  });
  world.pass(milliseconds(1'200));
  EXPECT_NE(queues.broken().find("index '" + name + "' of table 'Shipment' must have the keys"), std::string::npos)
      << queues.broken();
  EXPECT_EQ(peek_one().error, ErrorCode::kUnavailable) << "and not an empty queue";
  drop(name);
  world.pass(milliseconds(1'200));
  EXPECT_EQ(queues.broken(), "");
  EXPECT_EQ(peek_one().id, "a");
}

}  // namespace
}  // namespace freshet::priority
