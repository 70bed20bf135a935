// Reads definitions of tables and their parts from requests; faults go to the input's checks.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tables/definition.h"
#include "wire/dynamodb/input.h"

namespace freshet::dynamodb {

inline constexpr size_t kMaxTags = 50;

using AttributeTypes = std::map<std::string, Type>;
AttributeTypes read_attributes(const Input& in, Need need);
// Reads an IndexName, a KeySchema and a Projection; adds the attributes of its keys to `used`.
IndexDefinition read_index(const Input& in, bool local, const AttributeTypes& types, std::set<std::string>& used);
std::optional<Throughput> read_throughput(const Input& in, std::string_view member = "ProvisionedThroughput");
struct StreamChange {
  bool enabled = false;
  StreamView view = StreamView::kKeysOnly;
};
std::optional<StreamChange> read_stream(const Input& in);  // Empty if the request has none.
std::map<std::string, std::string> read_tags(const Input& in, Need need);
// Checks parameters of both operations that have no effect: SSESpecification, OnDemandThroughput, WarmThroughput.
void check_accepted(const Input& in);
std::string read_table_class(const Input& in);  // Empty for STANDARD, as TableSettings has it.

void refuse_system_name(const Input& in);  // Refuses the names of Freshet's own tables.

// The definition that a CreateTable request asks for.
TableDefinition read_definition(const Input& in);

// The definition in a description of a table, as DescribeTable answers it; without ttl, books and tags.
TableDefinition read_described(const Input& in);

}  // namespace freshet::dynamodb
