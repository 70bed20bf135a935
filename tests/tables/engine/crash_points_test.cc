// Every point of a crash: a fixed work of 300 operations, with rotation, compaction and recovery. Before each file call
// the power is cut, and what may then be on the disk is opened: each subset of what was not synced, and torn writes.
// Recovery must return a prefix of the work that has every acknowledged operation. Then the power is cut within that
// recovery, and the next one must return the same kind of prefix.
//
// FRESHET_CRASH_IMAGES=n checks about that many images of each work instead of a few thousand (`./test.sh release`).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "tests/tables/engine/store_work.h"

namespace freshet {
namespace {

using Fates = std::vector<SimFiles::Fate>;

constexpr size_t kOperations = 300;
constexpr size_t kAllSubsets = 8;     // Up to this many unsynced changes, every subset is tried,
constexpr size_t kSomeSubsets = 256;  // of more so many.
constexpr uint64_t kUsualImages = 25'000;

struct Settings {
  const char* name;
  DurabilityMode durability;
  bool beside;  // Syncs and chores run beside the loop.
  uint64_t seed;
};

// The store's content after each operation of the work, by its text.
struct Expected {
  std::vector<StoreModel> models;
  std::multimap<std::string, size_t> by_text;
};

// The disk at one moment, and what a recovery must find there.
struct Moment {
  const SimFiles& files;
  size_t acknowledged;
  WallTime wall;
};

class Work {
 public:
  explicit Work(const Settings& settings) : random_(settings.seed), files_(random_.next()) {
    options_.directory = "data";
    options_.segment_bytes = 8192;
    options_.durability = {settings.durability, milliseconds(20)};
    options_.stream_memory_bytes = 3000;
    options_.stream_max_bytes = 20'000;
    options_.move_step_bytes = 1500;
    options_.ttl_step = 3;
    options_.max_batch_bytes = 3000;
    options_.max_data_bytes = 200'000;
    if (settings.beside) {
      options_.sync_beside = &beside_;
      options_.log_chores = &chores_;
      options_.sync_beside_bytes = 500;
    }
  }

  // `look` is called before each file call and at the end.
  void run(const std::function<void(const Moment&)>& look) {
    const auto moment = [&] { return Moment{files_, work_.acknowledged(), clock_.wall()}; };
    if (look) files_.on_call([&](const std::string&) { look(moment()); });
    auto opened = open_embedded(&files_, scheduler_, random_, options_);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
    scheduler_.add(*store_);
    work_.begin(*store_, {});
    work_.make_tables();
    while (work_.history().size() < kOperations && !testing::Test::HasFailure()) work_.turn();
    work_.settle();
    files_.on_call(nullptr);
    if (look) look(moment());
    stats_ = store_->stats();
    work_.end();
    scheduler_.remove(*store_);
    store_.reset();
  }

  Expected expected() const {
    Expected all;
    StoreModel model;
    for (size_t k = 0;; ++k) {
      all.models.push_back(model);
      all.by_text.emplace(model.describe(), k);
      if (k == work_.history().size()) return all;
      model.apply(work_.history()[k]);
    }
  }

  EmbeddedOptions options_of_recovery() const {
    EmbeddedOptions options = options_;
    options.sync_beside = nullptr;
    options.log_chores = nullptr;
    return options;
  }
  const EmbeddedStats& stats() const { return stats_; }
  uint64_t calls() const { return files_.calls(); }

