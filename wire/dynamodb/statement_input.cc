#include "wire/dynamodb/statement_input.h"

#include <algorithm>

#include "tables/partiql/translate.h"
#include "tables/value/json.h"

namespace freshet::dynamodb {

namespace {

constexpr Range kStatementLength{1, 8192};
constexpr const char* kDuplicate = "Duplicate primary key exists in table";

}  // namespace

StatementInput read_statement(const Input& in, const Input& values) {
  StatementInput out;
  out.text = in.text("Statement", Need::kRequired, kStatementLength);
  out.parameters = values.values("Parameters");
  if (in.has("Parameters") && out.parameters.empty() && values.checks().result()) {
    in.checks().violated("[]", in.path_of("Parameters"), "have length greater than or equal to 1");
  }
  out.item_on_failure = wants_item_on_failure(in);
  return out;
}

std::vector<ListedStatement> read_statements(const JsonView& body, const Input& in, std::string_view name,
                                             Range length) {
  std::vector<ListedStatement> out;
  const std::vector<Input> shared = in.list(name, Need::kRequired, length);
  if (!in.checks().result()) return out;
  const JsonView list = *body.find(name);
  auto next = shared.begin();
  for (const JsonView element : list) {
    Checks own;
    const Input values(element, own);
    ListedStatement& statement = out.emplace_back();
    statement.input = read_statement(*next, values);
    statement.consistent = next->flag("ConsistentRead");
    ++next;
    const Result<void> fine = own.result();
    if (fine) continue;
    if (fine.error().code == ErrorCode::kSerialization) {
      in.checks().add(fine.error());
    } else {
      statement.invalid = fine.error();
    }
  }
  return out;
}

Async<const TableDefinition*> StatementTables::find(std::string name) {
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& entry) { return entry.first == name; });
  if (known != known_.end()) co_return known->second.get();
  std::unique_ptr<TableDefinition> definition;
  if (!is_system_table(name)) {
    std::string asked = name;
    Result<TableDescription> found = co_await tables_.describe_table(std::move(asked));
    if (found) definition = std::make_unique<TableDefinition>(std::move(found->definition));
  }
  known_.emplace_back(std::move(name), std::move(definition));
  co_return known_.back().second.get();
}

Error no_such_table() {
  return {ErrorCode::kResourceNotFound, "Requested resource not found", nullptr};
}

Error statement_error(Error error, bool insert) {
  if (insert && error.code == ErrorCode::kConditionalCheckFailed) {
    return {ErrorCode::kConditionalCheckFailed, kDuplicate, std::make_shared<DuplicateItem>(error.detail)};
  }
  if (error.code != ErrorCode::kValidation) return error;
  if (!error.message.starts_with("Invalid ")) return error;
  for (const auto kind : {ExpressionKind::kCondition, ExpressionKind::kFilter, ExpressionKind::kUpdate,
                          ExpressionKind::kKeyCondition, ExpressionKind::kProjection}) {
    const std::string prefix = "Invalid " + std::string(expression_name(kind)) + ": ";
    if (error.message.starts_with(prefix)) error.message.erase(0, prefix.size());
  }
  return error;
}

void append_row(std::string& json, const partiql::Statement& statement, bool paths, const ItemRef& item) {
  if (paths) {
    append_item_json(json, partiql::columns_of(statement, item));
  } else {
    append_item_json(json, item);
  }
}

}  // namespace freshet::dynamodb
