// Shared by the three operations on PartiQL statements: reading them, finding their tables, their errors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tables/partiql/statement.h"
#include "wire/dynamodb/operation.h"

namespace freshet::dynamodb {

// One statement of a request as received. I/O thread.
struct StatementInput {
  std::string text;
  std::vector<Value> parameters;
  bool item_on_failure = false;
};
// Reads `Statement`, `Parameters`, `ReturnValuesOnConditionCheckFailure`. Faults of a parameter's value go to `values`,
// all others to the checks of `in`.
StatementInput read_statement(const Input& in, const Input& values);
// A structure of a list of statements: as Input with the checks of `in`, and again with checks of its own.
struct ListedStatement {
  StatementInput input;
  bool consistent = false;       // ConsistentRead, if the list has that member.
  std::optional<Error> invalid;  // Set if a parameter is not a valid value.
};
std::vector<ListedStatement> read_statements(const JsonView& body, const Input& in, std::string_view name,
                                             Range length);

// The definitions of the tables that a request names, each read once. Loop thread.
class StatementTables {
 public:
  explicit StatementTables(Tables& tables) : tables_(tables) {}
  // Null if the table does not exist or must not be seen. Valid as long as this object.
  Async<const TableDefinition*> find(std::string name);

 private:
  Tables& tables_;
  std::vector<std::pair<std::string, std::unique_ptr<TableDefinition>>> known_;
};

Error no_such_table();
// Rewrites an error of the store in its words for statements, which have no expressions to name. If an INSERT finds an
// item, its condition has failed: that becomes a DuplicateItem.
Error statement_error(Error error, bool insert);

// Appends an item as the columns of a SELECT.
void append_row(std::string& json, const partiql::Statement& statement, bool paths, const ItemRef& item);

}  // namespace freshet::dynamodb
