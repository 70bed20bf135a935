#include "wire/dynamodb/capacity.h"

#include <algorithm>

#include "tables/value/json.h"

namespace freshet::dynamodb {

namespace {

constexpr uint64_t kReadUnit = 4096;
constexpr uint64_t kWriteUnit = 1024;

void append_units(std::string& json, uint64_t half_units) {
  json += "{\"CapacityUnits\":" + std::to_string(half_units / 2) + (half_units % 2 == 0 ? ".0}" : ".5}");
}

}  // namespace

CapacityReport capacity_report_of(const Input& input) {
  const std::string value = input.choice("ReturnConsumedCapacity", {"INDEXES", "TOTAL", "NONE"});
  if (value == "TOTAL") return CapacityReport::kTotal;
  return value == "INDEXES" ? CapacityReport::kIndexes : CapacityReport::kNone;
}

uint64_t read_half_units(uint64_t bytes, bool consistent) {
  return std::max<uint64_t>(1, (bytes + kReadUnit - 1) / kReadUnit) * (consistent ? 2 : 1);
}

uint64_t write_half_units(uint64_t bytes) {
  return std::max<uint64_t>(1, (bytes + kWriteUnit - 1) / kWriteUnit) * 2;
}

void append_capacity(std::string& json, CapacityReport report, std::string_view table, uint64_t half_units,
                     std::string_view index, bool index_is_local) {
  json += "{\"TableName\":";
  append_json_string(json, table);
  json += ",\"CapacityUnits\":" + std::to_string(half_units / 2) + (half_units % 2 == 0 ? ".0" : ".5");
  if (report == CapacityReport::kIndexes) {
    json += ",\"Table\":";
    append_units(json, index.empty() ? half_units : 0);
    if (!index.empty()) {
      json += index_is_local ? ",\"LocalSecondaryIndexes\":{" : ",\"GlobalSecondaryIndexes\":{";
      append_json_string(json, index);
      json += ':';
      append_units(json, half_units);
      json += '}';
    }
  }
  json += '}';
}

}  // namespace freshet::dynamodb
