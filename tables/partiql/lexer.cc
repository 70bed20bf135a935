#include "tables/partiql/lexer.h"

#include <algorithm>

namespace freshet::partiql {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
bool is_word(char c) {
  return is_word_start(c) || is_digit(c);
}

size_t digits(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// Its length; `text` starts with a digit, or with a point and a digit.
size_t number_length(std::string_view text) {
  size_t end = digits(text, 0);
  if (end < text.size() && text[end] == '.') end = digits(text, end + 1);
  if (end == text.size() || (text[end] != 'e' && text[end] != 'E')) return end;
  size_t exponent = end + 1;
  if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
  const size_t after = digits(text, exponent);
  return after == exponent ? end : after;
}

// The length with both quotes; 0 if there is no closing one.
size_t quoted_length(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] != text[0]) continue;
    if (i + 1 == text.size() || text[i + 1] != text[0]) return i + 1;
    ++i;
  }
  return 0;
}

size_t symbol_length(std::string_view text) {
  const std::string_view two = text.substr(0, 2);
  for (const std::string_view known : {"<>", "!=", "<=", ">=", "<<", ">>"}) {
    if (two == known) return 2;
  }
  return std::string_view("()[]{},.:;*+-=<>").find(text[0]) == std::string_view::npos ? 0 : 1;
}

size_t character_length(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) ++length;
  return length;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    while (skip_blanks() && next()) {
    }
    tokens_.push_back({TokenKind::kEnd, {static_cast<uint32_t>(text_.size()), 0}});
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  // False at the end of the text, and at a comment that has none.
  bool skip_blanks() {
    while (at_ < text_.size()) {
      if (is_space(text_[at_])) {
        ++at_;
      } else if (rest().starts_with("--")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest().starts_with("/*")) {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return add(TokenKind::kUnknown, text_.size() - at_), false;
        at_ = end + 2;
      } else {
        return true;
      }
    }
    return false;
  }

  // False after what is no token.
  bool next() {
    const char c = text_[at_];
    const bool number = is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]));
    if (number && !after_name(c)) return add(TokenKind::kNumber, number_length(rest()));
    if (is_word_start(c)) {
      size_t length = 1;
      while (at_ + length < text_.size() && is_word(text_[at_ + length])) ++length;
      return add(TokenKind::kWord, length);
    }
    if (c == '?') return add(TokenKind::kParameter, 1);
    if (c == '\'' || c == '"') {
      const size_t length = quoted_length(rest());
      if (length != 0) return add(c == '"' ? TokenKind::kQuoted : TokenKind::kString, length);
      return add(TokenKind::kUnknown, text_.size() - at_), false;
    }
    if (const size_t length = symbol_length(rest())) return add(TokenKind::kSymbol, length);
    return add(TokenKind::kUnknown, character_length(rest())), false;
  }

  // True if a point at this position belongs to a path and not to a number: "a.5" is not a number.
  bool after_name(char c) const {
    if (c != '.' || tokens_.empty()) return false;
    const Token& last = tokens_.back();
    const bool adjoins = last.span.offset + last.span.size == at_;
    return adjoins && (last.kind == TokenKind::kWord || last.kind == TokenKind::kQuoted || text_[at_ - 1] == ']');
  }

  bool add(TokenKind kind, size_t length) {
    tokens_.push_back({kind, {static_cast<uint32_t>(at_), static_cast<uint32_t>(length)}});
    at_ += length;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

size_t characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::vector<Token> lex(std::string_view text) {
  return Lexer(text).run();
}

std::string unquoted(std::string_view token) {
  std::string out;
  const char quote = token.front();
  const std::string_view inside = token.substr(1, token.size() - 2);
  for (size_t i = 0; i < inside.size(); ++i) {
    out += inside[i];
    if (inside[i] == quote) ++i;
  }
  return out;
}

std::string place_of(std::string_view text, Span span) {
  const std::string_view before = text.substr(0, span.offset);
  const size_t newline = before.rfind('\n');
  const std::string_view line = newline == std::string_view::npos ? before : before.substr(newline + 1);
  return std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ":" +
         std::to_string(1 + characters(line)) + ":" + std::to_string(characters(text.substr(span.offset, span.size)));
}

}  // namespace freshet::partiql
