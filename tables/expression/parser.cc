#include "tables/expression/parser.h"

#include <limits>

#include "base/limits.h"
#include "tables/expression/reserved_words.h"
#include "tables/expression/text.h"

namespace freshet::expression {
namespace {

// A NOT and the parentheses after it are two levels for one operator.
constexpr size_t kMaxDepth = 2 * limits::kMaxExpressionOperators + 8;

bool is_keyword_of(ExpressionKind kind, std::string_view word) {
  constexpr std::string_view kUpdate[] = {"SET", "REMOVE", "ADD", "DELETE"};
  constexpr std::string_view kCondition[] = {"AND", "OR", "NOT", "BETWEEN", "IN"};
  if (kind == ExpressionKind::kProjection) return false;
  if (kind == ExpressionKind::kUpdate) {
    for (auto keyword : kUpdate) {
      if (is_keyword(word, keyword)) return true;
    }
    return false;
  }
  for (auto keyword : kCondition) {
    if (is_keyword(word, keyword)) return true;
  }
  return false;
}

}  // namespace

Error expression_error(ExpressionKind kind, std::string_view what) {
  return Error{ErrorCode::kValidation, concat("Invalid ", expression_name(kind), ": ", what), nullptr};
}

Result<void> check_text(std::string_view text, ExpressionKind kind) {
  if (text.size() > limits::kMaxExpressionBytes) {
    return fail(
        expression_error(kind, concat("Expression size has exceeded the maximum allowed size; expression size: ",
                                      std::to_string(text.size()))));
  }
  if (text.find_first_not_of(" \t\n\r\f") == std::string_view::npos)
    return fail(expression_error(kind, "The expression can not be empty;"));
  return {};
}

Parser::Parser(std::string_view text, Compiled& into) : text_(text), into_(into), tokens_(lex(text)) {}

std::optional<Error> Parser::error() const {
  for (const auto* found : {&stopped_, &redundant_parentheses_, &bad_function_, &misused_function_, &reserved_word_,
                            &repeated_section_, &bad_path_}) {
    if (*found) return expression_error(into_.kind, **found);
  }
  return std::nullopt;
}

// --- Tokens ---

const Token& Parser::peek(size_t ahead) const {
  return stopped_ ? tokens_.back() : tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

const Token& Parser::take() {
  const Token& token = peek();
  if (!stopped_ && position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool Parser::at_symbol(std::string_view symbol, size_t ahead) const {
  return peek(ahead).kind == TokenKind::kSymbol && peek(ahead).text == symbol;
}

bool Parser::at_keyword(std::string_view upper, size_t ahead) const {
  return peek(ahead).kind == TokenKind::kIdentifier && is_keyword(peek(ahead).text, upper);
}

bool Parser::accept_symbol(std::string_view symbol) {
  if (!at_symbol(symbol)) return false;
  take();
  return true;
}

bool Parser::accept_keyword(std::string_view upper) {
  if (!at_keyword(upper)) return false;
  take();
  return true;
}

void Parser::expect_symbol(std::string_view symbol) {
  if (!accept_symbol(symbol)) syntax_error();
}

// --- Errors ---

void Parser::stop(std::string what) {
  if (!stopped_) stopped_ = std::move(what);
}

void Parser::note(std::optional<std::string>& slot, std::string text) {
  if (!slot && !stopped_) slot = std::move(text);
}

void Parser::syntax_error() {
  if (stopped_) return;
  const Token& token = tokens_[position_];
  const bool at_end = token.kind == TokenKind::kEnd;
  const std::string_view first = position_ > 0 ? tokens_[position_ - 1].text : token.text;
  std::string_view last = at_end ? first : token.text;
  if (!at_end && tokens_[position_ + 1].kind != TokenKind::kEnd) last = tokens_[position_ + 1].text;
  // As in the text, blanks between the tokens included.
  const std::string_view near(first.data(), static_cast<size_t>(last.data() + last.size() - first.data()));
  stop(concat("Syntax error; token: \"", token.text, "\", near: \"", near, "\""));
}

bool Parser::enter() {
  ++depth_;
  // Operators run out before, unless parentheses stand in parentheses.
  if (depth_ > kMaxDepth) stop("The expression has redundant parentheses;");
  return !stopped_;
}

void Parser::count_operator() {
  if (++operators_ > limits::kMaxExpressionOperators) {
    stop(concat("The expression contains too many operators; operator count: ", std::to_string(operators_)));
  }
}

// --- Paths and values ---

uint32_t Parser::slot_of(std::vector<std::string>& slots, std::string_view text) {
  const auto [known, added] = slots_by_text_.emplace(text, static_cast<uint32_t>(slots.size()));
  if (added) slots.emplace_back(text);
  return known->second;
}

PathElement Parser::parse_name() {
  const Token& token = peek();
  PathElement element;
  if (token.kind == TokenKind::kNamePlaceholder) {
    element.kind = PathElement::Kind::kPlaceholder;
    element.number = slot_of(into_.names, token.text);
  } else if (token.kind == TokenKind::kIdentifier && !is_keyword_of(into_.kind, token.text)) {
    if (is_reserved_word(token.text)) {
      note(reserved_word_, concat("Attribute name is a reserved keyword; reserved keyword: ", token.text));
    }
    element.name = std::string(token.text);
  } else {
    syntax_error();
  }
  take();
  return element;
}

void Parser::parse_path_rest(Path& path) {
  while (true) {
    if (accept_symbol(".")) {
      path.push_back(parse_name());
    } else if (accept_symbol("[")) {
      const std::string_view digits = peek().text;
      if (peek().kind != TokenKind::kInteger) return syntax_error();
      take();
      uint64_t index = 0;
      if (digits.size() <= 10) {
        for (char c : digits) index = index * 10 + static_cast<uint64_t>(c - '0');
      }
      if (digits.size() > 10 || index > std::numeric_limits<int32_t>::max()) {
        note(bad_path_, concat("List index is not within the allowable range; index: [", digits, "]"));
      }
      path.push_back({PathElement::Kind::kIndex, static_cast<uint32_t>(index), {}});
      expect_symbol("]");
    } else {
      break;
    }
  }
  if (path.size() > limits::kMaxNesting) {
    note(bad_path_,
         concat("The document path has too many nesting levels; nesting levels: ", std::to_string(path.size())));
  }
}

Path Parser::parse_path() {
  Path path;
  path.push_back(parse_name());
  parse_path_rest(path);
  return path;
}

Operand Parser::parse_value() {
  Operand operand;
  operand.kind = Operand::Kind::kValue;
  if (peek().kind != TokenKind::kValuePlaceholder) {
    syntax_error();
    return operand;
  }
  operand.slot = slot_of(into_.values, take().text);
  return operand;
}

// --- Functions ---

std::optional<Function> Parser::known_function(std::string_view name) {
  constexpr Function kAll[] = {Function::kAttributeExists, Function::kAttributeNotExists, Function::kAttributeType,
                               Function::kBeginsWith,      Function::kContains,           Function::kSize,
                               Function::kIfNotExists,     Function::kListAppend};
  const bool update = into_.kind == ExpressionKind::kUpdate;
  for (auto function : kAll) {
    if (function_name(function) != name) continue;
    const bool for_update = function == Function::kIfNotExists || function == Function::kListAppend;
    if (for_update == update) return function;
    note(bad_function_, concat("The function is not allowed in ", update ? "an update" : "a condition",
                               " expression; function: ", name));
    return std::nullopt;
  }
  note(bad_function_, concat("Invalid function name; function: ", name));
  return std::nullopt;
}

void Parser::check_not_misused(const Operand& operand) {
  if (operand.kind != Operand::Kind::kFunction || operand.function == Function::kSize ||
      operand.function == Function::kIfNotExists) {
    return;
  }
  note(misused_function_, concat("The function is not allowed to be used this way in an expression; function: ",
                                 function_name(operand.function)));
}

Operand Parser::parse_call(Operand (Parser::*argument)()) {
  Operand call;
  call.kind = Operand::Kind::kFunction;
  if (is_keyword_of(into_.kind, peek().text)) syntax_error();
  call.function = known_function(take().text).value_or(Function::kSize);
  count_operator();
  expect_symbol("(");
  if (enter()) {
    do {
      call.arguments.push_back((this->*argument)());
      check_not_misused(call.arguments.back());
    } while (accept_symbol(","));
    expect_symbol(")");
  }
  leave();
  return call;
}

// --- Projections ---

std::vector<Path> Parser::parse_projection() {
  std::vector<Path> paths;
  do {
    paths.push_back(parse_path());
  } while (accept_symbol(","));
  if (peek().kind != TokenKind::kEnd) syntax_error();
  return paths;
}

}  // namespace freshet::expression
