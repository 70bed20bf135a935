// Random calls against a plain model of the queue, on simulated time; and many consumers at once on a store that
// answers late. The seed is the whole bug report.
#include <algorithm>

#include "tests/functions/priority/priority_world.h"

namespace freshet::priority {
namespace {

constexpr int64_t kMaxFailures = 3;
constexpr int kRecords = 8;

struct ModelRecord {
  std::string status = "UNDER_CONSTRUCTION";
  RecordPlace place = RecordPlace::kOutside;
  int64_t version = 1;
  uint64_t turn = 0;  // Its place in the order.
  int64_t due_ms = 0;
  int64_t failures = 0;
  std::string receipt;  // The receipt of the last peek, until something settles it.
};

class Model {
 public:
  std::map<std::string, ModelRecord> records;
  uint64_t turns = 0;

  void out(ModelRecord& r) {
    if (r.place == RecordPlace::kDead) r.failures = 0;
    r.place = RecordPlace::kOutside;
    r.receipt.clear();
    r.turn = ++turns;
  }
  // A completed record leaves the queue where a peek or a sweep meets it. Its receipt stays good.
  void finish(ModelRecord& r) {
    ++r.version;
    r.place = RecordPlace::kOutside;
    r.turn = ++turns;
  }
  void dead(ModelRecord& r) {
    r.place = RecordPlace::kDead;
    r.status = "IN_DLQ";
    r.receipt.clear();
    r.turn = ++turns;
  }
  void sweep(int64_t now) {
    for (auto& [id, r] : records) {
      const bool due = (r.place == RecordPlace::kDelayed || r.place == RecordPlace::kInFlight) && r.due_ms <= now;
      if (due && r.status == "COMPLETED") {
        finish(r);
      } else if (r.place == RecordPlace::kDelayed && r.due_ms <= now) {
        r.place = RecordPlace::kReady;
        ++r.version;
      } else if (r.place == RecordPlace::kInFlight && r.due_ms <= now) {
        ++r.version;
        if (++r.failures >= kMaxFailures) {
          dead(r);
        } else {
          r.place = RecordPlace::kReady;
          r.status = "READY_TO_SHIP";
        }
      }
    }
  }
  // The id of the head that a peek gets to; empty if there is none.
  std::string head() {
    for (;;) {
      std::string best;
      for (const auto& [id, r] : records) {
        if (r.place == RecordPlace::kReady && (best.empty() || r.turn < records.at(best).turn)) best = id;
      }
      if (best.empty() || records.at(best).status != "COMPLETED") return best;
      finish(records.at(best));
    }
  }
  uint64_t at(RecordPlace place) const {
    return static_cast<uint64_t>(
        std::count_if(records.begin(), records.end(), [&](const auto& one) { return one.second.place == place; }));
  }
};

class PriorityProperty : public PriorityFixture {
 protected:
  void begin(uint64_t seed) {
    random = std::make_unique<Random>(seed);
    model = {};
    Settings settings = shipment_settings();
    settings.table = "Property" + std::to_string(seed);
    settings.max_failures = kMaxFailures;
    settings.backoff = {milliseconds(500), milliseconds(4000), 2, 0};
    open(settings);
  }
  std::string any_id() { return "r" + std::to_string(random->below(kRecords)); }
  // The right receipt, a wrong one, or none.
  std::string any_receipt(const ModelRecord& r) {
    const uint64_t choice = random->below(4);
    if (choice == 0) return "1800000000000-stale";
    return choice == 1 ? "" : r.receipt;
  }

  void step() {
    switch (random->below(12)) {
      case 0:
        return do_put();
      case 1:
      case 2:
        return do_enqueue();
      case 3:
      case 4:
      case 5:
        return do_peek();
      case 6:
        return do_settle("remove");
      case 7:
        return do_settle("restore");
      case 8:
        return do_settle("dlq");
      case 9:
        return do_settle("extend");
      case 10:
        return do_small();
      default:
        world.pass(milliseconds(random->below(2500)));
    }
  }
  void check() {
    const auto now = stats();
    EXPECT_EQ(now.ready, model.at(RecordPlace::kReady));
    EXPECT_EQ(now.in_flight, model.at(RecordPlace::kInFlight));
    EXPECT_EQ(now.delayed, model.at(RecordPlace::kDelayed));
    EXPECT_EQ(now.dead, model.at(RecordPlace::kDead));
    EXPECT_TRUE(now.counted);
    for (const auto& [id, r] : model.records) {
      const auto read = world.wait(queue->get(id));
      EXPECT_EQ(read.place, r.place) << id;
      EXPECT_EQ(read.status, r.status) << id;
      EXPECT_EQ(read.version, r.version) << id;
      EXPECT_EQ(read.failures, r.failures) << id;
    }
  }

