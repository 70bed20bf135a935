#include "base/plain_text.h"

#include <fmt/format.h>

#include <iterator>

namespace freshet {
namespace {

// Not a control character by its class, but as bad on a terminal: it ends a line (U+2028, U+2029), or makes the text
// after it run from right to left, so that a line shows other words than it has.
bool steers_text(int code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

// The control character whose sequence of that length starts `text`; -1 if it is another character.
int control_at(std::string_view text, size_t length) {
  const auto bits = [&](size_t i, int mask) { return static_cast<unsigned char>(text[i]) & mask; };
  if (length == 1) return text[0] == 0x7f || bits(0, 0xff) < 0x20 ? text[0] : -1;
  if (length > 3) return -1;
  const int code =
      length == 2 ? bits(0, 0x1f) << 6 | bits(1, 0x3f) : bits(0, 0x0f) << 12 | bits(1, 0x3f) << 6 | bits(2, 0x3f);
  return code < 0xa0 || steers_text(code) ? code : -1;
}

void append_escape(std::string& out, int control) {
  if (control == '\n') {
    out += "\\n";
  } else if (control == '\r') {
    out += "\\r";
  } else if (control == '\t') {
    out += "\\t";
  } else if (control < 0x80) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", control);
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", control);
  }
}

// A line feed stays if `keeps_line` returns true for the text after it.
template <class KeepsLine>
std::string escaped(std::string_view text, const KeepsLine& keeps_line) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const int control = length == 0 ? -1 : control_at(text, length);
    if (length == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (control >= 0 && !(control == '\n' && keeps_line(text.substr(1)))) {
      append_escape(out, control);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i, unsigned char low, unsigned char high) {
    return i < text.size() && at(i) >= low && at(i) <= high;
  };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned char low = lead == 0xe0 ? 0xa0 : 0x80;   // Not over-long,
    const unsigned char high = lead == 0xed ? 0x9f : 0xbf;  // not a surrogate.
    return continues(1, low, high) && continues(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned char low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xf4 ? 0x8f : 0xbf;  // Not above U+10FFFF.
    return continues(1, low, high) && continues(2, 0x80, 0xbf) && continues(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

std::string plain_text(std::string_view text) {
  return escaped(text, [](std::string_view) { return false; });
}

std::string plain_lines(std::string_view text) {
  return escaped(text, [](std::string_view) { return true; });
}

std::string plain_lines(std::string_view text, std::string_view start) {
  return escaped(text, [&](std::string_view rest) { return rest.starts_with(start); });
}

std::string plain_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const size_t length = utf8_length(json);
    const int control = length == 0 ? static_cast<unsigned char>(json[0]) : control_at(json, length);
    if (control == '\r') {
      out += ' ';
    } else if (control >= 0 && control != '\n' && control != '\t') {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", control);
    } else {
      out += json.substr(0, length);
    }
    json.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace freshet
