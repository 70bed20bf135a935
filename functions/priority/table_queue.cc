#include "functions/priority/table_queue.h"

#include <algorithm>
#include <chrono>

#include "functions/cancelled.h"
#include "functions/priority/timestamp.h"
#include "functions/provide_table.h"
#include "functions/table_built.h"
#include "tables/traits.h"

namespace freshet::priority {
namespace {

constexpr int kChangeTries = 5;  // A call that names no version tries so often against writers that are faster.

}  // namespace

TableQueue::TableQueue(Services& services, Settings asked, Settings settings, KeySchema keys, WallGuard* wall)
    : services_(services),
      asked_(std::move(asked)),
      settings_(std::move(settings)),
      keys_(std::move(keys)),
      wall_(wall) {}

Async<Result<std::unique_ptr<TableQueue>>> TableQueue::open(Services& services, Settings settings,
                                                            std::optional<TableDefinition> wanted, WallGuard* wall,
                                                            EventLog log, bool is_shared) {
  auto valid = validate(settings);
  if (!valid) co_return fail(valid.error());
  const auto fits = require_traits(services.tables.traits(), "priority queue '" + settings.name + "'",
                                   {Trait::kExactIndex, Trait::kTransactions});
  if (!fits) co_return fail(fits.error());
  const std::string where = "queue '" + settings.name + "': ";
  if (!wanted) wanted = records_table(settings, {{"id", Type::kString}, {}});
  wanted->name = settings.table;
  auto table = co_await provide_table(services.tables, std::move(*wanted));
  if (!table) co_return fail(table.error().code, where + table.error().message);
  if (!settings.state_table.empty()) {
    TableDefinition states = records_table(settings, table->keys);
    states.name = settings.state_table;
    const KeySchema keys = table->keys;
    table = co_await provide_table(services.tables, std::move(states));
    if (!table) co_return fail(table.error().code, where + table.error().message);
    if (table->keys != keys) {
      co_return invalid(where + "'" + settings.state_table + "' must have the keys of '" + settings.table + "'");
    }
  }
  Settings asked = settings;
  auto complete = as_priority_table(*table, settings);
  if (!complete) co_return fail(complete.error().code, where + complete.error().message);
  if (*complete != *table) {
    TableDefinition change = *complete;
    auto altered = co_await services.tables.alter_table(std::move(change));
    if (!altered) co_return fail(altered.error().code, where + altered.error().message);
  }
  std::string name = complete->name;
  co_await table_built(services, log, std::move(name));
  const bool has_lock = settings.strict && is_shared;
  if (has_lock) {
    auto provided = co_await StrictLock::provide(services.tables);
    if (!provided) co_return fail(provided.error().code, where + provided.error().message);
  }
  std::unique_ptr<TableQueue> queue(
      new TableQueue(services, std::move(asked), std::move(settings), complete->keys, wall));
  if (has_lock) queue->lock_.emplace(services.tables, queue->name());
  co_return queue;
}

// Rises with every call, so that records stand in the order in which they were queued here, also within a millisecond.
std::string TableQueue::stamp() {
  last_stamp_ns_ = std::max(now_ms() * 1'000'000, last_stamp_ns_ + 1);
  return format_timestamp(last_stamp_ns_);
}

Result<RecordFacts> TableQueue::facts_of(const ItemRef& item) const {
  return read_facts(item, keys_, settings_, now_ms());
}

PriorityResult TableQueue::failed(PriorityCode code, std::string id, std::string detail) const {
  PriorityResult result;
  result.code = code;
  result.id = std::move(id);
  result.detail = std::move(detail);
  return result;
}

PriorityResult TableQueue::failed(const std::string& id, const Error& error) const {
  PriorityResult result = failed(PriorityCode::kStoreError, id, error.message);
  result.error = error.code;
  return result;
}

PriorityResult TableQueue::refused(const RecordFacts& facts, Refusal refusal) const {
  PriorityResult result = failed(refusal.code, facts.id, std::move(refusal.why));
  result.status = facts.status;
  result.version = facts.version;
  result.last_updated = facts.last_updated;
  result.place = facts.place;
  return result;
}

PriorityResult TableQueue::changed(const ItemRef& item) const {
  PriorityResult result;
  result.code = PriorityCode::kSuccess;
  result.item = item;
  const auto facts = facts_of(item);
  if (!facts)
    return failed(PriorityCode::kIllegalState, id_of(item, keys_, settings_.key_separator), facts.error().message);
  result.id = facts->id;
  result.status = facts->status;
  result.version = facts->version;
  result.last_updated = facts->last_updated;
  result.place = facts->place;
  result.peeks = facts->peeks;
  result.failures = facts->failures;
  if (facts->place == RecordPlace::kInFlight) result.visible_ms = facts->due_ms(settings_);
  if (facts->place == RecordPlace::kDelayed) result.visible_ms = facts->visible_ms.value_or(0);
  return result;
}

// The item with the queue's attributes; null if there is no such record. Where they live in a table of their own, a
// record that no queue has seen yet is its key alone.
Async<Result<ItemRef>> TableQueue::read(Item key) {
  GetItemInput get;
  get.table = settings_.table;
  get.key = key;
  if (settings_.state_table.empty()) co_return co_await services_.tables.get_item(std::move(get));
  std::vector<GetItemInput> both(2, get);
  both[1].table = settings_.state_table;
  auto items = co_await services_.tables.transact_get(std::move(both));
  if (!items) co_return fail(items.error());
  if (!(*items)[0].item) co_return ItemRef();
  co_return (*items)[1].item ? (*items)[1].item : ItemRef::encode(key);
}

Async<std::variant<TableQueue::Found, PriorityResult>> TableQueue::find(std::string id) {
  using Out = std::variant<Found, PriorityResult>;
  if (id.empty()) co_return Out(failed(PriorityCode::kIdNotProvided, id, "no id was given"));
  auto key = key_of(id, keys_, settings_.key_separator);
  if (!key) co_return Out(failed(PriorityCode::kIdNotFound, id, key.error().message));
  auto item = co_await read(*key);
  if (!item) co_return Out(failed(id, item.error()));
  if (!*item) {
    co_return Out(
        failed(PriorityCode::kIdNotFound, id, "table '" + settings_.table + "' has no item with the id '" + id + "'"));
  }
  auto facts = facts_of(*item);
  if (!facts) co_return Out(failed(PriorityCode::kIllegalState, id, facts.error().message));
  co_return Out(Found{std::move(*key), std::move(*item), std::move(*facts)});
}

// The item as it is then. kConditionalCheckFailed if it is not what the update was made for.
Async<Result<ItemRef>> TableQueue::write(UpdateItemInput update) {
  if (settings_.state_table.empty()) {
    auto written = co_await services_.tables.update_item(std::move(update));
    if (!written) co_return fail(written.error());
    co_return std::move(written->attributes);
  }
  // Only for a record that is there.
  GetItemInput again;
  again.table = update.table;
  again.key = update.key;
  ConditionCheckInput check;
  check.table = settings_.table;
  check.key = update.key;
  check.condition = "attribute_exists(#key)";
  check.placeholders.names = {{"#key", keys_.partition.name}};
  update.return_values = ReturnValues::kNone;
  TransactWriteInput transaction;
  transaction.actions.emplace_back(std::move(check));
  transaction.actions.emplace_back(std::move(update));
  auto written = co_await services_.tables.transact_write(std::move(transaction));
  if (!written) co_return fail(cause_of_failure(written.error()));
  co_return co_await services_.tables.get_item(std::move(again));
}

Async<PriorityResult> TableQueue::change(RecordCall call, Decide decide) {
  for (int attempt = 1;; ++attempt) {
    auto looked = co_await find(call.id);
    if (auto* no = std::get_if<PriorityResult>(&looked)) co_return std::move(*no);
    Found& found = std::get<Found>(looked);
    if (auto no = may_change(found.facts, call)) co_return refused(found.facts, std::move(*no));
    Decision decision = decide(found.facts);
    if (auto* no = std::get_if<Refusal>(&decision)) co_return refused(found.facts, std::move(*no));
    auto& update = std::get<std::optional<RecordUpdate>>(decision);
    if (!update) co_return changed(found.item);
    UpdateItemInput input = std::move(*update).finish(std::move(found.key));
    auto written = co_await write(std::move(input));
    if (written && *written) co_return changed(*written);
    if (written) continue;  // It was deleted right behind the write.
    if (written.error().code != ErrorCode::kConditionalCheckFailed) co_return failed(found.facts.id, written.error());
    if (call.version || attempt == kChangeTries) {
      co_return refused(found.facts, {PriorityCode::kOnCondition,
                                      "record '" + found.facts.id + "' was changed by somebody else meanwhile"});
    }
  }
}

}  // namespace freshet::priority
