// Descriptions of tables as the protocol writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tables/definition.h"
#include "wire/dynamodb/input.h"
#include "wire/dynamodb/operation.h"

namespace freshet::dynamodb {

// {"TableName":...,"KeySchema":[...],...}. `status` is ACTIVE, UPDATING or DELETING; a table that is being restored or
// built shows CREATING.
void append_table_json(std::string& json, const TableDescription& table, std::string_view status,
                       const ResponseScope& place);

// The same without keys, indexes, stream and times: the response of DeleteTable.
void append_deleted_table_json(std::string& json, const TableDescription& table, const ResponseScope& place);

// The same as a client asks for it: the whole request of CreateTable. Books, tags and backups are not part of it.
void append_asked_definition(std::string& json, const TableDefinition& table);
// One index in such a request, or in one of UpdateTable.
void append_asked_index(std::string& json, const TableDefinition& table, const IndexDefinition& index);
// Appends "AttributeDefinitions":[...] of all keys, behind a comma if the object has members.
void append_attribute_definitions(std::string& json, const TableDefinition& table);

void append_member(std::string& json, std::string_view name, std::string_view text);  // Appends ,"name":"text"
// Appends ,"ProvisionedThroughput":{...}: zeros if the table is billed by request.
void append_units(std::string& json, const std::optional<Throughput>& throughput);
// Appends the indexes of a backup's description: ,"LocalSecondaryIndexes":[...], or the global ones; nothing if there
// are none.
void append_index_infos(std::string& json, const TableDefinition& table, bool local);
void append_key_schema(std::string& json, const KeySchema& keys);  // "KeySchema":[...]
std::string seconds_of(WallTime time);                             // The protocol's form of timestamps:
                                                                   // "1800000000.123".

}  // namespace freshet::dynamodb
