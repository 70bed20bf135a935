#include "tables/traits.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tables/engine/embedded_traits.h"

namespace freshet {
namespace {

constexpr Trait kAll[] = {Trait::kImmediate,    Trait::kSoleWriter, Trait::kExactIndex,   Trait::kBooks,
                          Trait::kTransactions, Trait::kStream,     Trait::kSingleStream, Trait::kFullImages,
                          Trait::kPromptTtl,    Trait::kAllSettings};

TEST(Traits, TheEmbeddedStoreHasAll) {
  for (const Trait trait : kAll) EXPECT_TRUE(kEmbeddedTraits.has(trait)) << trait_name(trait);
}

TEST(Traits, AStoreThatSaysNothingHasNoneAndEachHasAName) {
  std::set<std::string_view> names;
  for (const Trait trait : kAll) {
    EXPECT_FALSE(StoreTraits{}.has(trait)) << trait_name(trait);
    EXPECT_TRUE(names.insert(trait_name(trait)).second) << trait_name(trait);
  }
}

TEST(Traits, AShardedStreamIsAStream) {
  StoreTraits traits;
  traits.stream = StreamShape::kSharded;
  EXPECT_TRUE(traits.has(Trait::kStream));
  EXPECT_FALSE(traits.has(Trait::kSingleStream));
}

TEST(Traits, ARefusalNamesWhoAndAllThatIsMissing) {
  StoreTraits traits = kEmbeddedTraits;
  EXPECT_TRUE(require_traits(traits, "queue 'A'", {Trait::kBooks, Trait::kExactIndex}));
  traits.books = false;
  traits.exact_index = false;
  const auto refused = require_traits(traits, "queue 'A'", {Trait::kBooks, Trait::kTransactions, Trait::kExactIndex});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kValidation);
  EXPECT_EQ(refused.error().message,
            "queue 'A' cannot work on this store, which lacks what it needs: books, exact indexes");
}

}  // namespace
}  // namespace freshet
