#include "tables/expression/lexer.h"

namespace freshet::expression {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

size_t length_while(std::string_view text, size_t from, bool (*holds)(char)) {
  size_t end = from;
  while (end < text.size() && holds(text[end])) ++end;
  return end - from;
}

size_t character_length(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) ++length;
  return length;
}

Token next_token(std::string_view text) {
  const char c = text[0];
  if (is_letter(c)) return {TokenKind::kIdentifier, text.substr(0, length_while(text, 0, is_word_character))};
  if (is_digit(c)) return {TokenKind::kInteger, text.substr(0, length_while(text, 0, is_digit))};
  if (c == '#' || c == ':') {
    const size_t length = length_while(text, 1, is_word_character);
    if (length == 0) return {TokenKind::kUnknown, text.substr(0, 1)};
    return {c == '#' ? TokenKind::kNamePlaceholder : TokenKind::kValuePlaceholder, text.substr(0, 1 + length)};
  }
  const auto two = text.substr(0, 2);
  if (two == "<>" || two == "<=" || two == ">=") return {TokenKind::kSymbol, two};
  if (std::string_view("(),.[]+-=<>").find(c) != std::string_view::npos) return {TokenKind::kSymbol, text.substr(0, 1)};
  return {TokenKind::kUnknown, text.substr(0, character_length(text))};
}

}  // namespace

bool is_word_character(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

std::vector<Token> lex(std::string_view text) {
  std::vector<Token> tokens;
  while (true) {
    text.remove_prefix(length_while(text, 0, is_space));
    if (text.empty()) break;
    tokens.push_back(next_token(text));
    text.remove_prefix(tokens.back().text.size());
  }
  tokens.push_back({TokenKind::kEnd, "<EOF>"});
  return tokens;
}

}  // namespace freshet::expression
