// Conditions. Precedence, loosest first: OR, AND, NOT, predicates.
#include <algorithm>

#include "base/limits.h"
#include "tables/expression/text.h"
#include "tables/partiql/parser.h"

namespace freshet::partiql {

using expression::concat;

namespace {

constexpr size_t kMaxInOperands = 100;

expression::Condition negated(expression::Condition condition) {
  expression::Condition out;
  out.op = expression::Operator::kNot;
  out.children.push_back(std::move(condition));
  return out;
}

expression::Operand call_of(expression::Function function, expression::Operand argument) {
  expression::Operand call;
  call.kind = expression::Operand::Kind::kFunction;
  call.function = function;
  call.arguments.push_back(std::move(argument));
  return call;
}

expression::Condition condition_on(expression::Operand call) {
  expression::Condition out;
  out.op = expression::Operator::kFunction;
  out.operands.push_back(std::move(call));
  return out;
}

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace

expression::Condition Parser::parse_condition() {
  return condition_of(parse_or());
}

expression::Condition Parser::condition_of(Term term) {
  if (!term.is_operand) return std::move(term.condition);
  const bool call = term.operand.kind == Operand::Kind::kFunction;
  if (!call && !stopped_) {
    stop(concat("Unsupported expression in the WHERE clause: a condition is expected", at(term.span)));
  } else if (call && term.operand.function == Function::kSize) {
    note("The function is not allowed to be used this way in an expression; function: size");
  }
  return condition_on(std::move(term.operand));
}

expression::Operand Parser::operand_of(Term term) {
  if (!term.is_operand) stop(concat("Unsupported expression: a condition stands where a value should", at(term.span)));
  return std::move(term.operand);
}

Parser::Term Parser::chain(Operator op, Term first, Term (Parser::*next)(), std::string_view keyword) {
  if (!at_keyword(keyword)) return first;
  Term out{false, first.span, {}, {}};
  out.condition.op = op;
  out.condition.children.push_back(condition_of(std::move(first)));
  while (accept_keyword(keyword)) {
    if (at_end()) malformed("Missing right-hand side expression of infix operator");
    out.condition.children.push_back(condition_of((this->*next)()));
  }
  return out;
}

Parser::Term Parser::parse_or() {
  return chain(Operator::kOr, parse_and(), &Parser::parse_and, "OR");
}

Parser::Term Parser::parse_and() {
  return chain(Operator::kAnd, parse_not(), &Parser::parse_not, "AND");
}

Parser::Term Parser::parse_not() {
  if (!at_keyword("NOT")) return parse_predicate();
  Term out{false, take().span, {}, {}};
  if (enter()) out.condition = negated(condition_of(parse_not()));
  leave();
  return out;
}

std::optional<expression::Operator> Parser::accept_comparator() {
  for (auto op : {Operator::kEqual, Operator::kNotEqual, Operator::kLess, Operator::kLessOrEqual, Operator::kGreater,
                  Operator::kGreaterOrEqual}) {
    if (accept_symbol(expression::operator_name(op))) return op;
  }
  if (accept_symbol("!=")) return Operator::kNotEqual;
  return std::nullopt;
}

Parser::Term Parser::parse_predicate() {
  Term term = parse_operand_term();
  while (!stopped_) {
    if (const auto op = accept_comparator()) {
      term = parse_comparison(std::move(term), *op);
      continue;
    }
    if (at_keyword("IS")) {
      term = parse_is(std::move(term));
      continue;
    }
    if (at_keyword("LIKE")) {
      stop(concat("Unsupported operator: LIKE", at(peek().span)));
      break;
    }
    const bool no = at_keyword("NOT") && (at_keyword("BETWEEN", 1) || at_keyword("IN", 1));
    if (no) take();
    if (accept_keyword("BETWEEN")) {
      term = parse_between(std::move(term));
    } else if (accept_keyword("IN")) {
      term = parse_in(std::move(term));
    } else {
      break;
    }
    if (no) term.condition = negated(std::move(term.condition));
  }
  return term;
}

expression::Operand Parser::right_side() {
  if (at_end()) malformed("Missing right-hand side expression of infix operator");
  return operand_of(parse_operand_term());
}

Parser::Term Parser::parse_comparison(Term left, Operator op) {
  if (at_end()) malformed("Missing right-hand side expression of infix operator");
  Term right = parse_operand_term();
  if (!left.is_operand || !right.is_operand) return compared_with_boolean(std::move(left), op, std::move(right));
  Term out{false, left.span, {}, {}};
  out.condition.op = op;
  out.condition.operands.push_back(std::move(left.operand));
  out.condition.operands.push_back(std::move(right.operand));
  return out;
}

// `attribute_exists(a) = false`: the condition itself, or its opposite.
Parser::Term Parser::compared_with_boolean(Term left, Operator op, Term right) {
  if (!right.is_operand) std::swap(left, right);
  const bool value = right.is_operand && right.operand.kind == Operand::Kind::kValue;
  const Value* other = value ? &statement_.values[right.operand.slot] : nullptr;
  const bool comparable = op == Operator::kEqual || op == Operator::kNotEqual;
  if (!comparable || !other || !other->is(Type::kBool)) {
    if (!stopped_) stop(concat("Unsupported comparison: a condition can only equal true or false", at(left.span)));
    return left;
  }
  const bool holds = std::get<bool>(other->variant()) == (op == Operator::kEqual);
  Term out{false, left.span, {}, std::move(left.condition)};
  // The opposite of an opposite is taken off: a chain of comparisons makes no deep tree.
  if (!holds && out.condition.op == Operator::kNot) {
    Condition inner = std::move(out.condition.children[0]);
    out.condition = std::move(inner);
  } else if (!holds) {
    out.condition = negated(std::move(out.condition));
  }
  return out;
}

Parser::Term Parser::parse_between(Term left) {
  Term out{false, left.span, {}, {}};
  out.condition.op = Operator::kBetween;
  out.condition.operands.push_back(operand_of(std::move(left)));
  out.condition.operands.push_back(right_side());
  if (!accept_keyword("AND")) malformed("Expected AND after BETWEEN");
  out.condition.operands.push_back(right_side());
  return out;
}

Parser::Term Parser::parse_in(Term left) {
  Term out{false, left.span, {}, {}};
  out.condition.op = Operator::kIn;
  auto& operands = out.condition.operands;
  operands.push_back(operand_of(std::move(left)));
  const bool bracket = at_symbol("[");
  if (at_end()) malformed("Missing right-hand side expression of infix operator");
  if (!bracket && !at_symbol("(")) malformed("Expected a list after IN");
  take();
  const std::string_view close = bracket ? "]" : ")";
  if (!accept_symbol(close)) {
    do {
      operands.push_back(operand_of(parse_operand_term()));
    } while (accept_symbol(","));
    expect_symbol(close, "Expected a comma or the end of the list");
  }
  const size_t count = operands.size() - 1;
  if (count == 0 || count > kMaxInOperands) {
    note(concat("The IN operator is provided with too ", count == 0 ? "few" : "many",
                " operands; number of operands: ", std::to_string(count)));
  }
  return out;
}

Parser::Term Parser::parse_is(Term left) {
  take();
  const bool no = accept_keyword("NOT");
  Term out{false, left.span, {}, {}};
  Operand operand = operand_of(std::move(left));
  static constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"NULL", Type::kNull}, {"BOOL", Type::kBool}, {"BOOLEAN", Type::kBool}, {"STRING", Type::kString}};
  const auto* type =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& known) { return at_keyword(known.first); });
  const bool missing = at_keyword("MISSING");
  if (!missing && type == std::end(kTypes)) {
    malformed("Expected type name");
    return out;
  }
  take();
  Operand call = call_of(missing ? Function::kAttributeNotExists : Function::kAttributeType, std::move(operand));
  if (missing && no) {
    call.function = Function::kAttributeExists;
  } else if (!missing) {
    call.arguments.push_back(slot_operand(Value(type_name(type->second))));
  }
  out.condition = condition_on(std::move(call));
  if (no && !missing) out.condition = negated(std::move(out.condition));
  return out;
}

