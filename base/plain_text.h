// Text of others (ids, names, logs, errors) on its way to a terminal. Its control characters must not move the cursor,
// change colours or titles, or make up lines that the program did not print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet {

// The length of the well-formed UTF-8 sequence at the start of `text`, which must not be empty; 0 if there is none.
size_t utf8_length(std::string_view text);

// The text on one line: every control character (C0, DEL, C1) as \n, \r, \t, \x1b or \u009b, and every byte that is no
// UTF-8 as \xff. All else, a backslash too, is as it was.
std::string plain_text(std::string_view text);
// The same, but line feeds stay: for text that has lines of its own.
std::string plain_lines(std::string_view text);
// The same, but a line feed stays only where `start` follows: for messages whose lines all begin so.
std::string plain_lines(std::string_view text, std::string_view start);

// JSON text with the same value that is safe to show: control characters inside of strings as \u001b. White space
// between values stays, but a carriage return becomes a blank. Text that is no JSON is safe to show then, too.
std::string plain_json(std::string_view json);

}  // namespace freshet
