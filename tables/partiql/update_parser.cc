// SET and REMOVE.
#include "tables/expression/paths.h"
#include "tables/expression/text.h"
#include "tables/partiql/parser.h"

namespace freshet::partiql {

using expression::Action;
using expression::ActionKind;
using expression::concat;
using expression::is_keyword;

namespace {

bool is_set(const Value& value) {
  return value.is(Type::kStringSet) || value.is(Type::kNumberSet) || value.is(Type::kBinarySet);
}

bool is_called(std::string_view word, std::string_view upper) {
  return word.size() == upper.size() && is_keyword(word, upper);
}

}  // namespace

bool Parser::parse_changes() {
  const size_t before = statement_.actions.size();
  while (!stopped_) {
    if (accept_keyword("SET")) {
      parse_set();
    } else if (accept_keyword("REMOVE")) {
      Action& action = statement_.actions.emplace_back();
      action.kind = ActionKind::kRemove;
      action.path = parse_path();
    } else {
      break;
    }
  }
  return stopped_ || statement_.actions.size() > before;
}

void Parser::parse_set() {
  do {
    statement_.actions.push_back(parse_assignment());
  } while (accept_symbol(","));
}

Action Parser::parse_assignment() {
  Action action;
  action.path = parse_path();
  expect_symbol("=", "Expected = in the SET clause");
  const Token name = peek();
  if (at_call() && (is_called(text_of(name), "SET_ADD") || is_called(text_of(name), "SET_DELETE"))) {
    take();
    parse_set_function(name, action);
    return action;
  }
  action.left = parse_update_operand();
  if (!at_symbol("+") && !at_symbol("-")) return action;
  action.arithmetic = text_of(take())[0];
  action.right = parse_update_operand();
  return action;
}

void Parser::parse_set_function(const Token& name, Action& action) {
  const bool add = is_called(text_of(name), "SET_ADD");
  const std::string_view shown = add ? "SET_ADD" : "SET_DELETE";
  const Span first = peek(1).span;
  action.kind = add ? ActionKind::kAdd : ActionKind::kDelete;
  std::vector<Operand> arguments = parse_update_arguments();
  if (stopped_) return;
  if (arguments.size() != 2) return note_at(name.span, concat(shown, " must have exactly two arguments"));
  if (arguments[0].kind != Operand::Kind::kPath || !expression::same_path(arguments[0].path, action.path, {})) {
    return note_at(name.span, concat("The first argument to ", shown, " must equal the assignment value"));
  }
  if (arguments[1].kind != Operand::Kind::kValue || !is_set(statement_.values[arguments[1].slot])) {
    return note_at(first, concat("The second argument to ", shown, " must be a value with type SET"));
  }
  action.left = std::move(arguments[1]);
}

std::vector<expression::Operand> Parser::parse_update_arguments() {
  std::vector<Operand> arguments;
  expect_symbol("(", "Expected a parenthesis");
  if (accept_symbol(")")) return arguments;
  do {
    arguments.push_back(parse_update_operand());
  } while (accept_symbol(","));
  expect_symbol(")", "Expected a comma or a closing parenthesis");
  return arguments;
}

expression::Operand Parser::parse_update_operand() {
  Operand operand;
  if (at_literal()) return parse_value_operand();
  if (at_symbol("(")) {
    take();
    if (enter()) operand = parse_update_operand();
    leave();
    expect_symbol(")", "Expected a closing parenthesis");
    return operand;
  }
  if (at_call()) {
    const Token name = take();
    if (!is_called(text_of(name), "LIST_APPEND")) {
      std::string lower;
      for (const char c : text_of(name)) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      note_at(name.span, concat("Unrecognized function: ", lower));
    }
    operand.kind = Operand::Kind::kFunction;
    operand.function = Function::kListAppend;
    if (enter()) operand.arguments = parse_update_arguments();
    leave();
    if (operand.arguments.size() != 2) {
      note(
          concat("Incorrect number of operands for operator or function; operator or function: list_append, number of "
                 "operands: ",
                 std::to_string(operand.arguments.size())));
    }
    return operand;
  }
  operand.path = parse_path();
  return operand;
}

}  // namespace freshet::partiql
