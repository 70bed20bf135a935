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

// One statement of a request as it came in. I/O thread.
struct StatementInput {
  std::string text;
  std::vector<Value> parameters;
  bool item_on_failure = false;
};
// Reads `Statement`, `Parameters`, `ReturnValuesOnConditionCheckFailure`. What is wrong with the value of a parameter
// goes to `values`, all else to the checks of `in`.
StatementInput read_statement(const Input& in, const Input& values);
// The structures of a list of statements: each as Input with the checks of `in`, and the same with checks of its own.
struct ListedStatement {
  StatementInput input;
  bool consistent = false;       // ConsistentRead, where that is a member.
  std::optional<Error> invalid;  // A parameter that is no value of an item.
};
std::vector<ListedStatement> read_statements(const JsonView& body, const Input& in, std::string_view name,
                                             Range length);

// The definitions of the tables that a request names, each asked for once. Loop thread.
class StatementTables {
 public:
  explicit StatementTables(Tables& tables) : tables_(tables) {}
  // Null if there is no such table, or it must not be seen. Valid as long as this object.
  Async<const TableDefinition*> find(std::string name);

 private:
  Tables& tables_;
  std::vector<std::pair<std::string, std::unique_ptr<TableDefinition>>> known_;
};

Error no_such_table();
// An error of the store in the words that it has for statements: they have no expressions, so none is named. Where an
// insert finds an item, its condition has failed: that is a DuplicateItem.
Error statement_error(Error error, bool insert);

// An item as the columns of a SELECT.
void append_row(std::string& json, const partiql::Statement& statement, bool paths, const ItemRef& item);

}  // namespace freshet::dynamodb
