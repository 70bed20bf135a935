// Recursive descent over the tokens of one expression. The first syntax error ends the parse: every later look sees
// the end of the text, so that no rule needs an error path of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tables/expression/ast.h"
#include "tables/expression/lexer.h"

namespace freshet::expression {

// "Invalid ConditionExpression: <what>"
Error expression_error(ExpressionKind kind, std::string_view what);
// Length and emptiness, before anything else.
Result<void> check_text(std::string_view text, ExpressionKind kind);

class Parser {
 public:
  // Both outlive the parser. `into` receives the placeholders.
  Parser(std::string_view text, Compiled& into);

  Condition parse_condition();
  std::vector<Action> parse_update();
  std::vector<Path> parse_projection();

  // Call it after a parse: the error that the service would report first, if any.
  std::optional<Error> error() const;

 private:
  // Between an operand and a condition: "(a)" may become either.
  struct Term {
    bool is_operand = true;
    bool parenthesized = false;
    Operand operand;
    Condition condition;
  };

  const Token& peek(size_t ahead = 0) const;
  const Token& take();
  bool at_symbol(std::string_view symbol, size_t ahead = 0) const;
  bool at_keyword(std::string_view upper, size_t ahead = 0) const;
  bool accept_symbol(std::string_view symbol);
  bool accept_keyword(std::string_view upper);
  void expect_symbol(std::string_view symbol);
  void syntax_error();  // Reports the current token.
  bool enter();         // Enters one level of recursion; returns false if that is too deep.
  void leave() { --depth_; }
  void count_operator();
  void stop(std::string what);                                    // Ends the parse with this error.
  void note(std::optional<std::string>& slot, std::string text);  // Keeps the first error only.

  Term parse_or();
  Term parse_and();
  Term parse_not();
  Term parse_comparison();
  Term parse_term();
  Term parse_parenthesized(Term (Parser::*inside)());  // Parses parentheses around the result of `inside`.
  Term parse_operand_term();                           // Parses an operand; parentheses may not hold a condition.
  Operand parse_plain_operand();  // In conditions: path, value, call, or one of these in parentheses.
  Condition as_condition(Term term);
  Condition chain(Operator op, Term first, Term (Parser::*next)(), std::string_view keyword);
  std::optional<Operator> accept_comparator();
  void check_not_misused(const Operand& operand);

  Operand parse_call(Operand (Parser::*argument)());
  std::optional<Function> known_function(std::string_view name);
  void parse_section(ActionKind kind, std::vector<Action>& actions);
  Action parse_set();
  bool parse_set_value(Action& action);
  Operand parse_update_operand();

  Path parse_path();
  void parse_path_rest(Path& path);
  PathElement parse_name();
  Operand parse_value();
  uint32_t slot_of(std::vector<std::string>& slots, std::string_view text);

  std::string_view text_;
  Compiled& into_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  size_t depth_ = 0;
  size_t operators_ = 0;
  size_t sections_seen_ = 0;                                      // Bit mask by ActionKind.
  std::unordered_map<std::string_view, uint32_t> slots_by_text_;  // Names and values; '#' and ':' tell them apart.

  // Errors by the order in which the service looks for them.
  std::optional<std::string> stopped_;
  std::optional<std::string> redundant_parentheses_;
  std::optional<std::string> bad_function_;
  std::optional<std::string> misused_function_;
  std::optional<std::string> reserved_word_;
  std::optional<std::string> repeated_section_;
  std::optional<std::string> bad_path_;
};

}  // namespace freshet::expression
