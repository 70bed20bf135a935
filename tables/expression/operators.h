// The operators and functions of conditions for decoded values. They return false for values of types that
// they do not support. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tables/expression/ast.h"

namespace freshet::expression {

// The service counts UTF-16 code units.
int64_t utf16_length(std::string_view text);
bool has_part(std::string_view text, std::string_view part);

std::optional<int64_t> size_of(const Value& value);
bool begins_with(const Value& value, const Value& prefix);
bool contains(const Value& value, const Value& part);

// The result of an order comparison of two operands with this order; unordered operands have none.
inline bool says(Operator op, std::partial_ordering order) {
  switch (op) {
    case Operator::kLess:
      return order < 0;
    case Operator::kLessOrEqual:
      return order <= 0;
    case Operator::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

// Combines the results of comparisons and functions, which `operands` returns, by the logic of a condition.
template <class Operands>
bool holds(const Condition& condition, Operands& operands) {
  const auto child_holds = [&](const Condition& child) { return holds(child, operands); };
  const auto& children = condition.children;
  switch (condition.op) {
    case Operator::kEqual:
      return operands.equal(condition.operands);
    case Operator::kNotEqual:
      return !operands.equal(condition.operands);
    case Operator::kBetween:
      return operands.between(condition.operands);
    case Operator::kIn:
      return operands.in(condition.operands);
    case Operator::kFunction:
      return operands.call(condition.operands[0]);
    case Operator::kAnd:
      return std::all_of(children.begin(), children.end(), child_holds);
    case Operator::kOr:
      return std::any_of(children.begin(), children.end(), child_holds);
    case Operator::kNot:
      return !child_holds(children[0]);
    default:
      return operands.ordered(condition.op, condition.operands);
  }
}

}  // namespace freshet::expression
