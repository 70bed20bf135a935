#include "functions/priority/settings.h"

#include <algorithm>
#include <vector>

#include "functions/own_tables.h"

namespace freshet::priority {
namespace {

// The sample's code spells it so, and its SDK reads no other.
constexpr std::string_view kQueueIndex = "queueud-last_updated_timestamp-index";
constexpr std::string_view kDeadIndex = "dlq-last_updated_timestamp-index";

Result<void> check_different(std::string_view what, std::vector<std::string> names) {
  for (const auto& name : names) {
    if (name.empty()) return invalid(std::string(what) + " must not be empty");
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) return invalid("two " + std::string(what) + " are '" + *twice + "': they must differ");
  return {};
}

Result<void> check_time(std::string_view what, milliseconds time, milliseconds least) {
  if (time >= least && time <= kLongestTimeout) return {};
  return invalid("'" + std::string(what) + "' is " + std::to_string(time.count()) + " ms; it must be from " +
                 std::to_string(least.count()) + " ms to 366 days");
}

Result<void> check_numbers(const Numbers& n) {
  for (const int64_t number : {n.ready, n.in_flight, n.delayed, n.dead}) {
    if (number < 0 || number > kLargestNumber) {
      return invalid("queue number " + std::to_string(number) + ": they are from 0 to " +
                     std::to_string(kLargestNumber));
    }
  }
  if (n.ready == n.in_flight || n.ready == n.delayed || n.in_flight == n.delayed) {
    return invalid("the numbers of 'ready', 'in_flight' and 'delayed' must differ");
  }
  return {};
}

// The index that is meant: the configured one, or the first with these keys that a queue can read; makes it under
// `fallback` if there is none.
Result<void> provide_index(TableDefinition& definition, std::string& name, std::string_view fallback,
                           const KeySchema& keys, const std::string& system_info) {
  const auto readable = [&](const IndexDefinition& index) {
    return index.projection == Projection::kAll ||
           (index.projection == Projection::kInclude &&
            std::find(index.included.begin(), index.included.end(), system_info) != index.included.end());
  };
  if (name.empty()) {
    for (const auto& index : definition.indexes) {
      if (index.keys != keys || !readable(index)) continue;
      name = index.name;
      return {};
    }
    name = fallback;
  }
  const IndexDefinition* there = definition.index(name);
  if (there == nullptr) {
    definition.indexes.push_back({name, keys, false, Projection::kAll, {}});
    return {};
  }
  const std::string which = "index '" + name + "' of table '" + definition.name + "'";
  if (there->keys != keys) {
    return invalid(which + " must have the keys " + keys.partition.name + " (" +
                   std::string(type_name(keys.partition.type)) + ") and " + keys.sort->name + " (" +
                   std::string(type_name(keys.sort->type)) + ")");
  }
  if (!readable(*there)) return invalid(which + " must project '" + system_info + "', or ALL");
  return {};
}

KeySchema index_keys(const std::string& partition, const std::string& sort, Type sort_type) {
  return {{partition, Type::kNumber}, KeyAttribute{sort, sort_type}};
}

std::string queue_index_name(const Settings& settings) {
  if (settings.order == Order::kTimestamp && settings.names.queued == Names().queued &&
      settings.names.last_updated == Names().last_updated) {
    return std::string(kQueueIndex);
  }
  return settings.names.queued + "-" + settings.order_attribute() + "-index";
}

// An attribute that the queue rewrites cannot be a key.
Result<void> check_keys(const TableDefinition& definition, const Settings& s) {
  std::vector<std::string> ours{s.names.system_info, s.names.last_updated, s.names.queued, s.names.dead,
                                s.names.visible_at};
  if (s.order != Order::kTimestamp) ours.push_back(s.order_attribute());
  for (const KeyAttribute* key : definition.keys.attributes()) {
    if (std::find(ours.begin(), ours.end(), key->name) == ours.end()) continue;
    return invalid("'" + key->name + "' is a key of table '" + definition.name +
                   "', and an attribute that the queue changes: name that one otherwise ('attributes')");
  }
  return {};
}

}  // namespace

std::vector<std::string> States::all() const {
  std::vector<std::string> out{initial, ready, processing, completed, dead};
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

const std::string& Settings::order_attribute() const {
  switch (order) {
    case Order::kPriority:
      return names.priority;
    case Order::kBoth:
      return names.order;
    case Order::kTimestamp:
      break;
  }
  return names.last_updated;
}

bool Settings::forward() const {
  return order == Order::kPriority ? lowest_first : !newest_first;
}

Result<void> validate(const Settings& s) {
  if (s.name.empty()) return invalid("'name' of the queue must not be empty");
  if (s.table.empty()) return invalid("queue '" + s.name + "': 'table' must not be empty");
  const auto check = [&]() -> Result<void> {
    for (const std::string& table : {s.table, s.state_table}) {
      if (auto ok = check_not_own_table(table); !ok) return ok;
    }
    if (s.state_table == s.table) return invalid("'state_table' is the table itself: leave it out");
    const Names& n = s.names;
    if (auto ok = check_different("names of attributes",
                                  {n.system_info, n.last_updated, n.queued, n.dead, n.priority, n.order, n.visible_at});
        !ok) {
      return ok;
    }
    if (auto ok = check_different("states", s.states.all()); !ok) return ok;
    if (auto ok = check_numbers(s.numbers); !ok) return ok;
    if (auto ok = check_time("visibility_timeout_ms", s.visibility, milliseconds(1)); !ok) return ok;
    if (auto ok = check_time("delay_ms", s.delay, milliseconds(0)); !ok) return ok;
    if (auto ok = check_time("backoff.base_ms", s.backoff.base, milliseconds(0)); !ok) return ok;
    if (auto ok = check_time("backoff.max_ms", s.backoff.max, milliseconds(0)); !ok) return ok;
    if (auto ok = check_time("sweep_ms", s.sweep, milliseconds(1)); !ok) return ok;
    if (s.backoff.factor < 1) return invalid("'backoff.factor' must be at least 1");
    if (s.backoff.jitter < 0 || s.backoff.jitter > 1) return invalid("'backoff.jitter' must be from 0 to 1");
    if (s.max_failures < 0) return invalid("'max_failures' must not be negative; 0: the dead-letter queue is not used");
    return {};
  };
  auto checked = check();
  if (!checked) return invalid("queue '" + s.name + "': " + checked.error().message);
  return {};
}

TableDefinition records_table(const Settings& settings, KeySchema keys) {
  TableDefinition definition;
  definition.name = settings.table;
  definition.keys = std::move(keys);
  return definition;
}

Result<TableDefinition> as_priority_table(TableDefinition definition, Settings& s) {
  if (auto ok = check_keys(definition, s); !ok) return fail(ok.error());
  const Names& n = s.names;
  const Type order_type = s.order == Order::kPriority ? Type::kNumber : Type::kString;
  auto done = provide_index(definition, s.queue_index, queue_index_name(s),
                            index_keys(n.queued, s.order_attribute(), order_type), n.system_info);
  if (!done) return fail(done.error());
  const std::string dead_name = n.dead == Names().dead && n.last_updated == Names().last_updated
                                    ? std::string(kDeadIndex)
                                    : n.dead + "-" + n.last_updated + "-index";
  done = provide_index(definition, s.dead_index, dead_name, index_keys(n.dead, n.last_updated, Type::kString),
                       n.system_info);
  if (!done) return fail(done.error());
  done = provide_index(definition, s.visible_index, n.queued + "-" + n.visible_at + "-index",
                       index_keys(n.queued, n.visible_at, Type::kNumber), n.system_info);
  if (!done) return fail(done.error());
  // Books of others stay: then stock is counted by reading the index.
  if (!definition.books) definition.books = BooksDefinition{n.queued, ""};
  return definition;
}

}  // namespace freshet::priority
