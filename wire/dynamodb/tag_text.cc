#include "wire/dynamodb/tag_text.h"

#include <clocale>
#include <cwctype>

#include <algorithm>

#include "tables/value/text.h"

namespace freshet::dynamodb {

namespace {

// Knows the letters of all scripts, whatever locale the user has. Zero if the system lacks it.
locale_t any_script() {
  static const locale_t kLocale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return kLocale;
}

bool is_sign(char32_t c) {
  constexpr std::string_view kSigns = "+-=._:/@";
  return c < 0x80 && kSigns.find(static_cast<char>(c)) != std::string_view::npos;
}

// Blanks that do not break a line, which iswspace() leaves out.
bool is_fixed_blank(char32_t c) {
  return c == 0x00a0 || c == 0x2007 || c == 0x202f;
}

bool is_allowed(char32_t c) {
  if (c < 0x80) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ' || is_sign(c);
  }
  const locale_t locale = any_script();
  if (locale == locale_t{} || is_fixed_blank(c)) return true;
  return iswalnum_l(static_cast<wint_t>(c), locale) != 0 || iswspace_l(static_cast<wint_t>(c), locale) != 0;
}

// The character that a valid sequence of `bytes` stands for.
char32_t decode(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (bytes.size() == 1) return first;
  char32_t c = first & (0xffu >> (bytes.size() + 1));
  for (const char next : bytes.substr(1)) c = (c << 6) | (static_cast<unsigned char>(next) & 0x3fu);
  return c;
}

}  // namespace

bool is_tag_text(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_sequence(text);
    if (length == 0 || !is_allowed(decode(text.substr(0, length)))) return false;
    text.remove_prefix(length);
  }
  return true;
}

int64_t count_characters(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; };
  return std::count_if(text.begin(), text.end(), begins);
}

}  // namespace freshet::dynamodb