Parser::Term Parser::parse_operand_term() {
  Term term;
  term.span = peek().span;
  if (at_symbol("(")) {
    take();
    if (enter()) term = parse_or();
    leave();
    expect_symbol(")", "Expected a closing parenthesis");
    return term;
  }
  if (at_literal()) {
    term.operand = parse_value_operand();
    return term;
  }
  if (at_call()) return parse_call();
  const bool name = peek().kind == TokenKind::kQuoted || (peek().kind == TokenKind::kWord && !at_reserved());
  if (name) {
    term.operand.path = parse_path();
  } else {
    unexpected_term();
  }
  return term;
}

Parser::Term Parser::parse_call() {
  const Token name = take();
  Term term;
  term.span = name.span;
  Operand& call = term.operand;
  call.kind = Operand::Kind::kFunction;
  const std::string known = lower(text_of(name));
  constexpr Function kAll[] = {Function::kAttributeExists, Function::kAttributeNotExists, Function::kAttributeType,
                               Function::kBeginsWith,      Function::kContains,           Function::kSize};
  const auto* function = std::find_if(std::begin(kAll), std::end(kAll),
                                      [&](Function each) { return expression::function_name(each) == known; });
  if (function == std::end(kAll)) {
    stop(concat("Unrecognized function: ", known, at(name.span)));
    return term;
  }
  call.function = *function;
  expect_symbol("(", "Expected a parenthesis");
  if (!accept_symbol(")")) {
    if (enter()) {
      do {
        call.arguments.push_back(operand_of(parse_operand_term()));
      } while (accept_symbol(","));
    }
    leave();
    expect_symbol(")", "Expected a comma or a closing parenthesis");
  }
  const bool one = call.function == Function::kAttributeExists || call.function == Function::kAttributeNotExists ||
                   call.function == Function::kSize;
  if (call.arguments.size() != (one ? 1 : 2)) {
    note(concat("Incorrect number of operands for operator or function; operator or function: ", known,
                ", number of operands: ", std::to_string(call.arguments.size())));
  }
  if (call.function == Function::kSize) return term;
  term.is_operand = false;
  term.condition = condition_on(std::move(call));
  return term;
}

}  // namespace freshet::partiql
