// Random operations on a store, a crash at any file call, and what recovery returns: a prefix of what was applied,
// without holes, that has every acknowledged write, books and streams included. The seed is the whole bug report:
// FRESHET_SEED=n runs that one alone, FRESHET_SEEDS=n so many.
#include <gtest/gtest.h>

#include <deque>

#include "tables/engine/transactions.h"
#include "tests/sim/seeds.h"
#include "tests/tables/engine/random_transaction.h"
#include "tests/tables/engine/store_fixture.h"
#include "tests/tables/engine/store_model.h"

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
    StoreModel model = std::move(base_);
    size_t k = 0;
    const size_t least = power_lost_ && options_.durability.mode == DurabilityMode::kNone ? 0 : acknowledged_;
    const auto same = [&] { return model.changes() == changes && model.describe() == found; };
    while (k < least || (k < history_.size() && !same())) model.apply(history_[k++]);
    ASSERT_EQ(model.describe(), found) << "of " << history_.size() << " operations, " << acknowledged_
                                       << " acknowledged";
    EXPECT_EQ(model.check_streams(*store_), "");
    totals_.lost += history_.size() - k;
    base_ = model_ = std::move(model);
    history_.clear();
    acknowledged_ = 0;
  }

  void live() {
    if (model_.tables().empty()) make_tables();
    for (int turn = 0; turn < 40 && !files_.crashed() && !testing::Test::HasFailure(); ++turn) {
      for (uint64_t n = random_.below(6); n > 0; --n) operation();
      if (random_.below(4) != 0) waiting_.emplace_back(store_->durable(), history_.size());
      if (random_.below(4) == 0) lulls_.push_back(store_->lull(clock_.boot() + milliseconds(random_.below(5))));
      scheduler_.run_ready();
      note_acknowledged();
      // A sync beside takes its time; the next turns need not wait for it.
      EXPECT_TRUE(waiting_.empty() || options_.sync_beside || !must_be_safe()) << "what was admitted can be written";
      note_expired();
      if (random_.below(3) == 0) pass(milliseconds(random_.below(3000)));
      if (files_.crashed()) break;
      for (const auto& [name, table] : model_.tables()) {
        if (!table.definition.books) continue;
        auto balanced = check_balance(*store_->books(name).take());
        EXPECT_TRUE(balanced) << balanced.error().message;
      }
    }
    if (options_.sync_beside) pass(2 * kLongestSync);  // One under way, one for what came meanwhile.
    note_acknowledged();
    pass(milliseconds(5));
    for (const auto& lull : lulls_) EXPECT_TRUE(lull.is_ready() || files_.crashed());
    lulls_.clear();
    EXPECT_TRUE(waiting_.empty() || !must_be_safe()) << "what was admitted can be written";
    waiting_.clear();
  }

  bool must_be_safe() const { return options_.durability.mode != DurabilityMode::kInterval && !files_.crashed(); }

  void note_acknowledged() {
    for (; !waiting_.empty() && waiting_.front().first.is_ready(); waiting_.pop_front()) {
      auto& [durable, applied] = waiting_.front();
      if (durable.take() && options_.durability.mode != DurabilityMode::kNone) {
        acknowledged_ = std::max(acknowledged_, applied);
      }
    }
  }

  // In small steps: what is swept at different times must be noted in that order.
  void pass(milliseconds time) {
    for (constexpr milliseconds step{50}; time > milliseconds(0) && !files_.crashed(); time -= step) {
      scheduler_.advance(std::min(time, step));
      note_expired();
    }
  }

  void end_life() {
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

  void note(ModelOperation operation) {
    model_.apply(operation);
    history_.push_back(std::move(operation));
    ++totals_.operations;
  }

  void make_tables() {
    TableDefinition queue = queue_definition();
    TableDefinition pairs = pair_definition();
    pairs.stream = StreamView::kKeysOnly;
    for (auto* d : {&queue, &pairs}) {
      if (store_->create_table(*d).take()) note({{}, *d, {}, {}});
    }
  }

  Item random_task() {
    static const char* const statuses[] = {"PENDING", "TAKEN", "DONE"};
    Item item = task("t" + std::to_string(random_.below(20)), statuses[random_.below(3)],
                     static_cast<int64_t>(random_.below(5)));
    if (random_.below(2))
      item.set("ttl", Value::number(epoch_s(clock_.wall()) + static_cast<int64_t>(random_.below(8))));
    item.set("body", Value(std::string(random_.below(300), 'x')));
    return item;
  }
  static Item key_of_task(const Item& item) { return Item{{"id", *item.find("id")}}; }
  Item random_pair() {
    return Item{{"p", Value("p" + std::to_string(random_.below(3)))},
                {"s", Value::number(static_cast<int64_t>(random_.below(5)) - 2)}};
  }

  // Notes what was accepted; everything else must have been refused for a reason.
  void accept(const Result<WriteOutput>& result, ModelWrite write) {
    if (result) return note({{std::move(write)}, {}, {}, {}});
    EXPECT_TRUE(result.error().code == ErrorCode::kThroughputExceeded || store_->stats().batches == 0 ||
                files_.crashed())
        << result.error().message;
  }

  void operation() {
    if (!model_.tables().contains("Queue") || !model_.tables().contains("Pairs")) return;
    switch (random_.below(12)) {
      case 0:
        return scratch();
      case 1:
        return transact();
      case 2:
        return erase();
      case 3:
      case 4: {
        const Item item = random_pair();
        if (random_.below(3) == 0) {
          return accept(store_->delete_item({"Pairs", item, {}, {}}).take(), {"Pairs", item, {}});
        }
        return accept(store_->put_item({"Pairs", item, {}, {}}).take(), {"Pairs", item, item});
      }
      case 5:
      case 6:
      case 7:
        return move();
      default: {
        const Item item = random_task();
        PutItemInput put{"Queue", item, {}, {}};
        put.unhurried = random_.below(2) == 0;
        return accept(store_->put_item(std::move(put)).take(), {"Queue", key_of_task(item), item});
      }
    }
  }

  void erase() {
    const Item key = key_of_task(random_task());
    accept(store_->delete_item({"Queue", key, {}, {}}).take(), {"Queue", key, {}});
  }

  // A conditional arrow, as the queue makes them.
  void move() {
    const Item drawn = random_task();
    const Item key = key_of_task(drawn);
    const ModelRow* row = model_.find("Queue", key);
    UpdateItemInput input{"Queue", key, "SET #st = :to", "#st = :from", {}};
    input.cause = Cause::kQueue;
    input.placeholders.names = {{"#st", "status"}};
    input.placeholders.values = Map{{":to", *drawn.find("status")}, {":from", Value("PENDING")}};
    const auto result = store_->update_item(input).take();
    if (!row || row->item.string_or("status") != "PENDING") {
      EXPECT_FALSE(result);
      return;
    }
    Item after = row->item;
    after.set("status", *drawn.find("status"));
    accept(result, {"Queue", key, after, Cause::kQueue});
  }

  // Wholly or not at all: some of everything, on several items of two tables, and requests that are sent again.
  void transact() {
    if (!sent_.empty() && random_.below(4) == 0) return send(sent_[random_.below(sent_.size())]);
    RandomTransaction drawn = random_transaction(
        random_, [this] { return random_task(); }, [this] { return random_pair(); });
    if (random_.below(2)) drawn.token = "token" + std::to_string(sent_.size());
    if (!drawn.token.empty()) sent_.push_back(drawn);
    send(drawn);
  }

  void send(const RandomTransaction& transaction) {
    const Item token{{"token", Value(transaction.token)}};
    const std::string tokens(kTokenTable);
    const bool known = !transaction.token.empty() && model_.find(tokens, token);
    const auto expected = expected_writes(model_, transaction.actions);
    const auto result = store_->transact_write({transaction.actions, transaction.token}).take();
    ModelOperation done;
    if (!model_.tables().contains(tokens)) {
      if (auto made = store_->describe_table(tokens).take()) done.created = made->definition;
    }
    if (known) {
      EXPECT_TRUE(result && result->repeated) << "carried out before";
      return;
    }
    EXPECT_TRUE(expected || !result) << "a condition does not hold";
    if (result) {
      EXPECT_FALSE(result->repeated);
      if (expected) done.writes = *expected;
      const std::optional<ItemRef> row =
          transaction.token.empty() ? std::nullopt : std::optional(*store_->get_item({tokens, token, {}, {}}).take());
      if (row) done.writes.push_back({tokens, token, row->decode()});
    } else if (expected) {
      const ErrorCode code = result.error().code;
      EXPECT_TRUE(code == ErrorCode::kThroughputExceeded || code == ErrorCode::kInternal || files_.crashed())
          << result.error().message;
    }
    if (result) note(std::move(done));
  }

  void scratch() {
    if (!model_.tables().contains("Scratch")) {
      const TableDefinition d = queue_definition("Scratch");
      if (store_->create_table(d).take()) note({{}, d, {}, {}});
    } else if (random_.below(3) == 0) {
      if (store_->delete_table("Scratch").take()) note({{}, {}, "Scratch", {}});
    } else if (random_.below(2)) {
      TableDefinition d = model_.tables().at("Scratch").definition;
      const std::optional<StreamView> views[] = {std::nullopt, StreamView::kKeysOnly, StreamView::kNewAndOldImages};
      d.stream = views[random_.below(3)];
      if (store_->alter_table(d).take()) note({{}, {}, {}, d});
    } else {
      const Item item = random_task();
      accept(store_->put_item({"Scratch", item, {}, {}}).take(), {"Scratch", key_of_task(item), item});
    }
  }

  // The sweep ran: what it removed had expired, and goes in the order of expiry, table by table.
  void note_expired() {
    for (const std::string& name : {std::string("Queue"), std::string("Scratch"), std::string(kTokenTable)}) {
      const auto table = model_.tables().find(name);
      if (table == model_.tables().end()) continue;
      const std::string& key_name = table->second.definition.keys.partition.name;
      std::map<std::pair<int64_t, uint64_t>, Item> gone;
      for (const auto& [json, row] : table->second.rows) {
        const int64_t ttl = row.item.int_or(*table->second.definition.ttl_attribute, INT64_MAX);
        const Item key{{key_name, *row.item.find(key_name)}};
        if (ttl > epoch_s(clock_.wall())) continue;
        if (*store_->get_item({name, key, {}, {}, true}).take()) continue;
        EXPECT_NE(row.item.string_or("status"), "TAKEN") << "held items stay";
        gone[{ttl, row.creation}] = key;
      }
      for (auto& [order, key] : gone) note({{{name, key, {}, Cause::kTimeToLive}}, {}, {}, {}});
    }
  }

  Random random_;
  SimFiles files_;
  SimClock clock_{WallTime(seconds(1'700'000'000))};
  SimScheduler scheduler_{clock_};
  static constexpr milliseconds kLongestSync{100};
  SimSync beside_{files_, scheduler_, kLongestSync};
  SimWork chores_{files_, scheduler_, kLongestSync};
  EmbeddedOptions options_;
  std::unique_ptr<EmbeddedTables> store_;

  StoreModel base_;                                             // At the last recovery.
  StoreModel model_;                                            // Now.
  std::vector<ModelOperation> history_;                         // Between the two.
  size_t acknowledged_ = 0;                                     // Of history_.
  std::vector<RandomTransaction> sent_;                         // Those with a token.
  std::deque<std::pair<Async<Result<void>>, size_t>> waiting_;  // For durability, and how much of history_ that is.
  std::vector<Async<void>> lulls_;
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
  if (seeds.size() < 100 || HasFailure()) return;  // Of a few, none may be lost.
  EXPECT_GT(totals.crashes, 0);
  EXPECT_GT(totals.lost, 0u);
  EXPECT_GT(totals.moved, 0u);
  EXPECT_GT(totals.expired, 0u);
}

}  // namespace
}  // namespace freshet
