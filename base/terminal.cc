#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>

#include "base/number_text.h"
#include "base/plain_text.h"

namespace freshet {
namespace {

constexpr size_t kLeastWidth = 20;
constexpr size_t kMostCells = 10'000;

// The number above 0 in a variable, or `otherwise`.
size_t number_of(const std::string& text, size_t otherwise) {
  size_t number = 0;
  return read_number_in(text, number) && number > 0 ? number : otherwise;
}

// The code point of a well-formed sequence of UTF-8.
wchar_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return static_cast<wchar_t>(lead);
  auto point = static_cast<wchar_t>(lead & (0x7f >> sequence.size()));
  for (const char c : sequence.substr(1)) point = (point << 6) | (static_cast<unsigned char>(c) & 0x3f);
  return point;
}

// wcwidth() knows characters beyond ASCII only in a UTF-8 locale. The program has not set one, so this sets it for the
// calling thread while it counts.
class Utf8Locale {
 public:
  Utf8Locale() : before_(locale() == nullptr ? nullptr : uselocale(locale())) {}
  ~Utf8Locale() {
    if (before_ != nullptr) uselocale(before_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  static locale_t locale() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;
  }
  const locale_t before_;
};

// How many bytes and columns the first character takes. A byte that is not UTF-8 takes one column.
std::pair<size_t, size_t> first_character(std::string_view text) {
  const size_t length = utf8_length(text);
  if (length <= 1) return {1, 1};
  const int columns = wcwidth(code_point(text.substr(0, length)));
  return {length, columns < 0 ? 1 : static_cast<size_t>(columns)};
}

}  // namespace

Screen make_screen(bool terminal, size_t columns, size_t rows,
                   const std::function<std::string(const char*)>& variable) {
  Screen screen;
  screen.terminal = terminal;
  screen.colours = terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  if (const size_t width = number_of(variable("COLUMNS"), columns); width > 0) {
    screen.width = std::clamp(width, kLeastWidth, kMostCells);
  }
  if (const size_t height = number_of(variable("LINES"), rows); height > 0)
    screen.height = std::min(height, kMostCells);
  return screen;
}

Screen screen_of(int descriptor) {
  winsize size{};
  const bool terminal = isatty(descriptor) != 0;
  if (terminal && ioctl(descriptor, TIOCGWINSZ, &size) != 0) size = {};
  return make_screen(terminal, size.ws_col, size.ws_row, [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  });
}

std::string painted(const Screen& screen, Colour colour, std::string_view text) {
  constexpr const char* kCodes[] = {"", "1", "2", "31", "32", "33", "36"};
  if (!screen.colours || colour == Colour::kPlain || text.empty()) return std::string(text);
  return "\033[" + std::string(kCodes[static_cast<size_t>(colour)]) + "m" + std::string(text) + "\033[0m";
}

size_t columns_of(std::string_view text) {
  const Utf8Locale locale;
  size_t all = 0;
  while (!text.empty()) {
    const auto [bytes, columns] = first_character(text);
    all += columns;
    text.remove_prefix(bytes);
  }
  return all;
}

std::string cut_to_columns(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  constexpr std::string_view kMore = "...";
  if (columns <= kMore.size()) return std::string(kMore.substr(0, columns));
  const Utf8Locale locale;
  size_t end = 0;
  for (size_t left = columns - kMore.size(); end < text.size();) {
    const auto [bytes, wide] = first_character(text.substr(end));
    if (wide > left) break;
    left -= wide;
    end += bytes;
  }
  return std::string(text.substr(0, end)).append(kMore);
}

namespace {

// The first part of a word that is wider than the columns.
std::string_view part_of(std::string_view word, size_t columns) {
  size_t fits = 0;  // Bytes; at least the first character.
  size_t behind = 0;
  for (size_t end = 1; end <= word.size(); ++end) {
    const bool inside = end < word.size() && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80;
    if (inside) continue;
    if (fits > 0 && columns_of(word.substr(0, end)) > columns) break;
    fits = end;
    if (std::string_view("/,=:&?-_.").find(word[end - 1]) != std::string_view::npos) behind = end;
  }
  return word.substr(0, behind > 0 ? behind : fits);
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, size_t columns, const Screen& screen) {
  return wrapped(text, columns, screen.terminal ? LongWords::kBroken : LongWords::kWhole);
}

std::vector<std::string> wrapped(std::string_view text, size_t columns, LongWords long_words) {
  std::vector<std::string> lines(1);
  size_t used = 0;
  while (true) {
    const size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) return lines;
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find_first_of(" \n"));
    const size_t whole = word.size();
    if (long_words == LongWords::kBroken && columns_of(word) > columns) word = part_of(word, columns);
    text.remove_prefix(word.size());
    const size_t wide = columns_of(word);
    if (used > 0 && used + 1 + wide > columns) {
      lines.emplace_back();
      used = 0;
    }
    if (used > 0) {
      lines.back() += ' ';
      ++used;
    }
    lines.back() += word;
    used += wide;
    if (word.size() < whole) {
      lines.emplace_back();
      used = 0;
    }
  }
}

}  // namespace freshet
