// Random operations on a log, a crash at any file call, and what recovery returns: a prefix without holes that has
// everything that was acknowledged. The seed is the whole bug report: FRESHET_SEED=n runs that one alone,
// FRESHET_SEEDS=n the first n.
#include "runtime/loop/sim_loop.h"
#include "tests/sim/seeds.h"
#include "tests/tables/log/log_fixture.h"

namespace freshet {
namespace {

class CrashRun {
 public:
  explicit CrashRun(uint64_t seed) : random_(seed), files_(random_.next()) {
    options_.directory = "data";
    options_.segment_bytes = 4096;
    options_.new_log_id = random_.next();
    const DurabilityMode modes[] = {DurabilityMode::kSync, DurabilityMode::kInterval, DurabilityMode::kNone};
    options_.durability = {modes[random_.below(3)], milliseconds(random_.below(50))};
    if (random_.below(2) == 0) options_.beside = &beside_;
    if (random_.below(2) == 0) options_.chores = &chores_;
    options_.beside_bytes = random_.below(2000);
    if (random_.below(4) == 0) files_.set_disk_bytes(20'000 + random_.below(60'000));
  }

  void run() {
    for (int life = 0; life < 6 && !testing::Test::HasFailure(); ++life) {
      files_.crash_at(files_.calls() + 1 + random_.below(random_.below(2) == 0 ? 30 : 300));
      live();
      log_.reset();
      if (random_.below(3) == 0) {
        files_.restart_process();
      } else {
        files_.restart();
        written_ = durable_;  // The page cache is lost.
      }
    }
    if (testing::Test::HasFailure()) return;
    ASSERT_TRUE(open());  // Without a crash it always opens.
    check_reading();
  }

 private:
  bool open() {
    log_.reset();
    uint64_t next = 0;  // Sequence; 0 before the first.
    auto opened = open_log(files_, options_, [&](const LogBatch& batch) -> Result<void> {
      if (next == 0) {
        EXPECT_LE(batch.sequence, must_replay_from_) << "a batch that is not retired is missing";
        next = batch.sequence;
      }
      EXPECT_EQ(batch.sequence, next++);
      EXPECT_LE(batch.sequence, appended_.size());
      if (batch.sequence > appended_.size()) return {};
      EXPECT_EQ(batch.payload, appended_[batch.sequence - 1]);
      return {};
    });
    if (!opened) {
      EXPECT_TRUE(files_.crashed() || opened.error().code == ErrorCode::kDiskFull) << opened.error().message;
      return false;
    }
    log_ = std::move(*opened);
    EXPECT_GE(log_->last_sequence(), written_);
    EXPECT_LE(log_->last_sequence(), appended_.size());
    EXPECT_TRUE(next == 0 || next == log_->last_sequence() + 1);
    appended_.resize(log_->last_sequence());
    durable_ = written_ = log_->last_sequence();  // Opening syncs what it keeps.
    return true;
  }

  void live() {
    if (!open()) return;
    for (int step = 0; step < 200 && !files_.crashed(); ++step) {
      scheduler_.run_for(milliseconds(random_.below(20)));
      switch (random_.below(10)) {
        case 0:
          retire();
          break;
        case 1:
          static_cast<void>(log_->remove_oldest());
          break;
        case 2:
          log_->set_reserve(random_.below(20'000));
          break;
        case 3:
        case 4:
        case 5:
          sync();
          break;
        default:
          append();
      }
    }
  }

  void append() {
    const uint64_t kind = random_.below(20);
    const uint64_t most = kind == 0 ? 10'000 : kind < 5 ? 1500 : 100;
    std::string payload(random_.below(most), '\0');
    for (char& c : payload) c = static_cast<char>(random_.below(4));
    const auto at = log_->append(random_.below(5) == 0 ? BatchKind::kMove : BatchKind::kCommit, payload);
    // A failed append may have got to the disk as a whole: neither acknowledged nor excluded.
    if (at || at.error().code != ErrorCode::kDiskFull) appended_.push_back(std::move(payload));
    if (at) written_ = appended_.size();
  }

  void sync() {
    const Waiting who[] = {Waiting::kMany, Waiting::kFew, Waiting::kBusy};
    const bool all = random_.below(4) != 0;
    const uint64_t wanted = all ? log_->last_sequence() : random_.below(log_->last_sequence() + 1);
    const bool done = log_->sync(clock_.boot(), who[random_.below(3)], wanted).has_value();
    if (done && options_.durability.mode != DurabilityMode::kNone) {
      durable_ = std::max(durable_, log_->durable_sequence());
      const bool at_once = options_.durability.mode == DurabilityMode::kSync && options_.beside == nullptr;
      EXPECT_TRUE(!at_once || durable_ >= wanted);
    }
  }

  void retire() {
    const auto segments = log_->segments();
    if (segments.size() < 2) return;
    const SegmentInfo& last = segments[random_.below(segments.size() - 1)];
    log_->retire_through(last.id);
    must_replay_from_ = std::max(must_replay_from_, segments[last.id + 1 - segments.front().id].first_sequence);
  }

  void check_reading() {
    uint64_t sequence = log_->segments().front().first_sequence;
    for (const SegmentInfo& segment : log_->segments()) {
      EXPECT_EQ(segment.first_sequence, sequence);
      for (LogPosition at{segment.id, 0}; at.offset < segment.bytes;) {
        const auto next = log_->read(at, 1 + random_.below(3000), [&](const LogBatch& batch) -> Result<void> {
          EXPECT_EQ(batch.sequence, sequence);
          EXPECT_EQ(batch.payload, appended_[sequence - 1]);
          ++sequence;
          return {};
        });
        ASSERT_TRUE(next) << next.error().message;
        at = *next;
      }
    }
    EXPECT_EQ(sequence, log_->last_sequence() + 1);
  }

  Random random_;
  SimFiles files_;
  LogOptions options_;
  SimClock clock_{WallTime(seconds(1'700'000'000))};
  SimLoop scheduler_{clock_};
  SimSync beside_{files_, scheduler_, milliseconds(30)};
  SimWork chores_{files_, scheduler_, milliseconds(30)};
  std::unique_ptr<Log> log_;
  Strings appended_;               // By sequence - 1; the last may be in doubt.
  uint64_t written_ = 0;           // Appended without an error up to there; a power loss takes it back to durable_.
  uint64_t durable_ = 0;           // Known durable up to there.
  uint64_t must_replay_from_ = 1;  // First sequence that was never retired.
};

TEST(LogCrashTest, RecoveryReturnsAPrefixWithEverythingAcknowledged) {
  for (const uint64_t seed : test_seeds(400)) {
    if (testing::Test::HasFailure()) return;
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    CrashRun(seed).run();
  }
}

}  // namespace
}  // namespace freshet
