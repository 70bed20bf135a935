// Visits every path of a condition or an action of an update, in the order of the text, and counts operands.
#pragma once

#include "tables/expression/ast.h"

namespace freshet::expression {

template <class Visit>
void each_path(const Operand& operand, Visit&& visit) {
  if (operand.kind == Operand::Kind::kPath) visit(operand.path);
  for (const auto& argument : operand.arguments) each_path(argument, visit);
}

template <class Visit>
void each_path(const Condition& condition, Visit&& visit) {
  for (const auto& operand : condition.operands) each_path(operand, visit);
  for (const auto& child : condition.children) each_path(child, visit);
}

template <class Visit>
void each_path(const Action& action, Visit&& visit) {
  visit(action.path);
  if (action.kind == ActionKind::kSet) each_path(action.left, visit);
  if (action.arithmetic != 0) each_path(action.right, visit);
}

// The number of operands to examine; a call and each of its arguments count.
inline size_t count_operands(const Operand& operand) {
  size_t sum = 1;
  for (const auto& argument : operand.arguments) sum += count_operands(argument);
  return sum;
}
inline size_t count_operands(const Condition& condition) {
  size_t sum = 0;
  for (const auto& operand : condition.operands) sum += count_operands(operand);
  for (const auto& child : condition.children) sum += count_operands(child);
  return sum;
}

}  // namespace freshet::expression
