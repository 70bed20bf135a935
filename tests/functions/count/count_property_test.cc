// Random writes, batches that come again, handlers that are ended wherever they wait (a crash or a timeout), mappings
// that skip records: in the end the counters are what a recount says.
#include <gtest/gtest.h>

#include <memory>

#include "tests/functions/count/count_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

class CountRun {
 public:
  CountRun(uint64_t seed, bool late) : world_(late, seed), random_(seed), seed_(seed) {}

  void go() {
    for (uint64_t i = random_.below(300); i > 0; --i) write();  // Items that exist before anything is counted.
    next_ = 1 + random_.below(last() + 1);
    for (int step = 0; step < 120; ++step) {
      for (uint64_t i = random_.below(4); i > 0; --i) write();
      deliver();
    }
    write();
    while (next_ <= last()) deliver();
    EXPECT_EQ(world_.states(), world_.recount()) << "seed " << seed_;
    EXPECT_TRUE(skipped_ || moves() == expected_) << "seed " << seed_;
  }

 private:
  uint64_t last() { return world_.wait(world_.store->stream_bounds("Parcels"))->next - 1; }

  void write() {
    const std::string id = std::to_string(random_.below(40));
    const uint64_t what = random_.below(10);
    if (what == 0) world_.remove_parcel(id);
    if (what == 1) world_.put_parcel(id, std::nullopt);
    if (what > 1) world_.put_parcel(id, Value(CountWorld::kStates[random_.below(4)]));
  }

  // One batch, perhaps of what came before, perhaps ended on its way while the table is written to.
  void deliver() {
    uint64_t from = next_;
    if (begun_ && random_.below(3) == 0) from -= random_.below(std::min<uint64_t>(from - first_, 20) + 1);
    StreamBatch batch = world_.batch(from, static_cast<uint32_t>(1 + random_.below(30)));
    if (batch.records.empty()) return;
    if (!begun_) first_ = from;
    begun_ = true;
    const std::vector<ChangeRecord> records = batch.records;
    Context context{*world_.services, world_.function, world_.invocation(Payload(std::move(batch)))};
    auto running = std::make_unique<Async<Result<std::string>>>(count_states(context, world_.log));
    while (!running->is_ready()) {
      world_.pass(milliseconds(random_.below(5)));
      if (random_.below(4) == 0) write();
      if (random_.below(20) == 0) return;  // Ended. The same comes again.
    }
    const auto answer = running->take();
    ASSERT_TRUE(answer) << answer.error().message << ", seed " << seed_;
    for (const ChangeRecord& record : records) expect(record);
    next_ = std::max(next_, records.back().sequence + 1);
    if (random_.below(60) == 0) give_up();
  }

  void give_up() {  // As a mapping with few retries.
    if (next_ + 3 > last()) return;
    next_ += 3;
    skipped_ = true;
  }

  void expect(const ChangeRecord& record) {
    if (!seen_.insert(record.sequence).second) return;
    const std::string from = record.before ? CountWorld::state_of(record.before.decode()) : "(created)";
    const std::string to = record.after ? CountWorld::state_of(record.after.decode()) : "(removed)";
    if (from != to) ++expected_["transition#" + from + "#" + to];
  }
  std::map<std::string, int64_t> moves() {
    auto all = world_.counters();
    std::erase_if(all, [](const auto& entry) { return !entry.first.starts_with("transition#"); });
    return all;
  }

  CountWorld world_;
  Random random_;
  const uint64_t seed_;
  uint64_t next_ = 1;
  uint64_t first_ = 1;
  bool begun_ = false;
  bool skipped_ = false;
  std::set<uint64_t> seen_;
  std::map<std::string, int64_t> expected_;
};

TEST(CountProperty, IsWhatARecountSays) {
  for (const uint64_t seed : test_seeds(40)) CountRun(seed, false).go();
}

TEST(CountProperty, IsWhatARecountSaysOverAStoreThatAnswersLate) {
  for (const uint64_t seed : test_seeds(40)) CountRun(seed, true).go();
}

}  // namespace
}  // namespace freshet
