#include "runtime/deploy/yaml_trouble.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace freshet {
namespace {

std::string_view line_at(std::string_view text, int line) {
  for (int at = 1; at < line; ++at) {
    const size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::string in_quotes(char c) {
  return c == '\'' ? std::string("\"'\"") : "'" + std::string(1, c) + "'";
}

// True if only blanks and comments follow the position.
bool is_at_end(const YamlStop& stop, std::string_view text) {
  const int lines = 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  if (stop.bracket && (stop.line < stop.bracket->line || stop.column == 0)) return true;
  for (int line = stop.line; line <= lines; ++line) {
    std::string_view rest = line_at(text, line);
    if (line == stop.line) rest.remove_prefix(std::min(rest.size(), static_cast<size_t>(std::max(stop.column - 1, 0))));
    const size_t first = rest.find_first_not_of(" \t\r");
    if (first != rest.npos && rest[first] != '#') return false;
  }
  return true;
}

YamlTrouble not_closed(const YamlStop& stop, std::string_view text) {
  const char opening = stop.bracket->opening;
  const char closing = opening == '[' ? ']' : '}';
  const std::string what = std::string("the ") + opening + " of this line is not closed: ";
  const std::string mark(1, closing);
  // The parser reports 1:1 at the end of a text without a line end.
  if (is_at_end(stop, text) || (stop.line == 1 && stop.column == 1)) {
    return {stop.bracket->line, what + "the file ends before its " + mark};
  }
  const std::string where =
      stop.line == stop.bracket->line ? "" : ", before what line " + std::to_string(stop.line) + " goes on with";
  return {stop.bracket->line, what + "a " + mark + " is missing, or a comma between two values" + where};
}

// The error for a character that cannot begin a value.
YamlTrouble wrong_character(const YamlStop& stop, std::string_view text) {
  const std::string_view line = line_at(text, stop.line);
  const auto at = static_cast<size_t>(std::max(stop.column - 1, 0));
  const std::string what = at < line.size() ? in_quotes(line[at]) : std::string("what follows");
  return {stop.line, what + " cannot stand here: put text that has such a character into quotes" +
                         (stop.bracket ? std::string(" between [ ] or { }") : std::string())};
}

// The error for a line with a tab before its first character. Empty for others.
std::optional<YamlTrouble> tab_before(const YamlStop& stop, std::string_view text) {
  const std::string_view line = line_at(text, stop.line);
  const std::string_view indentation = line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
  if (indentation.find('\t') == indentation.npos) return std::nullopt;
  return YamlTrouble{stop.line, "the line begins with a tab: write blanks, as YAML knows no others"};
}

YamlTrouble not_in_the_map(const YamlStop& stop, std::string_view text) {
  if (auto tab = tab_before(stop, text)) return std::move(*tab);
  const std::string_view line = line_at(text, stop.line);
  const bool first = line.find_first_not_of(' ') + 1 == static_cast<size_t>(std::max(stop.column, 1));
  if (!first && stop.quoted_line > 0) {
    return {stop.line, "something follows the text in quotes that begins in line " + std::to_string(stop.quoted_line) +
                           ": is its quotation mark where it should be? Within the quotes, write a ' twice and a \" as "
                           "\\\""};
  }
  if (!first) return {stop.line, "something follows the value: put text with such characters into quotes"};
  return {stop.line,
          "this line fits none of the lines before it: names of one map begin in the same column, and so do the '- ' "
          "of one list"};
}

YamlTrouble wrong_name(const YamlStop& stop, std::string_view text) {
  if (auto tab = tab_before(stop, text)) return std::move(*tab);
  return {stop.line,
          "a ':' cannot stand here: put text with ': ' in it into quotes; a name begins in the column of the other "
          "names around it"};
}

}  // namespace

YamlTrouble trouble_of(const YamlStop& stop, std::string_view text) {
  if (stop.says == "unknown token") return wrong_character(stop, text);
  if (stop.says == "illegal flow end") {
    if (!stop.bracket) return {stop.line, "nothing has opened the ] or } that stands here: take it out"};
    return {stop.line, "the brackets do not match here: the one that was opened last is closed first"};
  }
  if (stop.bracket) return not_closed(stop, text);
  if (stop.says == "illegal map value") return wrong_name(stop, text);
  if (stop.says == "end of map not found" || stop.says == "end of sequence not found") {
    return not_in_the_map(stop, text);
  }
  if (stop.says == "illegal block entry") {
    return {stop.line, "a '- ' cannot stand here: a list begins on a line of its own"};
  }
  if (stop.says == "the referenced anchor is not defined") {
    return {stop.line, "nothing is named by the & of this alias (*): put text that begins with * into quotes"};
  }
  if (stop.says == "anchor not found after &") {
    return {stop.line, "put text that begins with & into quotes: in YAML it names a value"};
  }
  if (stop.says == "alias not found after *") {
    return {stop.line, "put text that begins with * into quotes: in YAML it stands for a value with a name"};
  }
  return {stop.line, stop.says};
}

bool is_closed(std::string_view text, size_t from) {
  if (from >= text.size() || (text[from] != '"' && text[from] != '\'')) return true;
  const char quote = text[from];
  for (size_t at = from + 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote && quote == '\'' && at + 1 < text.size() && text[at + 1] == quote) {
      ++at;
    } else if (text[at] == quote) {
      return true;
    }
  }
  return false;
}

}  // namespace freshet
