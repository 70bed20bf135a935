// Explains to its author why a document cannot be read: which line to look at, and what to write there. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace freshet {

// The place where the parser stopped, and the part that it had read. Lines and columns begin with 1.
struct YamlStop {
  struct Bracket {
    char opening;  // '[' or '{'.
    int line;
  };
  std::string says;  // The parser's own text.
  int line = 0;
  int column = 0;
  std::optional<Bracket> bracket;  // The innermost one that was not closed.
  int quoted_line = 0;             // Where the value before it begins, if that is in quotes; else 0.
};

struct YamlTrouble {
  int line;
  std::string message;
};

// `text`: the document, as the parser was given it.
YamlTrouble trouble_of(const YamlStop& stop, std::string_view text);

// True if the text in quotes that begins at `from` is closed, or if no quotation mark is there.
bool is_closed(std::string_view text, size_t from);

}  // namespace freshet
