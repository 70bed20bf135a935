// Recursive descent over the tokens of one statement. The first syntax error ends the parse: every later look sees the
// end of the text, so that no rule needs an error path of its own. An error in well-formed text is noted, and reported
// if the whole statement is well formed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables/partiql/lexer.h"
#include "tables/partiql/statement.h"

namespace freshet::partiql {

class Parser {
 public:
  // `text` outlives the parser.
  Parser(std::string_view text, std::vector<Value> parameters);

  Result<Statement> run();

 private:
  using Path = expression::Path;
  using Operand = expression::Operand;
  using Condition = expression::Condition;
  using Operator = expression::Operator;
  using Function = expression::Function;

  // Between an operand and a condition: "(a)" may become either, and a condition may be compared with a boolean.
  struct Term {
    bool is_operand = true;
    Span span;
    Operand operand;
    Condition condition;
  };

  // --- Tokens and errors (parser.cc) ---
  const Token& peek(size_t ahead = 0) const;
  Token take();
  std::string_view text_of(const Token& token) const;
  bool at_end() const { return peek().kind == TokenKind::kEnd; }
  bool at_symbol(std::string_view symbol, size_t ahead = 0) const;
  bool at_keyword(std::string_view upper, size_t ahead = 0) const;
  bool at_reserved(size_t ahead = 0) const;  // A keyword; it is a name only in quotes.
  bool at_call() const;                      // A word before a parenthesis.
  bool accept_symbol(std::string_view symbol);
  bool accept_keyword(std::string_view upper);
  void expect_symbol(std::string_view symbol, std::string_view what);
  void malformed(std::string_view what);  // Reports the current token.
  void unexpected_term();                 // Reports a token where an expression should be.
  void stop(std::string message);         // Ends the parse with this error.
  void note(std::string message) {
    if (!noted_) noted_ = std::move(message);
  }
  // Finding the place scans the whole text, so it is done for the first error only.
  void note_at(Span span, const std::string& message) {
    if (!noted_) note(message + at(span));
  }
  std::string at(Span span) const;  // " at line:column:length"
  bool enter();                     // Enters one level of recursion; returns false if that is too deep.
  void leave() { --depth_; }

  // --- Statements (parser.cc) ---
  void parse_any();
  void parse_select();
  void parse_projection();
  void parse_table(std::string_view expected);
  void refuse_alias();
  void refuse_index();
  void parse_where();
  void parse_order();
  void refuse_clauses();
  void parse_insert();
  void parse_update();
  void parse_update_from();
  void parse_delete();
  void parse_returning();
  void parse_exists();
  std::optional<std::string> accept_name();

  // --- Updates (update_parser.cc) ---
  bool parse_changes();  // Parses SET and REMOVE; returns false if there is none.
  void parse_set();
  expression::Action parse_assignment();
  void parse_set_function(const Token& name, expression::Action& action);
  Operand parse_update_operand();
  std::vector<Operand> parse_update_arguments();

  // --- Conditions (condition_parser.cc) ---
  Condition parse_condition();
  Term parse_or();
  Term parse_and();
  Term parse_not();
  Term parse_predicate();
  Term parse_comparison(Term left, Operator op);
  Term parse_between(Term left);
  Term parse_in(Term left);
  Term parse_is(Term left);
  Term parse_operand_term();
  Term parse_call();
  Operand operand_of(Term term);
  Condition condition_of(Term term);
  Term chain(Operator op, Term first, Term (Parser::*next)(), std::string_view keyword);
  Term compared_with_boolean(Term left, Operator op, Term right);
  Operand right_side();  // The right side of an infix operator.
  std::optional<Operator> accept_comparator();

  // --- Paths and literals (literal_parser.cc) ---
  Path parse_path();
  void parse_index(Path& path);
  bool at_literal() const;
  Operand parse_value_operand();  // A literal or a parameter.
  Value parse_literal();
  Value parse_nested();
  Value parse_number();
  Value parse_list();
  Value parse_map();
  Value parse_bag();
  Value string_set(const std::vector<std::string>& members);
  Value number_set(const std::vector<Decimal>& members, const std::vector<std::string>& spelled);
  bool enter_literal();
  Operand slot_operand(Value value);
  Value take_parameter();

  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<Value> parameters_;
  size_t next_parameter_ = 0;
  size_t position_ = 0;
  size_t depth_ = 0;
  size_t literal_depth_ = 0;
  std::string literal_path_ = "root";
  Statement statement_;
  std::optional<std::string> stopped_;
  std::optional<std::string> noted_;
};

}  // namespace freshet::partiql
