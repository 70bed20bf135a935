#include "tables/partiql/expression_writer.h"

#include <algorithm>

#include "tables/expression/text.h"

namespace freshet::partiql {

using expression::Action;
using expression::ActionKind;
using expression::concat;
using expression::Condition;
using expression::Operand;
using expression::Operator;
using expression::Path;
using expression::PathElement;

namespace {

// The shortest names there are: an expression is bounded in bytes.
std::string numbered(char mark, size_t number) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string out(1, mark);
  do {
    out += kDigits[number % kDigits.size()];
    number /= kDigits.size();
  } while (number != 0);
  return out;
}

}  // namespace

std::string ExpressionWriter::name(std::string_view attribute) {
  const auto known = names_.find(attribute);
  if (known != names_.end()) return known->second;
  std::string placeholder = numbered('#', names_.size());
  definitions_.emplace_back(placeholder, attribute);
  names_.emplace(attribute, placeholder);
  return placeholder;
}

std::string ExpressionWriter::value(uint32_t slot) {
  const auto [known, added] = values_.emplace(slot, std::string());
  if (added) known->second = numbered(':', values_.size() - 1);
  return known->second;
}

std::string ExpressionWriter::condition(const Condition& condition) {
  std::string out;
  append(out, condition);
  return out;
}

std::string ExpressionWriter::conjunction(const std::vector<const Condition*>& conditions) {
  std::string out;
  for (const Condition* each : conditions) {
    if (!out.empty()) out += " AND ";
    append_nested(out, *each, conditions.size() > 1 && each->op == Operator::kOr);
  }
  return out;
}

std::string ExpressionWriter::update(const std::vector<Action>& actions) {
  constexpr std::pair<ActionKind, std::string_view> kSections[] = {{ActionKind::kSet, "SET "},
                                                                   {ActionKind::kRemove, "REMOVE "},
                                                                   {ActionKind::kAdd, "ADD "},
                                                                   {ActionKind::kDelete, "DELETE "}};
  std::string out;
  for (const auto& [kind, keyword] : kSections) {
    bool first = true;
    for (const Action& action : actions) {
      if (action.kind != kind) continue;
      if (first && !out.empty()) out += ' ';
      out += first ? keyword : ",";
      first = false;
      append(out, action.path);
      if (kind == ActionKind::kRemove) continue;
      out += kind == ActionKind::kSet ? '=' : ' ';
      append(out, action.left);
      if (action.arithmetic == 0) continue;
      out += action.arithmetic;
      append(out, action.right);
    }
  }
  return out;
}

Placeholders ExpressionWriter::take() {
  Placeholders out;
  out.names = std::move(definitions_);
  std::vector<Map::Entry> entries;
  entries.reserve(values_.size());
  for (auto& [slot, placeholder] : values_) entries.emplace_back(std::move(placeholder), statement_.values[slot]);
  out.values = Map::from_entries(std::move(entries));
  return out;
}

void ExpressionWriter::append(std::string& out, const Path& path) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i].kind == PathElement::Kind::kIndex) {
      out += concat("[", std::to_string(path[i].number), "]");
    } else {
      if (i > 0) out += '.';
      out += name(path[i].name);
    }
  }
}

void ExpressionWriter::append(std::string& out, const Operand& operand) {
  if (operand.kind == Operand::Kind::kPath) return append(out, operand.path);
  if (operand.kind == Operand::Kind::kValue) {
    out += value(operand.slot);
    return;
  }
  out += expression::function_name(operand.function);
  char before = '(';
  for (const Operand& argument : operand.arguments) {
    out += before;
    append(out, argument);
    before = ',';
  }
  out += ')';
}

void ExpressionWriter::append_nested(std::string& out, const Condition& condition, bool parenthesized) {
  if (parenthesized) out += '(';
  append(out, condition);
  if (parenthesized) out += ')';
}

void ExpressionWriter::append_chain(std::string& out, const Condition& condition, std::string_view keyword) {
  for (const Condition& child : condition.children) {
    if (&child != &condition.children.front()) out += keyword;
    append_nested(out, child, condition.op == Operator::kAnd && child.op == Operator::kOr);
  }
}

void ExpressionWriter::append(std::string& out, const Condition& condition) {
  const auto& operands = condition.operands;
  switch (condition.op) {
    case Operator::kAnd:
      return append_chain(out, condition, " AND ");
    case Operator::kOr:
      return append_chain(out, condition, " OR ");
    case Operator::kNot: {
      const Operator inner = condition.children[0].op;
      out += "NOT ";
      return append_nested(out, condition.children[0], inner == Operator::kAnd || inner == Operator::kOr);
    }
    case Operator::kFunction:
      return append(out, operands[0]);
    case Operator::kBetween:
      append(out, operands[0]);
      out += " BETWEEN ";
      append(out, operands[1]);
      out += " AND ";
      return append(out, operands[2]);
    case Operator::kIn:
      append(out, operands[0]);
      out += " IN (";
      for (size_t i = 1; i < operands.size(); ++i) {
        if (i > 1) out += ',';
        append(out, operands[i]);
      }
      out += ')';
      return;
    default:
      append(out, operands[0]);
      out += expression::operator_name(condition.op);
      append(out, operands[1]);
  }
}

}  // namespace freshet::partiql