 private:
  Random random_;
  SimFiles files_;
  SimClock clock_{WallTime(seconds(1'700'000'000))};
  SimLoop scheduler_{clock_};
  SimSync beside_{files_, scheduler_, kLongestSync};
  SimWork chores_{files_, scheduler_, kLongestSync};
  EmbeddedOptions options_;
  std::unique_ptr<EmbeddedTables> store_;
  StoreWork work_{{random_, files_, clock_, scheduler_, options_}};
  EmbeddedStats stats_;
};

// Everything that a power cut may leave: subsets whole, then each write torn, with the others there and without them.
std::vector<Fates> outcomes(const std::vector<uint64_t>& unsynced, Random& random) {
  std::vector<Fates> all;
  const size_t n = unsynced.size();
  if (n <= kAllSubsets) {
    for (uint64_t subset = 0; subset < (1ull << n); ++subset) {
      Fates& fates = all.emplace_back();
      for (size_t i = 0; i < n; ++i) fates.push_back({.kept = (subset >> i & 1) != 0});
    }
  } else {
    all.emplace_back(n, SimFiles::Fate{.kept = false});
    all.emplace_back(n, SimFiles::Fate{});
    while (all.size() < kSomeSubsets) {
      Fates& fates = all.emplace_back();
      for (size_t i = 0; i < n; ++i) fates.push_back({.kept = random.below(2) == 0});
    }
  }
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bytes = unsynced[i];
    if (bytes == 0) continue;
    const SimFiles::Fate parts[] = {
        {true, 0, 1}, {true, 0, bytes / 2}, {true, 0, bytes - 1}, {true, bytes / 2, bytes}, {true, 1, bytes}};
    for (const SimFiles::Fate& part : parts) {
      for (const bool others : {false, true}) {
        Fates& fates = all.emplace_back(n, SimFiles::Fate{.kept = others});
        fates[i] = part;
      }
    }
  }
  return all;
}

class Images {
 public:
  // There are `possible` images with one more crash in the recovery of each; about `wanted` are checked: every n-th,
  // or, if more are wanted than exist, with more crashes in each recovery.
  Images(const Expected& expected, EmbeddedOptions options, uint64_t seed, uint64_t possible, uint64_t wanted)
      : expected_(expected),
        options_(std::move(options)),
        random_(seed),
        each_(std::max<uint64_t>(1, 2 * possible / wanted)),
        crashes_(std::max<uint64_t>(2, wanted / possible) - 1) {}

  void check(const Moment& moment) {
    const auto unsynced = moment.files.unsynced();
    for (const Fates& fates : outcomes(unsynced, random_)) {
      if (seen_++ % each_ != 0 || testing::Test::HasFailure()) continue;
      const uint64_t seed = random_.next();
      const uint64_t calls = open_one(*moment.files.after_power_cut(fates, seed), moment, "image");
      for (uint64_t i = 0; i < crashes_; ++i) {
        const auto again = moment.files.after_power_cut(fates, seed + i);
        again->crash_at(1 + next_call_++ % calls);  // In turn, so that none is left out.
        crash_in_recovery(*again, moment.wall);
        again->restart();
        open_one(*again, moment, "image after a crash in its recovery");
      }
    }
  }

  uint64_t checked() const { return checked_; }
  const std::set<size_t>& found() const { return found_; }

 private:
  // The number of calls that opening it took.
  uint64_t open_one(SimFiles& files, const Moment& moment, const char* what) {
    ++checked_;
    SimClock clock{moment.wall};
    SimLoop scheduler{clock};
    const uint64_t before = files.calls();
    auto opened = open_embedded(&files, scheduler, random_, options_);
    const uint64_t calls = files.calls() - before;
    if (!opened) {
      ADD_FAILURE() << what << " " << checked_ << " does not open: " << opened.error().message;
      return calls;
    }
    EmbeddedTables& store = **opened;
    const std::string text = StoreModel::describe(store);
    const auto [from, to] = expected_.by_text.equal_range(text);
    for (auto it = from; it != to; ++it) {
      const size_t k = it->second;
      if (k < moment.acknowledged || !expected_.models[k].check_streams(store).empty()) {
        continue;
      }
      found_.insert(k);
      return calls;
    }
    ADD_FAILURE() << what << " " << checked_ << ": " << moment.acknowledged
                  << " operations are acknowledged, and it holds none of the states since, but\n"
                  << text;
    return calls;
  }

  void crash_in_recovery(SimFiles& files, WallTime wall) {
    SimClock clock{wall};
    SimLoop scheduler{clock};
    const auto opened = open_embedded(&files, scheduler, random_, options_);
  }

  const Expected& expected_;
  const EmbeddedOptions options_;
  Random random_;
  const uint64_t each_;
  const uint64_t crashes_;
  uint64_t next_call_ = 0;
  uint64_t seen_ = 0;
  uint64_t checked_ = 0;
  std::set<size_t> found_;
};

class CrashPointsTest : public testing::TestWithParam<Settings> {};

TEST_P(CrashPointsTest, EveryImageRecoversToAPrefixWithEverythingAcknowledged) {
  Work first(GetParam());
  first.run(nullptr);
  const Expected expected = first.expected();
  uint64_t possible = 0;
  {
    Random random(1);
    Work counted(GetParam());
    counted.run([&](const Moment& moment) { possible += outcomes(moment.files.unsynced(), random).size(); });
  }
  const char* wanted = std::getenv("FRESHET_CRASH_IMAGES");
  const uint64_t images = std::max<uint64_t>(1, wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : kUsualImages);
  Images all(expected, first.options_of_recovery(), GetParam().seed, possible, images);
  Work again(GetParam());
  again.run([&](const Moment& moment) { all.check(moment); });
  std::printf("%s: %llu calls, %llu images possible, %llu checked, %zu states found, %llu bytes moved\n",
              GetParam().name, static_cast<unsigned long long>(again.calls()),
              static_cast<unsigned long long>(possible), static_cast<unsigned long long>(all.checked()),
              all.found().size(), static_cast<unsigned long long>(again.stats().moved_bytes));
  EXPECT_GT(again.stats().moved_bytes, 0u);
}

constexpr Settings kSettings[] = {{"sync", DurabilityMode::kSync, false, 1},
                                  {"beside", DurabilityMode::kSync, true, 2},
                                  {"interval", DurabilityMode::kInterval, false, 3},
                                  {"none", DurabilityMode::kNone, true, 4}};

INSTANTIATE_TEST_SUITE_P(Works, CrashPointsTest, testing::ValuesIn(kSettings),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace freshet
