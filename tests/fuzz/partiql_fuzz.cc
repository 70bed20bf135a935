// PartiQL: a statement, and what the store would be asked for.
//
// An input is a statement; a line "?[...]" at its end holds its parameters, as the attribute value {"L": [...]}. The
// same text must give the same plan, and a plan names the table of the statement.
#include "tables/partiql/statement.h"
#include "tables/partiql/translate.h"
#include "tables/value/json.h"
#include "tests/fuzz/target.h"
#include "tests/tables/value/attribute_json.h"

namespace freshet::fuzz {
namespace {

TableDefinition table(const partiql::Statement& statement) {
  TableDefinition definition;
  definition.name = statement.table;
  definition.keys = {{"pk", Type::kString}, KeyAttribute{"sk", Type::kNumber}};
  IndexDefinition index;
  index.name = "by-a";
  index.keys.partition = {"a", Type::kString};
  definition.indexes.push_back(index);
  return definition;
}

std::vector<Value> parameters(std::string_view json) {
  auto list = parse_attribute_json(json);
  return list && list->is(Type::kList) ? list->get_if<List>()->elements : std::vector<Value>{};
}

template <class T>
void check(const Result<T>& result) {
  require(result.has_value() || !result.error().message.empty(), "an error without a message");
  if (!result) show(result.error().message);
}

void check_reads(const partiql::Statement& statement, const TableDefinition& definition) {
  const auto plan = partiql::plan_select(statement, definition, false);
  check(plan);
  if (plan && plan->scans) require(partiql::scan_of(*plan).table == statement.table, "a scan of another table");
  for (size_t read = 0; plan && !plan->scans && read < plan->reads.size(); ++read) {
    require(partiql::query_of(*plan, read).table == statement.table, "a query of another table");
  }
  static const ItemRef kItem = ItemRef::encode(
      *parse_item_json(R"({"pk":{"S":"one"},"sk":{"N":"2"},"a":{"M":{"b":{"L":[{"S":"x"},{"M":{"c":{"N":"3"}}}]}}}})"));
  if (partiql::has_paths(statement)) static_cast<void>(partiql::columns_of(statement, kItem));
  for (const auto within : {partiql::Within::kBatch, partiql::Within::kTransaction}) {
    check(partiql::get_of(statement, definition, within));
  }
}

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet;
  using namespace freshet::fuzz;
  const std::string_view input = as_text(data, size);
  const size_t line = input.rfind("\n?");
  const std::string_view text = input.substr(0, line);
  const std::string_view values = line == std::string_view::npos ? std::string_view("[]") : input.substr(line + 2);
  const auto given = parameters("{\"L\":" + std::string(values) + "}");
  const auto statement = partiql::parse_statement(text, given);
  check(statement);
  if (!statement) return 0;
  const TableDefinition definition = table(*statement);
  if (statement->kind == partiql::Statement::Kind::kSelect) {
    check_reads(*statement, definition);
    return 0;
  }
  for (const bool transaction : {false, true}) {
    if (statement->kind == partiql::Statement::Kind::kExists && !transaction) continue;
    check(partiql::write_of(*statement, definition, transaction));
  }
  return 0;
}
