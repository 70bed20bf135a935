// A parsed PartiQL statement. Conditions, updates and paths are those of the expression language (expression/ast.h):
// names are in the paths unchanged, values are in slots. A value type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tables/expression/ast.h"
#include "tables/tables.h"
#include "tables/value/value.h"

namespace freshet::partiql {

struct OrderTerm {
  std::string attribute;
  bool descending = false;
};

struct Statement {
  enum class Kind : uint8_t { kSelect, kExists, kInsert, kUpdate, kDelete };  // kExists: EXISTS(SELECT ...).
  Kind kind = Kind::kSelect;
  std::string table;
  std::string index;                         // Empty for the table itself.
  std::vector<Value> values;                 // By slot: literals, and the parameters where they stand.
  std::vector<expression::Path> projection;  // Empty for all attributes.
  std::optional<expression::Condition> where;
  std::vector<OrderTerm> order;
  Item item;                                // kInsert only.
  std::vector<expression::Action> actions;  // kUpdate only. set_add and set_delete are ADD and DELETE.
  std::optional<ReturnValues> returning;    // kUpdate and kDelete only.

  bool reads() const { return kind == Kind::kSelect; }
};

// The name of a column: that of the path's last name, with the indexes behind it: "k[0]" of m.k[0].
std::string column_name(const expression::Path& path);

// Reads `text`, with a value for each "?" in `parameters`. kValidation with the service's texts; all name the place as
// "line:column:length". Bounded by the text's length in time, by kMaxDepth levels of recursion. Any thread.
Result<Statement> parse_statement(std::string_view text, std::vector<Value> parameters);

inline constexpr size_t kMaxDepth = 200;          // The nesting of conditions in parentheses and behind NOT.
inline constexpr size_t kMaxLiteralNesting = 31;  // The nesting of lists and maps.

}  // namespace freshet::partiql
