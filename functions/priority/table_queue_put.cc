// Records as a whole: put, upsert, get, delete, list.
#include <algorithm>

#include "base/cursor.h"
#include "functions/cancelled.h"
#include "functions/priority/table_queue.h"

namespace freshet::priority {
namespace {

constexpr int kPutTries = 5;
constexpr std::string_view kRecordList = "priority records";

bool is_priority(const Value& value) {
  const auto* number = value.get_if<Decimal>();
  bool whole = false;
  const int64_t rank = number != nullptr ? number->to_int64(whole) : 0;
  return whole && rank >= -kLargestPriority && rank <= kLargestPriority;
}

// Checks the attributes that were put beside those that the queue keeps.
Result<void> check_attributes(const PutRecordInput& input, const KeySchema& keys, const Settings& settings) {
  const Names& names = settings.names;
  const std::string* const reserved[] = {&names.system_info, &names.last_updated, &names.queued,
                                         &names.dead,        &names.order,        &names.visible_at};
  for (const auto& attribute : input.attributes) {
    const std::string& name = attribute.first;  // No structured binding: clang 14 has no lambda that captures one.
    const bool key = name == keys.partition.name || (keys.sort && name == keys.sort->name);
    const bool kept =
        std::any_of(std::begin(reserved), std::end(reserved), [&](const auto* one) { return *one == name; });
    if (key || kept)
      return invalid("attribute '" + name + "' of item '" + input.id + "' is kept by the queue: leave it out");
  }
  const Value* priority = settings.order != Order::kTimestamp ? input.attributes.find(names.priority) : nullptr;
  if (priority && !is_priority(*priority)) {
    return invalid("attribute '" + names.priority + "' of item '" + input.id + "' must be a whole number from " +
                   std::to_string(-kLargestPriority) + " to " + std::to_string(kLargestPriority));
  }
  if (input.status.size() > 256) return invalid("the status of item '" + input.id + "' is longer than 256 bytes");
  if (input.status.empty()) return {};
  if (auto why = no_status(settings, input.status)) return invalid(std::move(*why));
  return {};
}

}  // namespace

// The sample's: a system_info that begins anew, out of every queue.
Item TableQueue::new_state(const Item& key, const PutRecordInput& input, int64_t version, const std::string& id) {
  const std::string now = stamp();
  Map system_info{{std::string(info::kId), Value(id)},
                  {std::string(info::kCreated), Value(now)},
                  {std::string(info::kUpdated), Value(now)},
                  {std::string(info::kVersion), Value::number(version)},
                  {std::string(info::kQueued), Value::number(0)},
                  {std::string(info::kSelected), Value::boolean(false)}};
  const std::string& status = input.status.empty() ? settings_.states.initial : input.status;
  if (settings_.states.used || !input.status.empty()) system_info.set(info::kStatus, Value(status));
  Item state = key;
  state.set(settings_.names.last_updated, Value(now));
  state.set(settings_.names.system_info, Value(std::move(system_info)));
  return state;
}

// `over`: only over the record with that version, or where there is none if it has no system_info.
// The whole record as it is then.
Async<Result<ItemRef>> TableQueue::write_record(Item key, Map attributes, Item state, std::optional<RecordFacts> over) {
  PutItemInput put;
  put.table = settings_.states_in();
  put.cause = Cause::kQueue;
  if (over) {
    put.placeholders.names = {{"#sys", settings_.names.system_info}};
    put.condition = "attribute_not_exists(#sys)";
    if (over->has_info) {
      put.placeholders.names.emplace_back("#v", std::string(info::kVersion));
      put.condition = "#sys.#v = :v";
      put.placeholders.values.set(":v", Value::number(over->version));
    }
  }
  PutItemInput data;
  data.table = settings_.table;
  data.item = std::move(key);
  data.cause = Cause::kQueue;
  Item whole = state;
  for (const auto& [name, value] : attributes) {
    whole.set(name, value);
    data.item.set(name, value);
  }
  const ItemRef stored = ItemRef::encode(whole);
  if (settings_.state_table.empty()) {
    put.item = std::move(whole);
    auto written = co_await services_.tables.put_item(std::move(put));
    if (!written) co_return fail(written.error());
    co_return stored;
  }
  put.item = std::move(state);
  TransactWriteInput transaction;
  transaction.actions.emplace_back(std::move(data));
  transaction.actions.emplace_back(std::move(put));
  auto written = co_await services_.tables.transact_write(std::move(transaction));
  if (!written) co_return fail(cause_of_failure(written.error()));
  co_return stored;
}

Async<PriorityResult> TableQueue::put_record(PutRecordInput input, bool keep_version) {
  for (int attempt = 1;; ++attempt) {
    auto looked = co_await find(input.id);
    RecordFacts facts;
    if (auto* no = std::get_if<PriorityResult>(&looked)) {
      // A record that cannot be read is replaced all the same; one that is not there is made.
      if (no->code != PriorityCode::kIdNotFound && no->code != PriorityCode::kIllegalState) co_return std::move(*no);
      if (no->code == PriorityCode::kIllegalState && keep_version) co_return std::move(*no);
    } else {
      facts = std::get<Found>(looked).facts;
    }
    auto key = key_of(input.id, keys_, settings_.key_separator);
    if (!key) co_return failed(PriorityCode::kIllegalState, input.id, key.error().message);
    if (auto right = check_attributes(input, keys_, settings_); !right) {
      co_return failed(PriorityCode::kIllegalState, input.id, right.error().message);
    }
    Item state = new_state(*key, input, keep_version ? facts.version + 1 : 1, input.id);
    std::optional<RecordFacts> over;
    if (keep_version) over = facts;
    Map attributes = input.attributes;
    auto written = co_await write_record(std::move(*key), std::move(attributes), std::move(state), std::move(over));
    if (written) co_return changed(*written);
    if (written.error().code != ErrorCode::kConditionalCheckFailed) co_return failed(input.id, written.error());
    if (attempt == kPutTries) {
      co_return failed(PriorityCode::kOnCondition, input.id,
                       "record '" + input.id + "' was changed by somebody else meanwhile");
    }
  }
}

Async<PriorityResult> TableQueue::put(PutRecordInput input) {
  return put_record(std::move(input), false);
}

Async<PriorityResult> TableQueue::upsert(PutRecordInput input) {
  return put_record(std::move(input), true);
}

Async<PriorityResult> TableQueue::get(std::string id) {
  auto looked = co_await find(std::move(id));
  if (auto* no = std::get_if<PriorityResult>(&looked)) co_return std::move(*no);
  PriorityResult result = changed(std::get<Found>(looked).item);
  co_return co_await whole(std::move(result));
}

// With the record's own attributes, which a queue with a table of its own does not read otherwise. Not found if they
// are gone.
Async<PriorityResult> TableQueue::whole(PriorityResult result) {
  if (!result.ok() || settings_.state_table.empty()) co_return result;
  GetItemInput get;
  get.table = settings_.table;
  auto key = key_of(result.id, keys_, settings_.key_separator);
  if (!key) co_return failed(PriorityCode::kIdNotFound, result.id, key.error().message);
  get.key = std::move(*key);
  auto item = co_await services_.tables.get_item(std::move(get));
  if (!item) co_return failed(result.id, item.error());
  if (!*item) {
    co_return failed(PriorityCode::kIdNotFound, result.id,
                     "table '" + settings_.table + "' has no item with the id '" + result.id + "'");
  }
  Item all = item->decode();
  for (const auto& [name, value] : result.item.decode()) all.set(name, value);
  result.item = ItemRef::encode(all);
  co_return result;
}

Async<PriorityResult> TableQueue::erase(std::string id) {
  if (id.empty()) co_return failed(PriorityCode::kIdNotProvided, id, "no id was given");
  auto key = key_of(id, keys_, settings_.key_separator);
  if (!key) co_return failed(PriorityCode::kIdNotFound, id, key.error().message);
  DeleteItemInput input;
  input.table = settings_.table;
  input.key = *key;
  input.cause = Cause::kQueue;
  PriorityResult result;
  result.code = PriorityCode::kSuccess;
  result.id = std::move(id);
  if (settings_.state_table.empty()) {
    auto gone = co_await services_.tables.delete_item(std::move(input));
    if (!gone) co_return failed(result.id, gone.error());
    co_return result;
  }
  TransactWriteInput transaction;
  DeleteItemInput state = input;
  state.table = settings_.state_table;
  transaction.actions.emplace_back(std::move(input));
  transaction.actions.emplace_back(std::move(state));
  auto gone = co_await services_.tables.transact_write(std::move(transaction));
  if (!gone) co_return failed(result.id, gone.error());
  co_return result;
}

Async<Result<RecordPage>> TableQueue::list(ListRecordsInput input) {
  ScanInput scan;
  scan.table = settings_.table;
  scan.limit = std::clamp<uint32_t>(input.limit, 1, 1000);
  const auto place = place_of_cursor(kRecordList, input.cursor);
  if (!place) co_return fail(place.error());
  if (!place->empty()) {
    auto start = key_at(*place, keys_, settings_.key_separator);
    if (!start) co_return fail(start.error());
    scan.exclusive_start_key = std::move(*start);
  }
  auto page = co_await services_.tables.scan(std::move(scan));
  if (!page) co_return fail(page.error());
  RecordPage out;
  std::vector<GetItemInput> states;
  for (const auto& item : page->items) {
    out.records.push_back({id_of(item, keys_, settings_.key_separator), status_in(item)});
    if (!settings_.state_table.empty()) {
      states.push_back({settings_.state_table, key_in(item, keys_), {}, {}, true});
    }
  }
  if (!states.empty()) {
    auto read = co_await services_.tables.read_many(std::move(states));
    for (size_t i = 0; i < read.size(); ++i) {
      if (read[i] && read[i]->item) out.records[i].status = status_in(read[i]->item);
    }
  }
  if (!page->last_evaluated_key.empty())
    out.cursor = make_cursor(kRecordList, place_of(page->last_evaluated_key, keys_, settings_.key_separator));
  co_return out;
}

// Empty if the item has none.
std::string TableQueue::status_in(const ItemRef& item) const {
  const auto system_info = item.find(settings_.names.system_info);
  if (!system_info || system_info->type() != Type::kMap) return {};
  const Value map = system_info->decode();
  return std::string(map.get_if<Map>()->string_or(info::kStatus));
}

}  // namespace freshet::priority
