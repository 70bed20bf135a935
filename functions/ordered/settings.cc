#include "functions/ordered/settings.h"

#include <algorithm>

#include "functions/own_tables.h"

namespace freshet::ordered {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> kept_names(const Names& n) {
  return {n.timestamp, n.deleted, n.ttl, n.update_timestamp, n.tie, n.update_tie};
}

Result<void> check_names(const Settings& s) {
  std::vector<std::string> names = kept_names(s.names);
  names.insert(names.end(), s.update_attributes.begin(), s.update_attributes.end());
  if (contains(names, "")) return invalid("names of attributes must not be empty");
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    return invalid("'" + *twice + "' stands for two attributes: 'attributes' and 'update_attributes' must all differ");
  }
  if (s.update_attributes.size() > kMostUpdateAttributes) {
    return invalid("'update_attributes' has " + std::to_string(s.update_attributes.size()) + " names; at most " +
                   std::to_string(kMostUpdateAttributes));
  }
  return {};
}

// Tombstones are in an index if all that its keys need is in them; then they must differ from other items there.
Result<void> check_index(const TableDefinition& table, const IndexDefinition& index, const Settings& s) {
  std::vector<std::string> in_tombstones = kept_names(s.names);
  for (const KeyAttribute* key : table.keys.attributes()) in_tombstones.push_back(key->name);
  for (const KeyAttribute* key : index.keys.attributes()) {
    if (!contains(in_tombstones, key->name)) return {};
  }
  if (index.projection == Projection::kAll) return {};
  if (index.projection == Projection::kInclude && contains(index.included, s.names.deleted)) return {};
  return invalid("index '" + index.name + "' would show tombstones as if they were items: it must project '" +
                 s.names.deleted + "', or ALL");
}

}  // namespace

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::kSeconds:
      return "seconds";
    case Unit::kMilliseconds:
      return "milliseconds";
    case Unit::kMicroseconds:
      return "microseconds";
    case Unit::kNanoseconds:
      return "nanoseconds";
    case Unit::kToken:
      break;
  }
  return "token";
}

Result<void> validate(const Settings& s) {
  if (s.name.empty()) return invalid("'name' of the definition must not be empty");
  const auto check = [&]() -> Result<void> {
    if (s.table.empty()) return invalid("'table' must not be empty");
    if (auto ok = check_not_own_table(s.table); !ok) return ok;
    if (auto ok = check_names(s); !ok) return ok;
    if (s.max_skew < milliseconds(0) || s.max_skew > kLongestRetention) {
      return invalid("'max_skew_ms' must be from 0 to " + std::to_string(kLongestRetention.count()));
    }
    if (s.retention < milliseconds(1000) || s.retention > kLongestRetention) {
      return invalid("'tombstone_retention_ms' must be from 1000 to " + std::to_string(kLongestRetention.count()));
    }
    if (s.unit != Unit::kToken && s.token_type != Type::kNumber) {
      return invalid("'token_type' is of the unit token alone: timestamps are numbers");
    }
    return {};
  };
  auto checked = check();
  if (!checked) return invalid("ordered writes '" + s.name + "': " + checked.error().message);
  return {};
}

TableDefinition ordered_table(const Settings& settings, KeySchema keys) {
  TableDefinition definition;
  definition.name = settings.table;
  definition.keys = std::move(keys);
  definition.ttl_attribute = settings.names.ttl;
  return definition;
}

Result<TableDefinition> as_ordered_table(TableDefinition definition, const Settings& s) {
  std::vector<std::string> ours = kept_names(s.names);
  ours.insert(ours.end(), s.update_attributes.begin(), s.update_attributes.end());
  for (const KeyAttribute* key : definition.keys.attributes()) {
    if (contains(ours, key->name)) {
      return invalid("'" + key->name + "' is a key of table '" + s.table + "': it cannot be an attribute that changes");
    }
  }
  for (const IndexDefinition& index : definition.indexes) {
    if (auto ok = check_index(definition, index, s); !ok) return fail(ok.error());
  }
  if (!definition.ttl_attribute) definition.ttl_attribute = s.names.ttl;
  if (*definition.ttl_attribute != s.names.ttl) {
    return invalid("the TTL of table '" + s.table + "' is the attribute '" + *definition.ttl_attribute +
                   "', that of its tombstones '" + s.names.ttl + "': make them the same ('attributes': {'ttl': …})");
  }
  return definition;
}

}  // namespace freshet::ordered
