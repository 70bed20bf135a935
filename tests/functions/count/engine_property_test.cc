// count_states on an engine: random writes, shards in any order, batches that come again, handlers that are ended
// wherever they wait, losses. In the end the counters are what a recount says.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "tests/functions/count/engine_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

class EngineCountRun {
 public:
  EngineCountRun(uint64_t seed, bool late) : world_(late, seed), random_(seed + 1), seed_(seed) {}

  void go() {
    for (uint64_t i = random_.below(300); i > 0; --i) write();
    if (random_.below(2) == 0) world_.begin_at_latest();
    for (int step = 0; step < 120 && !::testing::Test::HasFatalFailure(); ++step) {
      for (uint64_t i = random_.below(4); i > 0; --i) write();
      if (random_.below(15) == 0) world_.replace_shards();
      deliver();
    }
    is_calm_ = true;
    write();
    write();
    for (int left = 1000; left > 0 && (world_.collect(), world_.has_more()); --left) deliver();
    ASSERT_FALSE(world_.has_more()) << "seed " << seed_;
    EXPECT_EQ(world_.states(), world_.recount()) << "seed " << seed_;
    EXPECT_TRUE(lost_ || moves() == expected_) << "seed " << seed_;
  }

 private:
  void write() {
    const std::string id = std::to_string(random_.below(120));
    const uint64_t what = random_.below(10);
    if (what == 0) world_.remove_parcel(id);
    if (what == 1) world_.put_parcel(id, std::nullopt);
    if (what > 1) world_.put_parcel(id, Value(CountWorld::kStates[random_.below(4)]));
  }

  // One batch, perhaps ended on its way, while the table is written to.
  void deliver() {
    world_.collect();
    if (!is_calm_ && random_.below(10) == 0) world_.restart();
    StreamBatch batch = world_.next_batch(1 + random_.below(60));
    if (batch.records.empty()) return;
    const StreamBatch copy = batch;
    Context context{*world_.services, world_.function, world_.invocation(Payload(std::move(batch)))};
    auto running = std::make_unique<Async<Result<std::string>>>(count_states(context, world_.log));
    while (!running->is_ready()) {
      world_.pass(milliseconds(random_.below(5)));
      if (is_calm_) continue;
      if (random_.below(4) == 0) write();
      if (random_.below(25) == 0) return;  // Ended. The same comes again.
    }
    const auto answer = running->take();
    ASSERT_TRUE(answer) << answer.error().message << ", seed " << seed_;
    for (size_t i = 0; i < copy.records.size(); ++i) expect(copy.records[i], copy.names[i]);
    world_.delivered();
    if (is_calm_) return;
    if (random_.below(2) == 0) world_.save();
    if (random_.below(60) == 0) lost_ = world_.lose_one(random_.below(EngineCountWorld::kLineages)) || lost_;
  }

  void expect(const ChangeRecord& record, const RecordName& name) {
    if (!seen_.insert(name.shard + name.number).second) return;
    const std::string from = record.before ? CountWorld::state_of(record.before.decode()) : "(created)";
    const std::string to = record.after ? CountWorld::state_of(record.after.decode()) : "(removed)";
    if (from != to) ++expected_["transition#" + from + "#" + to];
  }
  std::map<std::string, int64_t> moves() {
    auto all = world_.counters();
    std::erase_if(all, [](const auto& entry) { return !entry.first.starts_with("transition#"); });
    return all;
  }

  EngineCountWorld world_;
  Random random_;
  const uint64_t seed_;
  bool is_calm_ = false;  // The end: no faults any more.
  bool lost_ = false;
  std::set<std::string> seen_;
  std::map<std::string, int64_t> expected_;
};

TEST(EngineCountProperty, IsWhatARecountSays) {
  for (const uint64_t seed : test_seeds(40)) EngineCountRun(seed, false).go();
}

TEST(EngineCountProperty, IsWhatARecountSaysOverAStoreThatAnswersLate) {
  for (const uint64_t seed : test_seeds(40)) EngineCountRun(seed, true).go();
}

}  // namespace
}  // namespace freshet
