#include "tests/tables/engine/store_work.h"

#include "tables/engine/transactions.h"

namespace freshet {
namespace {

Item key_of_task(const Item& item) {
  return Item{{"id", *item.find("id")}};
}

}  // namespace

void StoreWork::begin(EmbeddedTables& store, StoreModel held) {
  store_ = &store;
  held_ = model_ = std::move(held);
  history_.clear();
  acknowledged_ = 0;
}

void StoreWork::end() {
  waiting_.clear();
  lulls_.clear();
  store_ = nullptr;
}

void StoreWork::turn() {
  for (uint64_t n = world_.random.below(6); n > 0; --n) operation();
  if (world_.random.below(4) != 0) waiting_.emplace_back(store_->durable(), history_.size());
  if (world_.random.below(4) == 0) {
    lulls_.push_back(store_->lull(world_.clock.boot() + milliseconds(world_.random.below(5))));
  }
  world_.scheduler.run_ready();
  note_acknowledged();
  // A sync beside takes its time; the next turns need not wait for it.
  EXPECT_TRUE(waiting_.empty() || world_.options.sync_beside || !must_be_safe()) << "what was admitted can be written";
  note_expired();
  if (world_.random.below(3) == 0) pass(milliseconds(world_.random.below(3000)));
  if (!world_.files.crashed()) check_books();
}

void StoreWork::check_books() {
  for (const auto& [name, table] : model_.tables()) {
    if (!table.definition.books) continue;
    auto balanced = check_balance(*store_->books(name).take());
    EXPECT_TRUE(balanced) << balanced.error().message;
  }
}

void StoreWork::settle() {
  if (world_.options.sync_beside) pass(2 * kLongestSync);  // One under way, one for what came meanwhile.
  note_acknowledged();
  pass(milliseconds(5));
  for (const auto& lull : lulls_) EXPECT_TRUE(lull.is_ready() || world_.files.crashed());
  EXPECT_TRUE(waiting_.empty() || !must_be_safe()) << "what was admitted can be written";
}

bool StoreWork::must_be_safe() const {
  return world_.options.durability.mode != DurabilityMode::kInterval && !world_.files.crashed();
}

void StoreWork::note_acknowledged() {
  for (; !waiting_.empty() && waiting_.front().first.is_ready(); waiting_.pop_front()) {
    auto& [durable, applied] = waiting_.front();
    if (durable.take() && world_.options.durability.mode != DurabilityMode::kNone) {
      acknowledged_ = std::max(acknowledged_, applied);
    }
  }
}

// In small steps: what is swept at different times must be noted in that order.
void StoreWork::pass(milliseconds time) {
  for (constexpr milliseconds step{50}; time > milliseconds(0) && !world_.files.crashed(); time -= step) {
    world_.scheduler.run_for(std::min(time, step));
    note_expired();
  }
}

void StoreWork::note(ModelOperation operation) {
  model_.apply(operation);
  history_.push_back(std::move(operation));
}

void StoreWork::make_tables() {
  if (!model_.tables().empty()) return;
  TableDefinition queue = queue_definition();
  TableDefinition pairs = pair_definition();
  pairs.stream = StreamView::kKeysOnly;
  for (auto* d : {&queue, &pairs}) {
    if (store_->create_table(*d).take()) note({{}, *d, {}, {}});
  }
}

Item StoreWork::random_task() {
  static const char* const statuses[] = {"PENDING", "TAKEN", "DONE"};
  Item item = task("t" + std::to_string(world_.random.below(20)), statuses[world_.random.below(3)],
                   static_cast<int64_t>(world_.random.below(5)));
  if (world_.random.below(2))
    item.set("ttl", Value::number(epoch_s(world_.clock.wall()) + static_cast<int64_t>(world_.random.below(8))));
  item.set("body", Value(std::string(world_.random.below(300), 'x')));
  return item;
}

Item StoreWork::random_pair() {
  return Item{{"p", Value("p" + std::to_string(world_.random.below(3)))},
              {"s", Value::number(static_cast<int64_t>(world_.random.below(5)) - 2)}};
}

// Notes what was accepted; everything else must have been refused for a reason.
void StoreWork::accept(const Result<WriteOutput>& result, ModelWrite write) {
  if (result) return note({{std::move(write)}, {}, {}, {}});
  EXPECT_TRUE(result.error().code == ErrorCode::kThroughputExceeded || store_->stats().batches == 0 ||
              world_.files.crashed())
      << result.error().message;
}

void StoreWork::operation() {
  if (!model_.tables().contains("Queue") || !model_.tables().contains("Pairs")) return;
  switch (world_.random.below(12)) {
    case 0:
      return scratch();
    case 1:
      return transact();
    case 2:
      return erase();
    case 3:
    case 4: {
      const Item item = random_pair();
      if (world_.random.below(3) == 0) {
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
      put.unhurried = world_.random.below(2) == 0;
      return accept(store_->put_item(std::move(put)).take(), {"Queue", key_of_task(item), item});
    }
  }
}

void StoreWork::erase() {
  const Item key = key_of_task(random_task());
  accept(store_->delete_item({"Queue", key, {}, {}}).take(), {"Queue", key, {}});
}

// A conditional arrow, as the queue makes them.
void StoreWork::move() {
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
void StoreWork::transact() {
  if (!sent_.empty() && world_.random.below(4) == 0) return send(sent_[world_.random.below(sent_.size())]);
  RandomTransaction drawn = random_transaction(
      world_.random, [this] { return random_task(); }, [this] { return random_pair(); });
  if (world_.random.below(2)) drawn.token = "token" + std::to_string(sent_.size());
  if (!drawn.token.empty()) sent_.push_back(drawn);
  send(drawn);
}

void StoreWork::send(const RandomTransaction& transaction) {
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
    EXPECT_TRUE(code == ErrorCode::kThroughputExceeded || code == ErrorCode::kInternal || world_.files.crashed())
        << result.error().message;
  }
  if (result) note(std::move(done));
}

void StoreWork::scratch() {
  if (!model_.tables().contains("Scratch")) {
    const TableDefinition d = queue_definition("Scratch");
    if (store_->create_table(d).take()) note({{}, d, {}, {}});
  } else if (world_.random.below(3) == 0) {
    if (store_->delete_table("Scratch").take()) note({{}, {}, "Scratch", {}});
  } else if (world_.random.below(2)) {
    TableDefinition d = model_.tables().at("Scratch").definition;
    const std::optional<StreamView> views[] = {std::nullopt, StreamView::kKeysOnly, StreamView::kNewAndOldImages};
    d.stream = views[world_.random.below(3)];
    if (store_->alter_table(d).take()) note({{}, {}, {}, d});
  } else {
    const Item item = random_task();
    accept(store_->put_item({"Scratch", item, {}, {}}).take(), {"Scratch", key_of_task(item), item});
  }
}

// The sweep ran: what it removed had expired, and goes in the order of expiry, table by table.
void StoreWork::note_expired() {
  for (const std::string& name : {std::string("Queue"), std::string("Scratch"), std::string(kTokenTable)}) {
    const auto table = model_.tables().find(name);
    if (table == model_.tables().end()) continue;
    const std::string& key_name = table->second.definition.keys.partition.name;
    std::map<std::pair<int64_t, uint64_t>, Item> gone;
    for (const auto& [json, row] : table->second.rows) {
      const int64_t ttl = row.item.int_or(*table->second.definition.ttl_attribute, INT64_MAX);
      const Item key{{key_name, *row.item.find(key_name)}};
      if (ttl > epoch_s(world_.clock.wall())) continue;
      if (*store_->get_item({name, key, {}, {}, true}).take()) continue;
      EXPECT_NE(row.item.string_or("status"), "TAKEN") << "held items stay";
      gone[{ttl, row.creation}] = key;
    }
    for (auto& [order, key] : gone) note({{{name, key, {}, Cause::kTimeToLive}}, {}, {}, {}});
  }
}

}  // namespace freshet