 private:
  void do_put() {
    const std::string id = any_id();
    const std::string status = random->below(4) == 0 ? "" : "READY_TO_SHIP";
    ASSERT_TRUE(put(id, status).ok());
    model.records[id] = {};
    if (!status.empty()) model.records[id].status = status;
  }
  void do_enqueue() {
    const std::string id = any_id();
    const milliseconds delay(random->below(3) == 0 ? 1000 : 0);
    const auto result = enqueue(id, {}, delay);
    const auto found = model.records.find(id);
    if (found == model.records.end()) {
      EXPECT_EQ(result.code, Code::kIdNotFound);
      return;
    }
    ModelRecord& r = found->second;
    if (r.status == "UNDER_CONSTRUCTION") {
      EXPECT_EQ(result.code, Code::kRecordNotConstructed) << id;
    } else if (r.status != "READY_TO_SHIP" || r.place == RecordPlace::kInFlight) {
      EXPECT_EQ(result.code, Code::kIllegalState) << id;
    } else {
      EXPECT_TRUE(result.ok()) << id << " " << result.detail;
      if (r.place == RecordPlace::kOutside) r.failures = 0;
      r.place = delay.count() > 0 ? RecordPlace::kDelayed : RecordPlace::kReady;
      r.due_ms = world.now_ms() + delay.count();
      r.turn = ++model.turns;
      ++r.version;
    }
  }
  void do_peek() {
    const milliseconds visibility(500 + random->below(3000));
    model.sweep(world.now_ms());
    const std::string expected = model.head();
    const auto result = peek(visibility);
    if (expected.empty()) {
      EXPECT_EQ(result.code, Code::kEmptyQueue) << result.id;
      return;
    }
    ASSERT_TRUE(result.ok()) << expected << ": " << result.detail;
    ASSERT_EQ(result.id, expected);
    ModelRecord& r = model.records[expected];
    r.place = RecordPlace::kInFlight;
    r.status = "PROCESSING_SHIPMENT";
    r.receipt = result.receipt;
    r.due_ms = world.now_ms() + visibility.count();
    ++r.version;
  }
  void do_settle(const std::string& what) {
    const std::string id = any_id();
    const auto found = model.records.find(id);
    if (found == model.records.end()) return;
    ModelRecord& r = found->second;
    const std::string receipt = any_receipt(r);
    const auto result = what == "remove"    ? remove(id, receipt)
                        : what == "restore" ? restore(id, receipt)
                        : what == "dlq"     ? world.wait(queue->send_to_dlq(on(id, receipt)))
                                            : world.wait(queue->extend(on(id, receipt), milliseconds(1500)));
    const bool in_queue = r.place != RecordPlace::kOutside && r.place != RecordPlace::kDead;
    const bool completed = r.status == "COMPLETED";
    Code expected = Code::kSuccess;
    if (!receipt.empty() && receipt != r.receipt) {
      expected = Code::kOnCondition;
    } else if (what == "restore" && r.status == "UNDER_CONSTRUCTION") {
      expected = Code::kRecordNotConstructed;
    } else if ((completed && what != "remove") || (what == "dlq" && !in_queue) ||
               (what == "extend" && (r.place != RecordPlace::kInFlight || r.due_ms <= world.now_ms()))) {
      expected = Code::kIllegalState;
    }
    EXPECT_EQ(result.code, expected) << what << " " << id << " " << r.status << " " << result.detail;
    if (expected == Code::kSuccess) settled(what, r);
  }
  void settled(const std::string& what, ModelRecord& r) {
    ++r.version;
    if (what == "remove") return model.out(r);
    if (what == "dlq") return model.dead(r);
    if (what == "extend") {
      r.due_ms = world.now_ms() + 1500;
      return;
    }
    const bool failed = r.place == RecordPlace::kInFlight;
    if (r.place == RecordPlace::kDead) r.failures = 0;
    if (failed && ++r.failures >= kMaxFailures) return model.dead(r);
    const int64_t delay = failed ? std::min<int64_t>(500 << (r.failures - 1), 4000) : 0;
    r.status = "READY_TO_SHIP";
    r.place = delay > 0 ? RecordPlace::kDelayed : RecordPlace::kReady;
    r.due_ms = world.now_ms() + delay;
    r.receipt.clear();
    r.turn = ++model.turns;
  }
  void do_small() {
    const std::string id = any_id();
    const auto found = model.records.find(id);
    if (found == model.records.end()) return;
    ModelRecord& r = found->second;
    const bool final_state = r.status == "COMPLETED";
    switch (random->below(4)) {
      case 0: {
        const auto result = world.wait(queue->touch(on(id)));
        EXPECT_EQ(result.ok(), !final_state);
        if (!result.ok()) return;
        r.turn = ++model.turns;
        ++r.version;
        return;
      }
      case 1: {
        const auto result = world.wait(queue->cancel(on(id)));
        EXPECT_EQ(result.ok(), r.place == RecordPlace::kReady || r.place == RecordPlace::kDelayed) << result.detail;
        if (!result.ok()) return;
        model.out(r);
        ++r.version;
        return;
      }
      case 2: {
        const auto result = world.wait(queue->update_status(on(id), "COMPLETED"));
        EXPECT_TRUE(result.ok());
        if (final_state) return;
        r.status = "COMPLETED";
        if (r.place != RecordPlace::kInFlight) r.turn = ++model.turns;
        ++r.version;
        return;
      }
      default:
        ASSERT_TRUE(world.wait(queue->erase(id)).ok());
        model.records.erase(id);
    }
  }

