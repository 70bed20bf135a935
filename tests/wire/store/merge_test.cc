#include "wire/store/merge.h"

#include <gtest/gtest.h>

namespace freshet::remote {
namespace {

IndexDefinition index(const std::string& name, const std::string& key = "k") {
  IndexDefinition out;
  out.name = name;
  out.keys.partition = {key, Type::kString};
  return out;
}

std::string names(const TableDefinition& table) {
  std::string out;
  for (const auto& one : table.indexes) out += one.name + ":" + one.keys.partition.name + " ";
  return out;
}

class Merged : public testing::Test {
 protected:
  TableDefinition merge() const { return merged(seen, wanted, now); }

  TableDefinition seen, wanted, now;
};

TEST_F(Merged, OnlyTheDifferenceIsMade) {
  seen.indexes = {index("both"), index("dropped"), index("gone")};
  wanted.indexes = {index("both"), index("gone"), index("made")};
  now.indexes = {index("both"), index("dropped"), index("theirs")};
  EXPECT_EQ(names(merge()), "both:k made:k theirs:k ") << "another daemon has dropped `gone` meanwhile";
}

TEST_F(Merged, AnIndexInAnotherFormIsReplacedIfTheCallerAskedForThat) {
  seen.indexes = {index("a", "old"), index("b", "old")};
  wanted.indexes = {index("a", "new"), index("b", "old")};
  now.indexes = {index("a", "old"), index("b", "theirs")};
  EXPECT_EQ(names(merge()), "a:new b:theirs ");
}

TEST_F(Merged, StreamAndTtlOfOthersStay) {
  now.stream = StreamView::kKeysOnly;
  now.ttl_attribute = "ttl";
  EXPECT_EQ(merge().stream, StreamView::kKeysOnly);
  EXPECT_EQ(merge().ttl_attribute, "ttl");
  seen = now;
  EXPECT_FALSE(merge().stream) << "the caller saw it, and asks for none";
  EXPECT_FALSE(merge().ttl_attribute);
}

TEST_F(Merged, EachIndexHasThroughputOfItsOwn) {
  for (TableDefinition* table : {&seen, &wanted, &now}) {
    table->settings.throughput = Throughput{1, 1};
    table->settings.index_throughput["both"] = {2, 2};
  }
  wanted.settings.index_throughput["made"] = {3, 3};
  now.settings.index_throughput["theirs"] = {4, 4};
  const std::map<std::string, Throughput, std::less<>> all{{"both", {2, 2}}, {"made", {3, 3}}, {"theirs", {4, 4}}};
  EXPECT_EQ(merge().settings.index_throughput, all);
  wanted.settings.throughput = Throughput{9, 9};
  EXPECT_EQ(merge().settings.throughput, (Throughput{9, 9}));
  EXPECT_EQ(merge().settings.index_throughput, all) << "only the table's own was changed";
  wanted.settings.throughput.reset();
  wanted.settings.index_throughput.clear();
  EXPECT_TRUE(merge().settings.index_throughput.empty()) << "billed by request";
}

}  // namespace
}  // namespace freshet::remote
