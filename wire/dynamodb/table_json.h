// Descriptions of tables as the protocol writes them, and definitions as it reads them.
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

// The definition that a CreateTable request asks for; what is wrong goes to the input's checks.
TableDefinition read_definition(const Input& in);

}  // namespace freshet::dynamodb
