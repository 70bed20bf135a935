// The rules of conditions, filters and key conditions. Precedence, loosest first: OR, AND, NOT, comparison.

#include "tables/expression/parser.h"

namespace freshet::expression {

Condition Parser::parse_condition() {
  Condition condition = as_condition(parse_or());
  if (peek().kind != TokenKind::kEnd) syntax_error();
  return condition;
}

Condition Parser::as_condition(Term term) {
  if (!term.is_operand) return std::move(term.condition);
  Condition condition;
  condition.op = Operator::kFunction;
  if (term.operand.kind != Operand::Kind::kFunction) {
    syntax_error();
  } else if (term.operand.function == Function::kSize) {
    note(misused_function_, "The function is not allowed to be used this way in an expression; function: size");
  }
  condition.operands.push_back(std::move(term.operand));
  return condition;
}

Condition Parser::chain(Operator op, Term first, Term (Parser::*next)(), std::string_view keyword) {
  Condition condition;
  condition.op = op;
  condition.children.push_back(as_condition(std::move(first)));
  while (accept_keyword(keyword)) {
    count_operator();
    condition.children.push_back(as_condition((this->*next)()));
  }
  return condition;
}

Parser::Term Parser::parse_or() {
  Term term = parse_and();
  if (!at_keyword("OR")) return term;
  return {false, false, {}, chain(Operator::kOr, std::move(term), &Parser::parse_and, "OR")};
}

Parser::Term Parser::parse_and() {
  Term term = parse_not();
  if (!at_keyword("AND")) return term;
  return {false, false, {}, chain(Operator::kAnd, std::move(term), &Parser::parse_not, "AND")};
}

Parser::Term Parser::parse_not() {
  if (!accept_keyword("NOT")) return parse_comparison();
  count_operator();
  Condition condition;
  condition.op = Operator::kNot;
  if (enter()) condition.children.push_back(as_condition(parse_not()));
  leave();
  return {false, false, {}, std::move(condition)};
}

std::optional<Operator> Parser::accept_comparator() {
  for (auto op : {Operator::kEqual, Operator::kNotEqual, Operator::kLess, Operator::kLessOrEqual, Operator::kGreater,
                  Operator::kGreaterOrEqual}) {
    if (accept_symbol(operator_name(op))) return op;
  }
  if (accept_keyword("BETWEEN")) return Operator::kBetween;
  if (accept_keyword("IN")) return Operator::kIn;
  return std::nullopt;
}

Parser::Term Parser::parse_comparison() {
  Term term = parse_term();
  if (!term.is_operand) return term;
  const auto op = accept_comparator();
  if (!op) return term;
  count_operator();
  Condition condition;
  condition.op = *op;
  auto& operands = condition.operands;
  operands.push_back(std::move(term.operand));
  if (*op == Operator::kIn) {
    expect_symbol("(");
    do {
      operands.push_back(parse_plain_operand());
    } while (accept_symbol(","));
    expect_symbol(")");
  } else {
    operands.push_back(parse_plain_operand());
    if (*op == Operator::kBetween) {
      if (!accept_keyword("AND")) syntax_error();
      operands.push_back(parse_plain_operand());
    }
  }
  for (const auto& operand : operands) check_not_misused(operand);
  return {false, false, {}, std::move(condition)};
}

Parser::Term Parser::parse_term() {
  if (at_symbol("(")) return parse_parenthesized(&Parser::parse_or);
  return {true, false, parse_plain_operand(), {}};
}

Parser::Term Parser::parse_operand_term() {
  if (at_symbol("(")) return parse_parenthesized(&Parser::parse_operand_term);
  return {true, false, parse_plain_operand(), {}};
}

Parser::Term Parser::parse_parenthesized(Term (Parser::*inside)()) {
  take();
  Term term;
  if (enter()) term = (this->*inside)();
  leave();
  expect_symbol(")");
  if (term.parenthesized) note(redundant_parentheses_, "The expression has redundant parentheses;");
  term.parenthesized = true;
  if (term.is_operand && term.operand.kind == Operand::Kind::kPath && (at_symbol(".") || at_symbol("["))) {
    parse_path_rest(term.operand.path);
    term.parenthesized = false;
  }
  return term;
}

Operand Parser::parse_plain_operand() {
  if (at_symbol("(")) return parse_operand_term().operand;
  if (peek().kind == TokenKind::kValuePlaceholder) return parse_value();
  if (peek().kind == TokenKind::kIdentifier && at_symbol("(", 1)) return parse_call(&Parser::parse_plain_operand);
  Operand operand;
  operand.path = parse_path();
  return operand;
}

}  // namespace freshet::expression
