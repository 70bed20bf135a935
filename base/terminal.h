// The terminal that receives the output: its width, its colours, and the width of text in its columns.
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
  bool terminal = false;  // True if a person reads it; false for a file or a pipe.
  bool colours = false;   // Always false without a terminal.
  size_t width = 80;      // Columns, at least 20.
  size_t height = 24;     // Rows.
};

// The screen behind descriptor 1 or 2. The environment variables COLUMNS and LINES override the size that the terminal
// reports; NO_COLOR (https://no-color.org: set and not empty) and TERM=dumb turn colours off.
Screen screen_of(int descriptor);
// Like screen_of(), from its parts. `columns` and `rows` are the terminal's own answer, 0 if it gives none. `variable`
// returns the value of an environment variable, empty if it is not set.
Screen make_screen(bool terminal, size_t columns, size_t rows,
                   const std::function<std::string(const char* name)>& variable);

enum class Colour { kPlain, kBold, kDim, kRed, kGreen, kYellow, kCyan };

// The text in that colour, or unchanged on a screen without colours.
std::string painted(const Screen& screen, Colour colour, std::string_view text);

// The columns that the text takes: two for each wide character, none for one that combines with the one before.
size_t columns_of(std::string_view text);
// The text, or as much of its beginning as leaves room for "..." if it is wider than that.
std::string cut_to_columns(std::string_view text, size_t columns);
// Wraps the text into lines of at most `columns` columns; at least one line. kWhole gives a longer word a line of its
// own, so that a path or an address can be copied. kBroken breaks it, preferably behind a '/', ',' or the like.
enum class LongWords { kWhole, kBroken };
std::vector<std::string> wrapped(std::string_view text, size_t columns, LongWords long_words = LongWords::kWhole);
// The same for lines that go to the screen: kBroken on a terminal, which would break long words anywhere; else kWhole.
std::vector<std::string> wrapped(std::string_view text, size_t columns, const Screen& screen);

}  // namespace freshet
