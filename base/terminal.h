// The terminal that output goes to: its width and its colours. And text as a terminal counts it, in columns.
//
// Text given to these functions holds no control characters: see plain_text().
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

struct Screen {
  bool terminal = false;  // A person reads it. Otherwise it is a file or a pipe.
  bool colours = false;   // Never without a terminal.
  size_t width = 80;      // Columns, at least 20.
  size_t height = 24;     // Rows.
};

// The screen behind a descriptor, 1 or 2. The environment variables COLUMNS and LINES override the size that the
// terminal says, NO_COLOR (https://no-color.org: set and not empty) and TERM=dumb turn colours off.
Screen screen_of(int descriptor);
// The same from its parts. `columns` and `rows` are what the terminal says of itself, 0 if it says nothing. `variable`
// returns the value of an environment variable, empty if it is not set.
Screen make_screen(bool terminal, size_t columns, size_t rows,
                   const std::function<std::string(const char* name)>& variable);

enum class Colour { kPlain, kBold, kDim, kRed, kGreen, kYellow, kCyan };

// The text in that colour, or as it is on a screen without colours.
std::string painted(const Screen& screen, Colour colour, std::string_view text);

// The columns that the text takes: two for each wide character, none for one that combines with the one before.
size_t columns_of(std::string_view text);
// The text, or as much of its beginning as leaves room for "..." if it is wider than that.
std::string cut_to_columns(std::string_view text, size_t columns);
// The words of the text in lines of at most that many columns. A longer word has a line of its own. At least one line.
std::vector<std::string> wrapped(std::string_view text, size_t columns);

}  // namespace freshet
