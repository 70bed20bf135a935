// Makes untrusted text (ids, names, logs, errors) safe for a terminal. Its control characters must not move the cursor,
// change colours or titles, or fake lines that the program did not print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet {

// The length of the well-formed UTF-8 sequence at the start of `text`, which must not be empty; 0 if there is none.
size_t utf8_length(std::string_view text);

// The text on one line: every control character (C0, DEL, C1), every separator of lines and paragraphs and every mark
// that changes the direction of text as \n, \r, \t, \x1b, \u009b or \u202e, and every byte that is not UTF-8 as \xff.
// Everything else, including backslashes, stays as it is.
std::string plain_text(std::string_view text);
// Like plain_text(), but keeps line feeds: for text with several lines.
std::string plain_lines(std::string_view text);
// Like plain_text(), but keeps a line feed only where `start` follows: for messages in which every line begins with it.
std::string plain_lines(std::string_view text, std::string_view start);

// Equivalent JSON text that is safe to show: control characters inside strings become \u001b. White space between
// values stays, but a carriage return becomes a blank. Text that is not JSON becomes safe to show, too.
std::string plain_json(std::string_view json);

}  // namespace freshet
