#include "wire/dynamodb/capacity.h"

#include <algorithm>

#include "tables/engine/cost.h"
#include "tables/value/json.h"

namespace freshet::dynamodb {

namespace {

std::string text_of(uint64_t halves) {
  return std::to_string(halves / 2) + (halves % 2 == 0 ? ".0" : ".5");
}

void append_units(std::string& json, uint64_t halves, UnitKind kind) {
  const std::string text = text_of(halves);
  json += "\"CapacityUnits\":" + text;
  if (kind == UnitKind::kRead) json += ",\"ReadCapacityUnits\":" + text;
  if (kind == UnitKind::kWrite) json += ",\"WriteCapacityUnits\":" + text;
}

void append_indexes(std::string& json, const Units& units, bool local, UnitKind kind) {
  bool any = false;
  for (const auto& index : units.indexes) {
    if (index.local != local) continue;
    if (any) {
      json += ',';
    } else {
      json += local ? ",\"LocalSecondaryIndexes\":{" : ",\"GlobalSecondaryIndexes\":{";
    }
    any = true;
    append_json_string(json, index.name);
    json += ":{";
    append_units(json, index.halves, kind);
    json += '}';
  }
  if (any) json += '}';
}

}  // namespace

CapacityReport capacity_report_of(const Input& input) {
  const std::string value = input.choice("ReturnConsumedCapacity", {"INDEXES", "TOTAL", "NONE"});
  if (value == "TOTAL") return CapacityReport::kTotal;
  return value == "INDEXES" ? CapacityReport::kIndexes : CapacityReport::kNone;
}

bool wants_collection_metrics(const Input& input) {
  return input.choice("ReturnItemCollectionMetrics", {"SIZE", "NONE"}) == "SIZE";
}

uint64_t Units::total() const {
  uint64_t sum = table;
  for (const auto& index : indexes) sum += index.halves;
  return sum;
}

void Units::add(const Units& more) {
  table += more.table;
  for (const auto& index : more.indexes) {
    const auto known =
        std::find_if(indexes.begin(), indexes.end(), [&](const Index& have) { return have.name == index.name; });
    if (known == indexes.end()) {
      indexes.push_back(index);
    } else {
      known->halves += index.halves;
    }
  }
}

uint64_t read_half_units(uint64_t bytes, bool consistent) {
  return read_units_of(bytes) * (consistent ? 2 : 1);
}

Units read_units(uint64_t bytes, bool consistent) {
  return {read_half_units(bytes, consistent), {}};
}

Units write_units(const WriteCost& cost) {
  Units units{write_units_of(cost.bytes) * 2, {}};
  for (const auto& index : cost.indexes) units.indexes.push_back({index.name, index.local, index.units * 2});
  return units;
}

Units transaction_units(Units units) {
  units.table *= 2;
  for (auto& index : units.indexes) index.halves *= 2;
  return units;
}

void append_capacity(std::string& json, CapacityReport report, std::string_view table, const Units& units,
                     UnitKind kind) {
  json += "{\"TableName\":";
  append_json_string(json, table);
  json += ',';
  append_units(json, units.total(), kind);
  if (report == CapacityReport::kIndexes) {
    json += ",\"Table\":{";
    append_units(json, units.table, kind);
    json += '}';
    append_indexes(json, units, true, kind);
    append_indexes(json, units, false, kind);
  }
  json += '}';
}

void CapacitySums::add(const std::string& table, const Units& units) {
  if (!wanted()) return;
  const auto found = std::find_if(sums_.begin(), sums_.end(), [&](const auto& sum) { return sum.first == table; });
  if (found == sums_.end()) {
    sums_.emplace_back(table, units);
  } else {
    found->second.add(units);
  }
}

void CapacitySums::append(std::string& json) const {
  if (!wanted()) return;
  json += ",\"ConsumedCapacity\":[";
  for (const auto& [table, units] : sums_) {
    if (!json.ends_with('[')) json += ',';
    append_capacity(json, report_, table, units, kind_);
  }
  json += ']';
}

void append_collection(std::string& json, const WriteCost& cost) {
  if (cost.collection.empty()) return;
  json += "{\"ItemCollectionKey\":";
  append_item_json(json, cost.collection);
  json += ",\"SizeEstimateRangeGB\":[0.0," + std::to_string(cost.collection_most_gib) + ".0]}";
}

void CollectionList::add(const std::string& table, const WriteCost& cost) {
  if (!wanted_ || cost.collection.empty()) return;
  auto found = std::find_if(lists_.begin(), lists_.end(), [&](const auto& list) { return list.first == table; });
  if (found == lists_.end()) found = lists_.insert(lists_.end(), {table, {}});
  std::string member;
  append_collection(member, cost);
  // Several writes of one collection are reported once.
  if (found->second.find(member) != std::string::npos) return;
  if (!found->second.empty()) found->second += ',';
  found->second += member;
}

void CollectionList::append(std::string& json) const {
  if (lists_.empty()) return;
  json += ",\"ItemCollectionMetrics\":{";
  for (const auto& [table, members] : lists_) {
    if (!json.ends_with('{')) json += ',';
    append_json_string(json, table);
    json += ":[" + members + ']';
  }
  json += '}';
}

}  // namespace freshet::dynamodb
