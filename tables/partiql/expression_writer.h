// Writes the conditions and updates of a statement as expressions of the item store. All names and values become
// placeholders: no part of a statement can become syntax, and statements of one shape share their compiled
// expressions.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tables/partiql/statement.h"

namespace freshet::partiql {

// All expressions of one request, which share its placeholders.
class ExpressionWriter {
 public:
  explicit ExpressionWriter(const Statement& statement) : statement_(statement) {}  // Outlives this object.

  std::string name(std::string_view attribute);  // "#n"
  std::string value(uint32_t slot);              // ":v"
  std::string condition(const expression::Condition& condition);
  // The conjunction of all conditions. Empty if there are none.
  std::string conjunction(const std::vector<const expression::Condition*>& conditions);
  std::string update(const std::vector<expression::Action>& actions);

  // The placeholders that the expressions use, with a copy of each value. Call it once, at the end.
  Placeholders take();

 private:
  void append(std::string& out, const expression::Path& path);
  void append(std::string& out, const expression::Operand& operand);
  void append(std::string& out, const expression::Condition& condition);
  void append_nested(std::string& out, const expression::Condition& condition, bool parenthesized);
  void append_chain(std::string& out, const expression::Condition& condition, std::string_view keyword);

  const Statement& statement_;
  std::unordered_map<std::string_view, std::string> names_;
  std::vector<std::pair<std::string, std::string>> definitions_;  // The definitions of names_, in the order of their
                                                                  // first use.
  std::unordered_map<uint32_t, std::string> values_;
};

}  // namespace freshet::partiql
