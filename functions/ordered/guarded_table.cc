#include "functions/ordered/guarded_table.h"

#include <algorithm>

#include "base/points.h"
#include "functions/provide_table.h"
#include "tables/value/json.h"

namespace freshet::ordered {
namespace {

constexpr int kTries = 10;  // A put or delete tries so often against updates that are faster.

std::string as_text(const Value& value) {
  std::string out;
  append_plain_json(out, value);
  return out;
}

std::string item_text(const Item& key) {
  std::string out = "item ";
  append_plain_json(out, key);
  return out;
}

Refusal wrong(std::string why) {
  return {OrderedCode::kInvalid, std::move(why)};
}

// The item that stood against the write, where the store says so.
ItemRef item_in(const Error& error) {
  const auto* failed = dynamic_cast<const ConditionFailed*>(error.detail.get());
  return failed != nullptr ? failed->item : ItemRef();
}

}  // namespace

GuardedTable::GuardedTable(Tables& tables, const Clock& clock, Settings settings, KeySchema keys)
    : tables_(tables), clock_(clock), settings_(std::move(settings)), keys_(std::move(keys)), guard_(settings_) {
  const Names& n = settings_.names;
  const bool updates = !settings_.update_attributes.empty();
  const bool content = settings_.ties == Ties::kContent;
  kept_ = {n.deleted, n.ttl};
  if (updates) kept_.push_back(n.update_timestamp);
  if (content) kept_.push_back(n.tie);
  if (updates && content) kept_.push_back(n.update_tie);
}

Async<Result<std::unique_ptr<GuardedTable>>> GuardedTable::open(Tables& tables, const Clock& clock,
                                                                Definition definition) {
  Settings& settings = definition.settings;
  if (auto valid = validate(settings); !valid) co_return fail(valid.error());
  const std::string where = "ordered writes '" + settings.name + "': ";
  TableDefinition wanted = ordered_table(settings, std::move(definition.keys));
  auto table = co_await provide_table(tables, std::move(wanted));
  if (!table) co_return fail(table.error().code, where + table.error().message);
  auto complete = as_ordered_table(*table, settings);
  if (!complete) co_return fail(complete.error().code, where + complete.error().message);
  if (*complete != *table) {
    TableDefinition change = *complete;
    auto altered = co_await tables.alter_table(std::move(change));
    if (!altered) co_return fail(altered.error().code, where + altered.error().message);
  }
  co_return std::unique_ptr<GuardedTable>(
      new GuardedTable(tables, clock, std::move(settings), std::move(complete->keys)));
}

// `own`: what stands in the record where the timestamp goes. `more`: attributes beside the record's, in which the path
// may end too.
std::variant<Value, Refusal> GuardedTable::stamp_in(const std::optional<Value>& given, const Item& record,
                                                    const Value* own, const Map* more) {
  const std::string& path = settings_.timestamp_path;
  const Value* value = given ? &*given : nullptr;
  if (value == nullptr && !path.empty()) {
    value = at_path(record, path);
    if (value == nullptr && more != nullptr) value = at_path(*more, path);
    if (value == nullptr) {
      return wrong(item_text(key_of(record)) + " has nothing at '" + path +
                   "', where its timestamp must stand, and no 'timestamp' is given");
    }
  }
  if (value == nullptr) value = own;
  if (value == nullptr) {
    if (!settings_.has_clock()) return wrong("'timestamp' is missing: a token cannot be made of the clock");
    const WallTime now = clock_.wall();
    // A clock that was far ahead for a moment is not followed: everything would be refused until it is that late.
    if (last_stamp_ - now > settings_.max_skew && !FRESHET_PLANTED("far-clock-followed")) last_stamp_ = now;
    last_stamp_ = std::max(last_stamp_, now);
    return ordered::stamp_of(last_stamp_, settings_.unit);
  }
  auto read = read_stamp(*value, settings_);
  if (auto* no = std::get_if<Refusal>(&read)) {
    const std::string& name = given ? "timestamp" : value == own ? settings_.names.timestamp : path;
    return wrong("'" + name + "' of " + item_text(key_of(record)) + no->why);
  }
  const Value& stamp = std::get<Value>(read);
  if (own != nullptr && own != value && !(*own == stamp)) {
    return wrong(item_text(key_of(record)) + " has " + as_text(*own) + " in '" + settings_.names.timestamp +
                 "', where its timestamp " + as_text(stamp) + " goes: leave the attribute out");
  }
  return read;
}

std::variant<Value, Refusal> GuardedTable::stamp_of_put(const OrderedPut& input) {
  return stamp_in(input.timestamp, input.item, input.item.find(settings_.names.timestamp), nullptr);
}

std::variant<Value, Refusal> GuardedTable::stamp_of_delete(const OrderedDelete& input) {
  return stamp_in(input.timestamp, input.key, input.key.find(settings_.names.timestamp), nullptr);
}

std::variant<Value, Refusal> GuardedTable::stamp_of_update(const OrderedUpdate& input) {
  return stamp_in(input.timestamp, input.key, input.key.find(settings_.names.timestamp), &input.set);
}

// Gives the write its timestamp, if it may have that now.
std::optional<Refusal> GuardedTable::begin(Write& write, std::variant<Value, Refusal> stamp) const {
  if (auto* no = std::get_if<Refusal>(&stamp)) return std::move(*no);
  write.stamp = std::move(std::get<Value>(stamp));
  return check_age(write.stamp, settings_, clock_.wall());
}

std::optional<Refusal> GuardedTable::check_put(const OrderedPut& input) const {
  for (const std::string& name : kept_) {
    if (!input.item.contains(name)) continue;
    return wrong(item_text(key_of(input.item)) + " has the attribute '" + name +
                 "', which ordered writes keep themselves: rename one of them");
  }
  return {};
}

std::optional<Refusal> GuardedTable::check_key(const Item& key) const {
  const auto attributes = keys_.attributes();
  std::string names;
  bool whole = key.size() == attributes.size();
  for (const KeyAttribute* one : attributes) {
    const Value* value = key.find(one->name);
    whole = whole && value != nullptr && value->type() == one->type;
    names += (names.empty() ? "" : " and ") + one->name + " (" + std::string(type_name(one->type)) + ")";
  }
  if (whole) return {};
  return wrong("the key must be " + names + " and nothing else");
}

std::optional<Refusal> GuardedTable::check_update(const OrderedUpdate& input) const {
  const auto& declared = settings_.update_attributes;
  if (declared.empty()) {
    return wrong(
        "there are no guarded updates: the definition declares no 'update_attributes'. An old update may be "
        "refused only if a newer one wrote the same attributes");
  }
  if (auto no = check_key(input.key)) return no;
  const auto is_declared = [&](const std::string& name) {
    return std::find(declared.begin(), declared.end(), name) != declared.end();
  };
  const auto undeclared = [&](const std::string& name) {
    return wrong("'" + name + "' of " + item_text(input.key) + " is not one of 'update_attributes'");
  };
  for (const auto& [name, value] : input.set) {
    if (!is_declared(name)) return undeclared(name);
  }
  for (const std::string& name : input.remove) {
    if (!is_declared(name)) return undeclared(name);
  }
  for (const std::string& name : declared) {
    const bool removed = std::find(input.remove.begin(), input.remove.end(), name) != input.remove.end();
    if (input.set.contains(name) != removed) continue;
    return wrong("'" + name + "' of " + item_text(input.key) +
                 (removed ? " is both set and removed" : " is neither set nor removed") +
                 ": an update says of each of 'update_attributes' what becomes of it");
  }
  return {};
}

Item GuardedTable::key_of(const Item& item) const {
  Item key;
  for (const KeyAttribute* one : keys_.attributes()) {
    if (const Value* value = item.find(one->name)) key.set(one->name, *value);
  }
  return key;
}

OrderedResult GuardedTable::applied(const Write& write) const {
  OrderedResult result;
  result.timestamp = write.stamp;
  return result;
}

OrderedResult GuardedTable::refused(Refusal refusal, std::optional<Value> stamp) const {
  OrderedResult result;
  result.code = refusal.code;
  result.detail = std::move(refusal.why);
  result.timestamp = std::move(stamp);
  return result;
}

OrderedResult GuardedTable::failed(const Error& error, const Write& write) const {
  OrderedResult result = refused({OrderedCode::kStoreError, error.message}, write.stamp);
  result.error = error.code;
  // The store found a fault in the item itself.
  if (error.code == ErrorCode::kValidation) result.code = OrderedCode::kInvalid;
  return result;
}

OrderedResult GuardedTable::older(const Write& write, const Facts* facts, const ItemRef& found) const {
  std::string why = (found ? item_text(key_of(found.decode())) : "the item") + " is newer than " + as_text(write.stamp);
  if (facts != nullptr && facts->stamp) {
    why += ": its '" + settings_.names.timestamp + "' is " + as_text(*facts->stamp);
    const auto ahead = check_age(*facts->stamp, settings_, clock_.wall());
    if (ahead && ahead->code == OrderedCode::kTooFarAhead)
      why += ", which was written by somebody whose clock is ahead";
  }
  if (facts != nullptr && facts->update_stamp) {
    why += ", its '" + settings_.names.update_timestamp + "' is " + as_text(*facts->update_stamp);
  }
  OrderedResult result = refused({OrderedCode::kOlder, std::move(why)}, write.stamp);
  result.found = found;
  return result;
}

// Reads what stood against the write, or says why it cannot be judged.
std::variant<Facts, OrderedResult> GuardedTable::facts_of(const Write& write, const ItemRef& found) const {
  auto facts = read_facts(found, settings_);
  if (facts) return std::move(*facts);
  OrderedResult result = refused(
      {OrderedCode::kForeignItem, item_text(key_of(found.decode())) + ": " + facts.error().message}, write.stamp);
  result.found = found;
  return result;
}

OrderedResult GuardedTable::result_of(const Result<WriteOutput>& written, const Write& write) const {
  if (written) return applied(write);
  if (written.error().code != ErrorCode::kConditionalCheckFailed) return failed(written.error(), write);
  const ItemRef found = item_in(written.error());
  if (!found) return older(write, nullptr, found);  // The store does not say; newer it was.
  auto facts = facts_of(write, found);
  if (auto* no = std::get_if<OrderedResult>(&facts)) return std::move(*no);
  return older(write, &std::get<Facts>(facts), found);
}

Async<OrderedResult> GuardedTable::answer(Async<Result<WriteOutput>> writing, Write write) const {
  auto written = co_await writing;
  co_return result_of(written, write);
}

PutItemInput GuardedTable::guarded_put(Item item, const Write& write) const {
  PutItemInput put;
  put.table = settings_.table;
  put.item = std::move(item);
  put.return_item_on_failure = true;
  guard_.add_to(put, write);
  return put;
}

// The item as a put or a delete leaves it. Of a store that answers at once without a coroutine: a third of the cost.
Async<OrderedResult> GuardedTable::write_whole(Item&& item, Write&& write) const {
  auto writing = tables_.put_item(guarded_put(std::move(item), write));
  if (writing.is_ready()) return result_of(writing.take(), write);
  return answer(std::move(writing), std::move(write));
}

// The same where there are guarded updates: one that is newer stays in what is written.
Async<OrderedResult> GuardedTable::write_over_updates(Item item, Write write) {
  const Item key = key_of(item);
  ItemRef found;
  for (int attempt = 1;; ++attempt) {
    PutItemInput put;
    put.table = settings_.table;
    put.item = item;
    put.return_item_on_failure = true;
    if (found) {
      guard_.merge(put, write, found.decode());
    } else {
      guard_.add_to(put, write);
    }
    auto written = co_await tables_.put_item(std::move(put));
    if (written) co_return applied(write);
    if (written.error().code != ErrorCode::kConditionalCheckFailed) co_return failed(written.error(), write);
    found = item_in(written.error());
    if (!found) {  // The store does not say, or it is gone again.
      GetItemInput get = get_of({key, true});
      auto read = co_await tables_.get_item(std::move(get));
      if (!read) co_return failed(read.error(), write);
      found = std::move(*read);
    }
    if (found) {
      auto facts = facts_of(write, found);
      if (auto* no = std::get_if<OrderedResult>(&facts)) co_return std::move(*no);
      const Facts& f = std::get<Facts>(facts);
      if (!whole_gives_way(f, write, settings_.ties)) co_return older(write, &f, found);
      if (update_gives_way(f, write, settings_.ties)) found = {};  // It has changed meanwhile: as at first.
    }
    if (attempt == kTries) {
      const Error busy{ErrorCode::kConflict, item_text(key) + " is updated all the time: try again", nullptr};
      co_return failed(busy, write);
    }
  }
}

Async<OrderedResult> GuardedTable::put(OrderedPut input) {
  if (auto no = check_put(input)) return refused(std::move(*no));
  Item& item = input.item;
  const Value* own = item.find(settings_.names.timestamp);
  Write write{Kind::kPut, {}, {}};
  if (auto no = begin(write, stamp_in(input.timestamp, item, own, nullptr))) return refused(std::move(*no));
  if (own == nullptr || !(*own == write.stamp)) item.set(settings_.names.timestamp, write.stamp);
  if (settings_.ties == Ties::kContent) {
    write.tie = tie_of_put(item);
    item.set(settings_.names.tie, Value(write.tie));
  }
  return settings_.update_attributes.empty() ? write_whole(std::move(item), std::move(write))
                                             : write_over_updates(std::move(item), std::move(write));
}

Async<OrderedResult> GuardedTable::erase(OrderedDelete input) {
  if (auto no = check_key(input.key)) return refused(std::move(*no));
  Write write{Kind::kDelete, {}, {}};
  if (auto no = begin(write, stamp_of_delete(input))) return refused(std::move(*no));
  Item& tombstone = input.key;
  tombstone.set(settings_.names.timestamp, write.stamp);
  tombstone.set(settings_.names.deleted, Value::boolean(true));
  tombstone.set(settings_.names.ttl, Value::number(expires_s(write.stamp, settings_, clock_.wall())));
  if (settings_.ties == Ties::kContent) {
    write.tie = tie_of_delete();
    tombstone.set(settings_.names.tie, Value(write.tie));
  }
  return settings_.update_attributes.empty() ? write_whole(std::move(tombstone), std::move(write))
                                             : write_over_updates(std::move(tombstone), std::move(write));
}

// A tombstone that an update meets and that is older becomes an item again.
UpdateItemInput GuardedTable::update_of(OrderedUpdate input, const Write& write) const {
  UpdateItemInput update;
  update.table = settings_.table;
  update.key = std::move(input.key);
  update.return_item_on_failure = true;
  guard_.add_to(update, write);
  Placeholders& placeholders = update.placeholders;
  placeholders.names.emplace_back("#d", settings_.names.deleted);
  placeholders.names.emplace_back("#e", settings_.names.ttl);
  std::string set = "#u = :t";
  std::string remove = "#d, #e";
  if (settings_.ties == Ties::kContent) {
    placeholders.names.emplace_back("#j", settings_.names.update_tie);
    set += ", #j = :i";
  }
  for (size_t i = 0; i < settings_.update_attributes.size(); ++i) {
    const std::string number = std::to_string(i);
    const std::string& name = settings_.update_attributes[i];
    placeholders.names.emplace_back("#a" + number, name);
    if (Value* value = input.set.find(name)) {
      placeholders.values.set(":a" + number, std::move(*value));
      set += ", #a" + number + " = :a" + number;
    } else {
      remove += ", #a" + number;
    }
  }
  update.update = "SET " + set + " REMOVE " + remove;
  return update;
}

Async<OrderedResult> GuardedTable::update(OrderedUpdate input) {
  if (auto no = check_update(input)) co_return refused(std::move(*no));
  Write write{Kind::kUpdate, {}, {}};
  if (auto no = begin(write, stamp_of_update(input))) co_return refused(std::move(*no));
  if (settings_.ties == Ties::kContent) write.tie = tie_of_update(input.set);
  UpdateItemInput update = update_of(std::move(input), write);
  auto written = co_await tables_.update_item(std::move(update));
  co_return result_of(written, write);
}

}  // namespace freshet::ordered
