// The rules of updates: SET, REMOVE, ADD and DELETE sections in any order, each at most once.

#include "tables/expression/parser.h"
#include "tables/expression/text.h"

namespace freshet::expression {
namespace {

constexpr std::string_view kSections[] = {"SET", "REMOVE", "ADD", "DELETE"};  // By ActionKind.

}  // namespace

std::vector<Action> Parser::parse_update() {
  std::vector<Action> actions;
  do {
    size_t kind = 0;
    while (kind < std::size(kSections) && !accept_keyword(kSections[kind])) ++kind;
    if (kind == std::size(kSections)) {
      syntax_error();
      break;
    }
    if (sections_seen_ & (size_t{1} << kind)) {
      note(repeated_section_,
           concat("The \"", kSections[kind], "\" section can only be used once in an update expression;"));
    }
    sections_seen_ |= size_t{1} << kind;
    parse_section(static_cast<ActionKind>(kind), actions);
  } while (peek().kind != TokenKind::kEnd);
  return actions;
}

void Parser::parse_section(ActionKind kind, std::vector<Action>& actions) {
  do {
    Action action;
    if (kind == ActionKind::kSet) {
      action = parse_set();
    } else {
      action.path = parse_path();
      if (kind != ActionKind::kRemove) action.left = parse_value();
    }
    action.kind = kind;
    actions.push_back(std::move(action));
  } while (accept_symbol(","));
}

Action Parser::parse_set() {
  Action action;
  action.path = parse_path();
  expect_symbol("=");
  parse_set_value(action);
  return action;
}

// Returns true if the whole value was in parentheses.
bool Parser::parse_set_value(Action& action) {
  bool parenthesized = false;
  if (accept_symbol("(")) {
    if (enter() && parse_set_value(action)) {
      note(redundant_parentheses_, "The expression has redundant parentheses;");
    }
    leave();
    expect_symbol(")");
    parenthesized = true;
  } else {
    action.left = parse_update_operand();
  }
  const bool plus = at_symbol("+");
  if (action.arithmetic != 0 || (!plus && !at_symbol("-"))) return parenthesized;
  take();
  count_operator();
  action.arithmetic = plus ? '+' : '-';
  action.right = parse_update_operand();
  return false;
}

Operand Parser::parse_update_operand() {
  if (accept_symbol("(")) {
    if (at_symbol("(")) note(redundant_parentheses_, "The expression has redundant parentheses;");
    Operand operand;
    if (enter()) operand = parse_update_operand();
    leave();
    expect_symbol(")");
    return operand;
  }
  if (peek().kind == TokenKind::kValuePlaceholder) return parse_value();
  if (peek().kind == TokenKind::kIdentifier && at_symbol("(", 1)) return parse_call(&Parser::parse_update_operand);
  Operand operand;
  operand.path = parse_path();
  return operand;
}

}  // namespace freshet::expression
