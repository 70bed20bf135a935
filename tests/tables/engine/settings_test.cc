#include <gmock/gmock.h>

#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using testing::ElementsAre;

class SettingsTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    options.backfill_step = 10;
    DiskStoreTest::SetUp();
  }
  TableDescription describe() { return *now(store->describe_table("Queue")); }
  void alter(const TableDefinition& definition) {
    const auto altered = now(store->alter_table(definition));
    ASSERT_TRUE(altered) << altered.error().message;
  }
};

TEST_F(SettingsTest, AnIndexIsBuiltInStepsAndSaysSo) {
  TableDefinition bare = queue_definition();
  bare.indexes.clear();
  create(bare);
  for (int i = 0; i < 25; ++i) ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i)));
  alter(queue_definition());
  ASSERT_EQ(describe().indexes.size(), 1u);
  EXPECT_TRUE(describe().indexes[0].building);
  EXPECT_THAT(text(now(store->query(by_status("PENDING", true)))), testing::HasSubstr("backfilling"));
  std::vector<uint64_t> steps;
  for (int i = 0; i < 3; ++i) {
    store->run_due();
    steps.push_back(describe().indexes[0].items);
  }
  EXPECT_THAT(steps, ElementsAre(10, 20, 25));
  EXPECT_FALSE(describe().indexes[0].building);
  EXPECT_EQ(ids_by_status("PENDING", true).size(), 25u);
}

TEST_F(SettingsTest, SettingsSurviveAndProtectionHolds) {
  create(queue_definition());
  TableDefinition definition = queue_definition();
  definition.settings.throughput = Throughput{5, 7};
  definition.settings.index_throughput["status-created"] = Throughput{1, 2};
  definition.settings.table_class = "STANDARD_INFREQUENT_ACCESS";
  definition.settings.deletion_protection = true;
  definition.settings.point_in_time_recovery = true;
  definition.settings.tags = {{"team", "parcels"}, {"empty", ""}};
  alter(definition);
  turn();
  reopen();
  EXPECT_EQ(describe().definition, definition);
  EXPECT_THAT(text(now(store->delete_table("Queue"))),
              testing::StartsWith("ValidationException: Resource cannot be deleted as it is currently protected"));
  definition.settings.deletion_protection = false;
  alter(definition);
  EXPECT_TRUE(now(store->delete_table("Queue")));
}

}  // namespace
}  // namespace freshet
