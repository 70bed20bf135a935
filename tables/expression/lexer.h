// Tokens of the expression language.
#pragma once

#include <string_view>
#include <vector>

namespace freshet::expression {

enum class TokenKind : uint8_t {
  kIdentifier,        // A letter, then letters, digits, '_': names, keywords, functions.
  kNamePlaceholder,   // "#n"
  kValuePlaceholder,  // ":v"
  kInteger,           // Digits.
  kSymbol,            // ( ) , . [ ] + - = <> < <= > >=
  kUnknown,           // Any other character; no rule accepts it.
  kEnd
};

struct Token {
  TokenKind kind;
  std::string_view text;  // Within the lexed text; "<EOF>" for kEnd.
};

bool is_word_character(char c);  // Letter, digit, '_'.

// All tokens of `text`, the last one kEnd. Never fails: an invalid character, as a whole UTF-8 character, is kUnknown.
std::vector<Token> lex(std::string_view text);

}  // namespace freshet::expression
