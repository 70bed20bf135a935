// Statements and what becomes of them, as text.
#pragma once

#include <string>
#include <vector>

#include "tables/partiql/expression_writer.h"
#include "tables/partiql/translate.h"
#include "tables/value/json.h"

namespace freshet::partiql_test {

inline TableDefinition table_definition() {
  TableDefinition table;
  table.name = "t";
  table.keys.partition = {"p", Type::kString};
  table.keys.sort = KeyAttribute{"s", Type::kNumber};
  IndexDefinition global;
  global.name = "g";
  global.keys.partition = {"q", Type::kString};
  global.projection = Projection::kInclude;
  global.included = {"more"};
  IndexDefinition local;
  local.name = "l";
  local.local = true;
  local.keys = {table.keys.partition, KeyAttribute{"r", Type::kString}};
  local.projection = Projection::kKeysOnly;
  table.indexes = {global, local};
  return table;
}

// An expression with its names and values in their places.
inline std::string filled(const std::string& expression, const Placeholders& placeholders) {
  std::string out;
  for (size_t i = 0; i < expression.size();) {
    size_t end = i + 1;
    while (end < expression.size() && std::isalnum(static_cast<unsigned char>(expression[end]))) ++end;
    const std::string word = expression.substr(i, end - i);
    if (word[0] == '#') {
      for (const auto& [placeholder, name] : placeholders.names) {
        if (placeholder == word) out += name;
      }
    } else if (word[0] == ':') {
      append_plain_json(out, *placeholders.values.find(word));
    } else {
      out += word;
    }
    i = end;
  }
  return out;
}

inline std::string shown(const Item& item) {
  std::string out;
  append_item_json(out, item);
  return out;
}

// A statement as it was understood, or "! error".
inline std::string parsed(std::string_view text, std::vector<Value> parameters = {}) {
  const auto statement = partiql::parse_statement(text, std::move(parameters));
  if (!statement) return "! " + statement.error().message;
  constexpr const char* kKinds[] = {"SELECT", "EXISTS", "INSERT", "UPDATE", "DELETE"};
  std::string out = kKinds[static_cast<size_t>(statement->kind)];
  for (const auto& path : statement->projection) out += " " + partiql::column_name(path);
  out += " " + statement->table + (statement->index.empty() ? "" : "." + statement->index);
  if (!statement->item.empty()) out += " " + shown(statement->item);
  partiql::ExpressionWriter writer(*statement);
  std::string expressions;
  if (!statement->actions.empty()) expressions += " " + writer.update(statement->actions);
  if (statement->where) expressions += " WHERE " + writer.condition(*statement->where);
  out += filled(expressions, writer.take());
  for (const auto& term : statement->order) out += " BY " + term.attribute + (term.descending ? " DESC" : "");
  if (statement->returning) out += " RETURNING " + std::to_string(static_cast<int>(*statement->returning));
  return out;
}

// How a SELECT is read: "key condition | filter; ...", "scan | filter", or "! error".
inline std::string planned(std::string_view text, bool consistent = false) {
  const auto statement = partiql::parse_statement(text, {});
  if (!statement) return "! " + statement.error().message;
  const auto plan = partiql::plan_select(*statement, table_definition(), consistent);
  if (!plan) return "! " + plan.error().message;
  std::string out;
  if (plan->scans) {
    const ScanInput input = partiql::scan_of(*plan);
    out = "scan";
    if (!input.filter.empty()) out += " | " + filled(input.filter, input.placeholders);
    return out;
  }
  for (size_t i = 0; i < plan->reads.size(); ++i) {
    const QueryInput input = partiql::query_of(*plan, i);
    out += (i == 0 ? "" : "; ") + filled(input.key_condition, input.placeholders);
    if (!input.filter.empty()) out += " | " + filled(input.filter, input.placeholders);
  }
  return out + (plan->forward ? "" : " falling");
}

// A write as the store's: "update p,s: expression IF condition", or "! error".
inline std::string written(std::string_view text, bool in_transaction = false) {
  const auto statement = partiql::parse_statement(text, {});
  if (!statement) return "! " + statement.error().message;
  const auto write = partiql::write_of(*statement, table_definition(), in_transaction);
  if (!write) return "! " + write.error().message;
  if (const auto* put = std::get_if<PutItemInput>(&*write)) {
    return "put " + shown(put->item) + " IF " + filled(put->condition, put->placeholders);
  }
  if (const auto* update = std::get_if<UpdateItemInput>(&*write)) {
    return "update " + shown(update->key) + " " + filled(update->update, update->placeholders) + " IF " +
           filled(update->condition, update->placeholders);
  }
  if (const auto* gone = std::get_if<DeleteItemInput>(&*write)) {
    return "delete " + shown(gone->key) + " IF " + filled(gone->condition, gone->placeholders);
  }
  const auto& check = std::get<ConditionCheckInput>(*write);
  return "check " + shown(check.key) + " IF " + filled(check.condition, check.placeholders);
}

}  // namespace freshet::partiql_test
