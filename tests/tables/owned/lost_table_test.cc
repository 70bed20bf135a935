// An engine that denies for a moment that a table exists: what is remembered of the table stays.
#include <gtest/gtest.h>

#include "tables/owned/split_tables.h"
#include "tests/tables/owned/owned_fixture.h"

namespace freshet {
namespace {

class DenyingTables final : public SplitTables {
 public:
  explicit DenyingTables(Tables& tables) : SplitTables(tables, tables) {}
  Async<Result<TableDescription>> describe_table(std::string table) override {
    if (denials == 0) return SplitTables::describe_table(std::move(table));
    --denials;
    return Result<TableDescription>(fail(ErrorCode::kResourceNotFound, "no such table"));
  }
  int denials = 0;
};

class LostTable : public ::testing::Test {
 protected:
  LostTable() {
    EmbeddedOptions in_memory;
    in_memory.directory = std::string(kMemoryDirectory);
    auto opened = open_embedded(nullptr, world_.scheduler, world_.random, in_memory);
    EXPECT_TRUE(opened);
    memory_ = std::move(*opened);
    world_.scheduler.add(*memory_);
    OwnedOptions options;
    options.version = "rev";
    owned_ = std::make_unique<OwnedTables>(engine_, *memory_, world_.scheduler, options);
    PutItemInput put;
    put.table = "Things";
    put.item = OwnedWorld::thing("a", "PENDING", 1);
    put.only_new = true;
    EXPECT_TRUE(world_.wait(owned_->put_item(std::move(put))));
    EXPECT_EQ(world_.ids(*owned_, "PENDING"), "a ");
  }
  ~LostTable() override {
    owned_.reset();
    world_.scheduler.remove(*memory_);
  }

  OwnedWorld world_{1, {}, seconds(20)};  // Only the memory shows a write.
  DenyingTables engine_{world_.engine};
  std::unique_ptr<EmbeddedTables> memory_;
  std::unique_ptr<OwnedTables> owned_;
};

TEST_F(LostTable, OneDenialIsLookedAtAgain) {
  engine_.denials = 1;
  const auto described = world_.wait(owned_->describe_table("Things"));
  EXPECT_TRUE(described) << described.error().message;
  EXPECT_EQ(world_.ids(*owned_, "PENDING"), "a ");
}

TEST_F(LostTable, ATableThatIsStillNotThereIsForgotten) {
  engine_.denials = 2;
  const auto described = world_.wait(owned_->describe_table("Things"));
  ASSERT_FALSE(described);
  EXPECT_EQ(described.error().code, ErrorCode::kResourceNotFound);
  EXPECT_EQ(world_.ids(*owned_, "PENDING"), "");
}

TEST_F(LostTable, ATableThatNobodyKnowsIsNotWaitedFor) {
  const BootTime began = world_.clock.boot();
  EXPECT_FALSE(world_.wait(owned_->describe_table("Others")));
  EXPECT_LT(world_.clock.boot() - began, seconds(1));
}

}  // namespace
}  // namespace freshet
