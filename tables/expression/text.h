// Small text helpers for the parser and its messages.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace freshet::expression {

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (out.append(std::string_view(parts)), ...);
  return out;
}

inline char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// `keyword` is upper case.
inline bool is_keyword(std::string_view word, std::string_view keyword) {
  return std::equal(word.begin(), word.end(), keyword.begin(), keyword.end(),
                    [](char a, char b) { return upper(a) == b; });
}

}  // namespace freshet::expression
