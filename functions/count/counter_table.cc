#include "functions/count/counter_table.h"

#include <utility>

#include "base/points.h"
#include "tables/traits.h"

namespace freshet {
namespace {

constexpr std::string_view kPosition = "position";
constexpr std::string_view kStatePrefix = "state#";
constexpr const char* kKeys = "counted (S, HASH) and metric (S, RANGE)";

Value number(uint64_t n) {
  return Value::number(static_cast<int64_t>(n));
}

}  // namespace

std::optional<std::string> wrong_metrics_keys(const TableDefinition& table) {
  const KeySchema wanted{{"counted", Type::kString}, KeyAttribute{"metric", Type::kString}};
  if (table.keys == wanted) return std::nullopt;
  return "the table " + table.name + " has other keys than a metrics table: it needs " + kKeys;
}

Async<Result<void>> CounterTable::check() {
  if (auto fits = require_traits(tables_.traits(), "count_states", {Trait::kTransactions}); !fits) co_return fits;
  auto described = co_await tables_.describe_table(table_);
  if (!described) {
    if (described.error().code != ErrorCode::kResourceNotFound) co_return fail(described.error());
    co_return invalid("METRICS_TABLE is '" + table_ + "': there is no such table; make one with the keys " + kKeys);
  }
  if (auto wrong = wrong_metrics_keys(described->definition)) co_return invalid("METRICS_TABLE: " + *wrong);
  co_return Result<void>();
}

Item CounterTable::key(std::string metric) const {
  return Item{{"counted", Value(counted_)}, {"metric", Value(std::move(metric))}};
}

Async<Result<std::optional<CountPosition>>> CounterTable::position() {
  GetItemInput input;
  input.table = table_;
  input.key = key(std::string(kPosition));
  auto found = co_await tables_.get_item(std::move(input));
  if (!found) co_return fail(found.error());
  std::optional<CountPosition> position;
  if (*found) {
    const Item item = found->decode();
    position.emplace();
    position->stream = item.string_or("stream");
    position->sequence = static_cast<uint64_t>(item.int_or("sequence", 0));
    position->counting = item.string_or("counting");
    position->as_of = WallTime(milliseconds(item.int_or("asOf", 0)));
    position->continuity = item.string_or("continuity");
    position->round = item.string_or("round");
    const Value* cursor = item.find("cursor");
    if (const Map* key = cursor ? cursor->get_if<Map>() : nullptr) position->cursor = *key;
    position->counted_at = WallTime(milliseconds(item.int_or("countedAt", 0)));
  }
  co_return position;
}

WriteInput CounterTable::position_write(const std::optional<CountPosition>& seen, const CountPosition& next) const {
  PutItemInput put;
  put.table = table_;
  put.item = key(std::string(kPosition));
  put.item.set("stream", Value(next.stream));
  put.item.set("sequence", number(next.sequence));
  put.item.set("counting", Value(next.counting));
  put.item.set("asOf", Value::number(epoch_ms(next.as_of)));
  if (!next.round.empty()) {
    put.item.set("continuity", Value(next.continuity));
    put.item.set("round", Value(next.round));
    put.item.set("countedAt", Value::number(epoch_ms(next.counted_at)));
  }
  if (!next.cursor.empty()) put.item.set("cursor", Value(next.cursor));
  if (FRESHET_PLANTED("fleet-count-unconditional")) return put;
  if (!seen) {
    put.condition = "attribute_not_exists(#k)";
    put.placeholders.names = {{"#k", "metric"}};
    return put;
  }
  put.condition = "#s = :s AND #q = :q AND #c = :c";
  put.placeholders.names = {{"#s", "stream"}, {"#q", "sequence"}, {"#c", "counting"}};
  put.placeholders.values =
      Map{{":s", Value(seen->stream)}, {":q", number(seen->sequence)}, {":c", Value(seen->counting)}};
  if (seen->round.empty()) return put;
  put.condition += " AND #r = :r";
  put.placeholders.names.emplace_back("#r", "round");
  put.placeholders.values.set(":r", Value(seen->round));
  return put;
}

WriteInput CounterTable::items_write(const std::string& label, int64_t n, bool absolute) const {
  UpdateItemInput update;
  update.table = table_;
  update.key = key(std::string(kStatePrefix) + label);
  update.update = absolute ? "SET #n = :n, #s = :s" : "SET #s = :s ADD #n :n";
  update.placeholders.names = {{"#n", "itemCount"}, {"#s", "state"}};
  update.placeholders.values = Map{{":n", Value::number(n)}, {":s", Value(label)}};
  return update;
}

WriteInput CounterTable::moves_write(const std::string& from, const std::string& to, uint64_t n) const {
  UpdateItemInput update;
  update.table = table_;
  update.key = key("transition#" + from + "#" + to);
  update.update = "SET #f = :f, #t = :t ADD #n :n";
  update.placeholders.names = {{"#n", "moves"}, {"#f", "fromState"}, {"#t", "toState"}};
  update.placeholders.values = Map{{":n", number(n)}, {":f", Value(from)}, {":t", Value(to)}};
  return update;
}

Async<Result<void>> CounterTable::write(std::vector<WriteInput> actions) {
  TransactWriteInput input;
  input.actions = std::move(actions);
  auto written = co_await tables_.transact_write(std::move(input));
  if (!written && written.error().code == ErrorCode::kTransactionCanceled) {
    co_return fail(ErrorCode::kTransactionCanceled, "somebody else has written the counters of this attribute in " +
                                                        table_ +
                                                        " meanwhile; this is tried again: " + written.error().message);
  }
  if (!written) co_return fail(written.error());
  co_return Result<void>();
}

Async<Result<void>> CounterTable::add(StateChanges changes, std::optional<CountPosition> seen, CountPosition next,
                                      std::vector<WriteInput> with) {
  std::vector<WriteInput> actions;
  actions.push_back(position_write(seen, next));
  for (const auto& [label, n] : changes.items) actions.push_back(items_write(label, n, false));
  for (const auto& [move, n] : changes.moves) actions.push_back(moves_write(move.first, move.second, n));
  for (WriteInput& one : with) actions.push_back(std::move(one));
  return write(std::move(actions));
}

Async<Result<std::map<std::string, int64_t>>> CounterTable::known_states() {
  std::map<std::string, int64_t> states;
  Item start;
  do {
    QueryInput query;
    query.table = table_;
    query.key_condition = "#h = :h AND begins_with(#r, :r)";
    query.placeholders.names = {{"#h", "counted"}, {"#r", "metric"}};
    query.placeholders.values = Map{{":h", Value(counted_)}, {":r", Value(kStatePrefix)}};
    query.exclusive_start_key = std::move(start);
    query.consistent = true;
    auto page = co_await tables_.query(std::move(query));
    if (!page) co_return fail(page.error());
    for (const ItemRef& item : page->items) {
      if (const auto metric = item.find("metric")) states[std::string(metric->bytes().substr(kStatePrefix.size()))] = 0;
    }
    start = std::move(page->last_evaluated_key);
  } while (!start.empty());
  co_return states;
}

Async<Result<void>> CounterTable::set_items(std::map<std::string, int64_t> items, std::optional<CountPosition> seen,
                                            CountPosition next, std::string id) {
  auto all = co_await known_states();
  if (!all) co_return fail(all.error());
  for (const auto& [label, n] : items) (*all)[label] = n;
  auto from = all->begin();
  do {
    std::vector<WriteInput> actions(1);
    for (; from != all->end() && actions.size() <= kMost; ++from) {
      actions.push_back(items_write(from->first, from->second, true));
    }
    CountPosition step = next;
    if (from != all->end()) {
      step.counting = id;
      if (seen) step.cursor = seen->cursor;
    }
    actions[0] = position_write(seen, step);
    auto written = co_await write(std::move(actions));
    if (!written) co_return written;
    seen = std::move(step);
  } while (from != all->end());
  co_return Result<void>();
}

}  // namespace freshet
