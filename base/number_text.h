// Reads numbers that make up a whole text, such as a query member, an option or a header.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace freshet {

// True if the text is a number and nothing else: no space, no '+', and a '-' only for a type with a sign. If it is
// false, `out` may have changed.
template <class Number>
bool read_number_in(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace freshet
