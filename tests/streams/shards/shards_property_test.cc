// Random trees of shards, faults, trims and restarts: whatever happens, each change of an item that the engine keeps is
// handed on at least once and in order, and a shard's records never before those of its ancestors.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/streams/shards/shard_world.h"

namespace freshet {
namespace {

constexpr uint64_t kSeeds = 400;
constexpr int kSteps = 120;
constexpr int kItems = 6;

struct Totals {
  int restarts = 0, splits = 0, merges = 0, trims = 0, gaps = 0, again = 0, records = 0;
};

class ShardProperty {
 public:
  ShardProperty(uint64_t seed, Totals& totals) : totals_(totals), random_(seed * 7 + 1), world_(seed, kItems) {
    FakeEngine& engine = world_.engine;
    if (random_.below(2)) engine.expired = 0.1;
    if (random_.below(2)) engine.fails = 0.1;
    if (random_.below(2)) engine.empty = 0.3;
    trims_ = random_.below(2) == 1;
    for (uint64_t i = random_.below(10); i > 0; --i) write();
    world_.begin();
  }

  void run() {
    for (int i = 0; i < kSteps; ++i) step();
    FakeEngine& engine = world_.engine;
    engine.expired = engine.fails = engine.empty = 0;
    if (random_.below(2)) engine.switch_off();
    // A read of each shard takes part of a second, and a list of them a second.
    for (int i = 0; i < 60 && !all_seen(); ++i) take(seconds(10));
    ASSERT_TRUE(all_seen());
    if (engine.is_on) return;
    for (int i = 0; i < 60 && !world_.stream->end(); ++i) take(seconds(10));
    EXPECT_TRUE(world_.stream->end()) << "the stream is off, and all of it was read";
  }

 private:
  void step() {
    FakeEngine& engine = world_.engine;
    const std::vector<size_t> open = engine.open_shards();
    switch (random_.below(12)) {
      case 0:
        if (const size_t one = random_.below(open.size()); engine.tree[open[one]].items.size() > 1) {
          engine.split(open[one]);
          ++totals_.splits;
        }
        break;
      case 1:
        if (open.size() > 1) {
          const size_t one = random_.below(open.size());
          engine.merge(open[one], open[(one + 1) % open.size()]);
          ++totals_.merges;
        }
        break;
      case 2:
        if (trims_ && engine.last_number() > engine.trimmed) {
          engine.trim(engine.trimmed + random_.below(engine.last_number() - engine.trimmed + 1));
          ++totals_.trims;
        }
        break;
      case 3:
        world_.restart();
        ++totals_.restarts;
        pending_.clear();
        in_this_life_.clear();
        handed_ = processed_;
        world_.attach();
        break;
      case 4:
      case 5:
        process();
        break;
      case 6:
      case 7:
        take(milliseconds(static_cast<int64_t>(random_.below(3000))));
        break;
      default:
        for (uint64_t i = 1 + random_.below(8); i > 0; --i) write();
    }
  }

  void write() { world_.engine.write(static_cast<int>(random_.below(kItems))); }

  void take(nanoseconds time) {
    for (const ChangeRecord& record : world_.read(time)) check(record);
  }

  // Some of what was handed on is processed, in order, and stored as such.
  void process() {
    size_t count = random_.below(pending_.size() + 1);
    uint64_t to = world_.stream->oldest();
    if (count == pending_.size() && random_.below(2)) to = world_.next;
    for (; count > 0; --count) {
      to = std::max(to, pending_.front().first + 1);
      processed_.insert(pending_.front().second);
      pending_.pop_front();
    }
    world_.must(world_.stream->save(to, {}));
  }

  void check(const ChangeRecord& record) {
    const Item item = record.after.decode();
    const int id = std::stoi(std::string(item.string_or("id").substr(1)));
    const int version = static_cast<int>(item.int_or("version", 0));
    ++totals_.records;
    const auto [last, first] = in_this_life_.try_emplace(id, 0);
    if (first) {
      // None that was not processed is missing, and none that was processed comes again without a trim.
      const bool again = processed_.contains({id, version});
      EXPECT_FALSE(again && !trims_) << "item " << id << " version " << version;
      for (int gone = version - 1; gone > 0 && !processed_.contains({id, gone}); --gone) expect_trimmed(id, gone);
    } else {
      EXPECT_GT(version, last->second) << "item " << id << " in order";
      for (int gone = last->second + 1; gone < version; ++gone) expect_trimmed(id, gone);
    }
    last->second = version;
    const ShardOrder::Name* name = world_.stream->name(record.sequence);
    ASSERT_TRUE(name);
    std::set<std::string> looked_at;
    for (const std::string& parent : world_.engine.shard(name->shard).parents) expect_handed_on(parent, looked_at);
    handed_.insert({id, version});
    if (!ever_handed_on_.insert({id, version}).second) ++totals_.again;
    pending_.push_back({record.sequence, {id, version}});
  }

  void expect_trimmed(int id, int version) {
    ++totals_.gaps;
    for (const FakeEngine::Shard& shard : world_.engine.tree) {
      for (const FakeEngine::Change& change : shard.changes) {
        if (change.item == id && change.version == version) {
          EXPECT_FALSE(change.kept) << "item " << id << " version " << version << " is missing";
        }
      }
    }
  }

  void expect_handed_on(const std::string& id, std::set<std::string>& looked_at) {
    if (!looked_at.insert(id).second) return;
    const FakeEngine::Shard& shard = world_.engine.shard(id);
    for (const FakeEngine::Change& change : shard.changes) {
      if (!change.kept) continue;
      EXPECT_TRUE(handed_.contains({change.item, change.version})) << "a child before its parent " << id;
    }
    for (const std::string& parent : shard.parents) expect_handed_on(parent, looked_at);
  }

  bool all_seen() const {
    for (const FakeEngine::Shard& shard : world_.engine.tree) {
      for (const FakeEngine::Change& change : shard.changes) {
        if (change.kept && !handed_.contains({change.item, change.version})) return false;
      }
    }
    return true;
  }

  using Version = std::pair<int, int>;  // Item and version.
  Totals& totals_;
  Random random_;
  ShardWorld world_;
  bool trims_ = false;
  std::deque<std::pair<uint64_t, Version>> pending_;  // Handed on, and not processed.
  std::set<Version> processed_;                       // And stored as such.
  std::set<Version> handed_;                          // Processed, or handed on since the last restart.
  std::set<Version> ever_handed_on_;
  std::map<int, int> in_this_life_;  // By item: the version that was handed on last.
};

TEST(ShardProperty, EachChangeIsHandedOnAtLeastOnceAndInOrder) {
  Totals totals;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ShardProperty property(seed, totals);
    property.run();
    if (testing::Test::HasFailure()) return;
  }
  // All of it came about.
  EXPECT_GT(totals.restarts, 1000);
  EXPECT_GT(totals.splits, 1000);
  EXPECT_GT(totals.merges, 1000);
  EXPECT_GT(totals.trims, 500);
  EXPECT_GT(totals.gaps, 100) << "changes that were trimmed before they were read";
  EXPECT_GT(totals.again, 100) << "changes that were handed on again after a restart";
  EXPECT_GT(totals.records, 50'000);
}

}  // namespace
}  // namespace freshet
