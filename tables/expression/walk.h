// Visits every path of a condition, in the order of the text.
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

}  // namespace freshet::expression
