// Descriptions of tables as the protocol writes them.
#pragma once

#include <string>
#include <string_view>

#include "tables/definition.h"
#include "wire/dynamodb/input.h"
#include "wire/dynamodb/operation.h"

namespace freshet::dynamodb {

// {"TableName":...,"KeySchema":[...],...}. `status` is ACTIVE or DELETING.
void append_table_json(std::string& json, const TableDescription& table, std::string_view status, const Place& place);

void append_key_schema(std::string& json, const KeySchema& keys);  // "KeySchema":[...]
std::string seconds_of(WallTime time);                             // As timestamps are written: "1800000000.123".

}  // namespace freshet::dynamodb
