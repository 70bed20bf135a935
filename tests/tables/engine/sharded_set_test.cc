// The set against std::set, while its row grows, while it shrinks and between.
#include "tables/engine/sharded_set.h"

#include <absl/types/compare.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "base/random.h"

namespace freshet {
namespace {

struct Entry {
  uint64_t hash;
  uint64_t key;
  auto operator<=>(const Entry&) const = default;
};
struct Order {
  absl::weak_ordering operator()(const Entry& a, const Entry& b) const {
    if (a < b) return absl::weak_ordering::less;
    return b < a ? absl::weak_ordering::greater : absl::weak_ordering::equivalent;
  }
};
using Set = ShardedSet<Entry, Order>;

void expect_same(const Set& set, const std::set<Entry>& model) {
  ASSERT_EQ(set.size(), model.size());
  ASSERT_TRUE(std::equal(set.begin(), set.end(), model.begin(), model.end()));
  auto it = set.end();
  for (auto wanted = model.rbegin(); wanted != model.rend(); ++wanted) ASSERT_EQ(*--it, *wanted);
  ASSERT_TRUE(it == set.begin());
}

void expect_bounds(const Set& set, const std::set<Entry>& model, const Entry& probe) {
  const auto at = [&](auto it) { return it == set.end() ? std::optional<Entry>() : *it; };
  const auto in_model = [&](auto it) { return it == model.end() ? std::optional<Entry>() : *it; };
  ASSERT_EQ(at(set.lower_bound(probe)), in_model(model.lower_bound(probe)));
  ASSERT_EQ(at(set.upper_bound(probe)), in_model(model.upper_bound(probe)));
  ASSERT_EQ(set.place(probe).found(), model.contains(probe));
}

void compare_with_model(Set::Growth growth, size_t most) {
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Set set(Order{}, growth);
  std::set<Entry> model;
  // Few hashes at both ends and in the middle, so that many entries share one, and many spread ones.
  const auto draw = [&]() -> Entry {
    static constexpr uint64_t kShared[] = {0, 1, uint64_t{1} << 63, UINT64_MAX};
    const uint64_t hash = random.below(4) == 0 ? kShared[random.below(4)] : random.next();
    return {hash, random.below(1000)};
  };
  for (size_t i = 0; i < most; ++i) {
    const Entry entry = draw();
    set.prefetch(std::array{entry.hash, draw().hash});  // Changes nothing.
    if (random.below(2) == 0) {
      ASSERT_EQ(set.insert(entry), model.insert(entry).second);
    } else if (const auto place = set.place(entry); !place.found()) {
      set.insert(place, entry);
      model.insert(entry);
    }
    expect_bounds(set, model, draw());
    if (i % 512 == 0) expect_same(set, model);
  }
  expect_same(set, model);
  const size_t full = set.memory();
  for (size_t i = 0; model.size() > 10; ++i) {
    auto victim = model.lower_bound(draw());
    if (victim == model.end()) victim = model.begin();
    if (i % 2 == 0) {
      set.erase(set.place(*victim));
    } else {
      set.erase(set.lower_bound(*victim));
    }
    model.erase(victim);
    expect_bounds(set, model, draw());
    if (i % 512 == 0) expect_same(set, model);
  }
  expect_same(set, model);
  EXPECT_LT(set.memory(), full / 100 + 2000);
}

TEST(ShardedSet, IsAnOrderedSetWhileItIsSmall) {
  compare_with_model(Set::Growth::kSplits, 2000);
}

TEST(ShardedSet, IsTheSameSetInManyTrees) {
  compare_with_model(Set::Growth::kSplits, 20'000);
}

TEST(ShardedSet, IsTheSameSetInOneLargeTree) {
  compare_with_model(Set::Growth::kOneTree, 20'000);
}

// A large set that has become small and grows again: the trees that emptied have to be there again.
TEST(ShardedSet, GivesUpItsLastEntriesInSteps) {
  for (const auto growth : {Set::Growth::kSplits, Set::Growth::kOneTree}) {
    Random random(7);
    Set set(Order{}, growth);
    std::set<Entry> model;
    for (int round = 0; round < 3; ++round) {
      while (model.size() < 6000) {
        const Entry entry{random.next(), random.below(1000)};
        ASSERT_EQ(set.insert(entry), model.insert(entry).second);
      }
      while (model.size() > static_cast<size_t>(round)) {
        const size_t limit = std::min<size_t>(1 + random.below(500), model.size() - static_cast<size_t>(round));
        ASSERT_EQ(set.drop(limit), limit);
        model.erase(std::prev(model.end(), static_cast<std::ptrdiff_t>(limit)), model.end());
        ASSERT_EQ(set.size(), model.size());
      }
      expect_same(set, model);
      expect_bounds(set, model, {random.next(), 0});
    }
    EXPECT_EQ(set.drop(0), 0u);
    EXPECT_EQ(set.drop(10), 2u) << "what is left";
    EXPECT_EQ(set.drop(10), 0u);
    expect_same(set, {});
  }
}

// Many sets of a few thousand entries once took four megabytes each.
TEST(ShardedSet, TakesMemoryForWhatItHolds) {
  for (const size_t most : {1, 100, 9000, 200'000}) {
    Random random(most);
    Set set(Order{}, Set::Growth::kSplits);
    const size_t empty = set.memory();
    EXPECT_LT(empty, 100u);
    std::vector<Entry> all;
    for (size_t i = 0; i < most; ++i) {
      all.push_back({random.next(), i});
      ASSERT_TRUE(set.insert(all.back()));
    }
    EXPECT_LT(set.memory(), 80 * most + 200) << most;
    for (const Entry& entry : all) set.erase(set.place(entry));
    EXPECT_EQ(set.memory(), empty) << most;
  }
}

// If entries share their hashes, at most as many trees as there are hashes would hold any.
TEST(ShardedSet, DoesNotGrowForEntriesThatShareAHash) {
  Set set(Order{}, Set::Growth::kSplits);
  std::set<Entry> model;
  for (uint64_t key = 0; key < 20'000; ++key) {
    for (const uint64_t hash : {uint64_t{7}, uint64_t{1} << 63}) {
      set.insert({hash, key});
      model.insert({hash, key});
    }
  }
  expect_same(set, model);
  EXPECT_LT(set.memory(), 40'000 * 40u);
}

// Two large partitions stand in one tree until others come: then they are moved apart, a few entries a change.
TEST(ShardedSet, MovesALargeTreeInSteps) {
  Random random(3);
  Set set(Order{}, Set::Growth::kSplits);
  std::set<Entry> model;
  const auto add = [&](const Entry& entry) {
    ASSERT_EQ(set.insert(entry), model.insert(entry).second);
    expect_bounds(set, model, {random.below(2) == 0 ? entry.hash : 7 + (random.below(3) << 61), random.below(9000)});
  };
  for (uint64_t key = 0; key < 4000; ++key) {
    add({7, key});
    add({7 + (uint64_t{1} << 61), key});
  }
  for (uint64_t i = 0; i < 2000; ++i) {
    add({random.next(), i});
    if (i % 16 != 0) continue;
    expect_same(set, model);
    const auto place = set.place(Entry{7, i});
    ASSERT_TRUE(place.found());
    set.erase(place);
    model.erase({7, i});
  }
  expect_same(set, model);
}

TEST(ShardedSet, IsFilledInOrder) {
  Set set(Order{}, Set::Growth::kSplits);
  std::set<Entry> model;
  for (uint64_t i = 0; i < 10'000; ++i) model.insert({i * (UINT64_MAX / 10'000), i});
  EXPECT_TRUE(set.begin() == set.end());
  for (const Entry& entry : model) set.append(entry);
  expect_same(set, model);
}

}  // namespace
}  // namespace freshet
