// Random operations on a store, a crash at any file call, and what recovery returns: a prefix of what was applied,
// without holes, that has every acknowledged write, books and streams included. The seed is the whole bug report:
// FRESHET_SEED=n runs that one alone, FRESHET_SEEDS=n so many.
#include <gtest/gtest.h>

#include "tests/sim/seeds.h"
#include "tests/tables/engine/store_work.h"

namespace freshet {
namespace {

struct Totals {
  uint64_t operations = 0;
  uint64_t moved = 0;
  uint64_t expired = 0;
  uint64_t throttled = 0;
  uint64_t lost = 0;  // Applied, not acknowledged, not recovered.
  int crashes = 0;
};

class StoreCrashRun {
 public:
  StoreCrashRun(uint64_t seed, Totals& totals) : random_(seed), files_(random_.next()), totals_(totals) {
    options_.directory = "data";
    options_.segment_bytes = 8192 << random_.below(2);
    const DurabilityMode modes[] = {DurabilityMode::kSync, DurabilityMode::kSync, DurabilityMode::kInterval,
                                    DurabilityMode::kNone};
    options_.durability = {modes[random_.below(4)], milliseconds(random_.below(50))};
    options_.stream_memory_bytes = random_.below(2) ? 3000 : 1u << 20;
    options_.stream_max_bytes = random_.below(2) ? 20'000 : 1u << 20;
    options_.move_step_bytes = 500 + random_.below(3000);
    options_.ttl_step = 1 + random_.below(5);
    if (random_.below(2) == 0) options_.sync_beside = &beside_;
    if (random_.below(2) == 0) options_.log_chores = &chores_;
    options_.check_dead_segments = true;
    options_.sync_beside_bytes = random_.below(2000);
    options_.max_batch_bytes = 300 + random_.below(3000);
    if (random_.below(4) == 0) options_.max_data_bytes = 150'000 + random_.below(100'000);
  }

  void run() {
    for (uint64_t lives = 1 + random_.below(5); lives > 0 && !testing::Test::HasFailure(); --lives) {
      crash_soon();
      if (open()) {
        crash_soon();
        live();
      }
      end_life();
    }
    if (testing::Test::HasFailure()) return;
    ASSERT_TRUE(open()) << "without a crash it always opens";
  }

 private:
  void crash_soon() { files_.crash_at(files_.calls() + 1 + random_.below(random_.below(3) == 0 ? 40 : 1500)); }

  bool open() {
    auto opened = open_embedded(&files_, scheduler_, random_, options_);
    if (!opened) {
      EXPECT_TRUE(files_.crashed()) << opened.error().message;
      return false;
    }
    store_ = std::move(*opened);
    scheduler_.add(*store_);
    files_.crash_at(UINT64_MAX);  // Looking is no part of the test.
    compare();
    return true;
  }

  // Finds how far the recovered store is and goes on from there.
  void compare() {
    const std::string found = StoreModel::describe(*store_);
    const auto changes = StoreModel::changes(*store_);
    StoreModel model = work_.held();
    const auto& history = work_.history();
    size_t k = 0;
    const size_t least = power_lost_ && options_.durability.mode == DurabilityMode::kNone ? 0 : work_.acknowledged();
    const auto same = [&] { return model.changes() == changes && model.describe() == found; };
    while (k < least || (k < history.size() && !same())) model.apply(history[k++]);
    ASSERT_EQ(model.describe(), found) << "of " << history.size() << " operations, " << work_.acknowledged()
                                       << " acknowledged";
    EXPECT_EQ(model.check_streams(*store_), "");
    totals_.lost += history.size() - k;
    work_.begin(*store_, std::move(model));
  }

  void live() {
    work_.make_tables();
    for (int turn = 0; turn < 40 && !files_.crashed() && !testing::Test::HasFailure(); ++turn) work_.turn();
    work_.settle();
    totals_.operations += work_.history().size();
  }

  void end_life() {
    work_.end();
    if (store_) {
      const EmbeddedStats stats = store_->stats();
      totals_.moved += stats.moved_bytes;
      totals_.expired += stats.expired;
      totals_.throttled += stats.throttled;
      scheduler_.remove(*store_);
      store_.reset();
    }
    totals_.crashes += files_.crashed();
    power_lost_ = random_.below(3) != 0;
    power_lost_ ? files_.restart() : files_.restart_process();
  }

  Random random_;
  SimFiles files_;
  SimClock clock_{WallTime(seconds(1'700'000'000))};
  SimLoop scheduler_{clock_};
  SimSync beside_{files_, scheduler_, kLongestSync};
  SimWork chores_{files_, scheduler_, kLongestSync};
  EmbeddedOptions options_;
  std::unique_ptr<EmbeddedTables> store_;
  StoreWork work_{{random_, files_, clock_, scheduler_, options_}};
  bool power_lost_ = false;
  Totals& totals_;
};

TEST(StoreCrashTest, RecoveryReturnsAPrefixWithEverythingAcknowledged) {
  const auto seeds = test_seeds(120);
  Totals totals;
  for (const uint64_t seed : seeds) {
    if (HasFailure()) break;
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    StoreCrashRun(seed, totals).run();
  }
  std::printf("%llu operations, %d crashes, %llu lost, %llu bytes moved, %llu expired, %llu throttled\n",
              static_cast<unsigned long long>(totals.operations), totals.crashes,
              static_cast<unsigned long long>(totals.lost), static_cast<unsigned long long>(totals.moved),
              static_cast<unsigned long long>(totals.expired), static_cast<unsigned long long>(totals.throttled));
  if (seeds.size() < 100 || HasFailure()) return;  // With few seeds, none may be lost.
  EXPECT_GT(totals.crashes, 0);
  EXPECT_GT(totals.lost, 0u);
  EXPECT_GT(totals.moved, 0u);
  EXPECT_GT(totals.expired, 0u);
}

}  // namespace
}  // namespace freshet
