// Tokens of PartiQL statements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::partiql {

enum class TokenKind : uint8_t {
  kWord,       // A letter, '_' or '$', then letters, digits, '_' and '$': names, keywords, functions.
  kQuoted,     // "name"
  kString,     // 'text'
  kNumber,     // Digits with point and exponent, without a sign.
  kParameter,  // ?
  kSymbol,     // ( ) [ ] { } , . : ; * + - = <> != < <= > >= << >>
  kUnknown,    // A character that starts no token, or a token without an end. It is the last one before kEnd.
  kEnd
};

// A part of the statement, in bytes.
struct Span {
  uint32_t offset = 0;
  uint32_t size = 0;
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Span span;
};

// All tokens of `text` (shorter than 4 GB), the last one kEnd. Blanks and comments (`-- to the end of the line` and
// `/* */`) separate them. Never fails.
std::vector<Token> lex(std::string_view text);

// The text between the quotes of a kQuoted or kString, doubled quotes made single.
std::string unquoted(std::string_view token);

// "line:column:length" as the service writes places: lines and columns count from 1, both they and the length count
// characters.
std::string place_of(std::string_view text, Span span);

}  // namespace freshet::partiql
