// The words for the difference between an index that is there and the wanted one.
#include "tables/index_difference.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

IndexDefinition index(KeySchema keys, Projection projection = Projection::kAll,
                      std::vector<std::string> included = {}) {
  return {"by-state", std::move(keys), false, projection, std::move(included)};
}

const KeySchema kByRank{{"state", Type::kString}, KeyAttribute{"rank", Type::kNumber}};
const KeySchema kByState{{"state", Type::kString}, {}};

TEST(IndexDifference, KeysAndProjectionAreNamed) {
  EXPECT_EQ(index_difference(index(kByRank), index(kByRank)), "");
  EXPECT_EQ(index_difference(index(kByState), index(kByRank)), "keys (state S) and not (state S, rank N)");
  EXPECT_EQ(index_difference(index(kByState, Projection::kKeysOnly), index(kByRank)),
            "keys (state S) and not (state S, rank N); projection KEYS_ONLY and not ALL");
  EXPECT_EQ(
      index_difference(index(kByRank, Projection::kInclude, {"a"}), index(kByRank, Projection::kInclude, {"b", "a"})),
      "projection INCLUDE a and not INCLUDE a, b");
}

TEST(IndexDifference, TheOrderOfProjectedAttributesIsNoDifference) {
  EXPECT_EQ(index_difference(index(kByRank, Projection::kInclude, {"a", "b"}),
                             index(kByRank, Projection::kInclude, {"b", "a"})),
            "");
}

TEST(IndexDifference, AnIndexIsNotTakenForAnotherByItsNameAlone) {
  TableDefinition is;
  TableDefinition wanted;
  wanted.indexes = {index(kByRank)};
  EXPECT_EQ(lacking_indexes(is, wanted), "index 'by-state'");
  is.indexes = {index(kByState)};
  EXPECT_EQ(lacking_indexes(is, wanted), "index 'by-state' (it has keys (state S) and not (state S, rank N))");
  is.indexes = wanted.indexes;
  EXPECT_EQ(lacking_indexes(is, wanted), "");
}

}  // namespace
}  // namespace freshet
