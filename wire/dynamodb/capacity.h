// ReturnConsumedCapacity: what a request would cost at the service (Developer Guide, "Read/write capacity mode").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/dynamodb/input.h"

namespace freshet::dynamodb {

enum class CapacityReport { kNone, kTotal, kIndexes };
CapacityReport capacity_report_of(const Input& input);

// Units in halves, so that they stay exact: an eventually consistent read of up to 4 KB is one half.
uint64_t read_half_units(uint64_t bytes, bool consistent);
uint64_t write_half_units(uint64_t bytes);

// Appends `{"TableName":...,"CapacityUnits":...}` with the units of the index, if one was read.
void append_capacity(std::string& json, CapacityReport report, std::string_view table, uint64_t half_units,
                     std::string_view index = {}, bool index_is_local = false);

}  // namespace freshet::dynamodb