 protected:
  std::unique_ptr<Random> random;
  Model model;
};

INSTANTIATE_TEST_SUITE_P(Embedded, PriorityProperty, ::testing::Values(StoreKind::kEmbedded));

TEST_P(PriorityProperty, RandomCallsDoWhatTheModelDoes) {
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    begin(seed);
    for (int i = 0; i < 400 && !HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      step();
      if (i % 10 == 0) check();
    }
    if (!HasFailure()) check();
    if (HasFailure()) return;
  }
}

using ConsumersTest = PriorityFixture;
INSTANTIATE_TEST_SUITE_P(Late, ConsumersTest, ::testing::Values(StoreKind::kLate, StoreKind::kEngine), kind_name);

struct Tally {
  std::map<std::string, int> holders;  // The workers that hold it now.
  std::map<std::string, int> done;
  bool overlapped = false;
};

// Takes, works, and then finishes, fails, or dies silently.
Async<void> consume(QueueWorld& world, TableQueue& queue, uint64_t seed, std::shared_ptr<Tally> tally) {
  Random random(seed);
  for (int i = 0; i < 40; ++i) {
    PeekInput input;
    input.visibility = milliseconds(400);
    auto peeked = co_await queue.peek(input);
    if (!peeked.front().ok()) {
      co_await sleep_for(world.scheduler, milliseconds(50));
      continue;
    }
    RecordCall call;
    call.id = peeked.front().id;
    call.receipt = peeked.front().receipt;
    tally->overlapped = tally->overlapped || ++tally->holders[call.id] > 1;
    co_await sleep_for(world.scheduler, milliseconds(random.below(100)));
    --tally->holders[call.id];
    const uint64_t end = random.below(10);
    if (end == 0) continue;  // It dies: nobody hears of it again.
    if (end < 3) {
      RestoreInput back;
      back.call = call;
      (void)co_await queue.restore(back);
      continue;
    }
    const std::string id = call.id;
    auto removed = co_await queue.remove(call);
    if (removed.ok()) ++tally->done[id];
  }
}

TEST_P(ConsumersTest, NoRecordIsLostAndNoneIsDoneTwice) {
  for (const uint64_t seed : test_seeds(3)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    Settings settings = shipment_settings();
    settings.table = "Consumers" + std::to_string(seed);
    settings.max_failures = 4;
    open(settings);
    constexpr int kAll = 40;
    for (int i = 0; i < kAll; ++i) {
      ASSERT_TRUE(put("r" + std::to_string(i)).ok());
      ASSERT_TRUE(enqueue("r" + std::to_string(i)).ok());
    }
    auto tally = std::make_shared<Tally>();
    std::vector<Async<void>> consumers;
    for (uint64_t i = 0; i < 8; ++i) consumers.push_back(consume(world, *queue, seed * 100 + i, tally));
    for (auto& consumer : consumers) {
      while (!consumer.is_ready()) world.pass(milliseconds(10));
    }
    EXPECT_FALSE(tally->overlapped) << "two held the same record";
    const auto now = stats();
    EXPECT_EQ(tally->done.size() + now.ready + now.in_flight + now.delayed + now.dead, size_t{kAll});
    for (const auto& [id, times] : tally->done) EXPECT_EQ(times, 1) << id;
  }
}

}  // namespace
}  // namespace freshet::priority
