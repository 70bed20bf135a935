#include "wire/lambda/client_context.h"

#include <fmt/format.h>

#include <iterator>

#include "tables/value/json_reader.h"
#include "tables/value/text.h"

namespace freshet::lambda {
namespace {

constexpr size_t kMaxEncoded = 3583;

// The code point of a valid sequence of two to four bytes.
uint32_t code_point(std::string_view sequence) {
  uint32_t point = static_cast<unsigned char>(sequence[0]) & (0x7fu >> sequence.size());
  for (const char byte : sequence.substr(1)) point = point << 6 | (static_cast<unsigned char>(byte) & 0x3fu);
  return point;
}

void append_escaped(std::string& out, uint32_t point) {
  if (point < 0x10000) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", point);
    return;
  }
  append_escaped(out, 0xd7c0 + (point >> 10));
  append_escaped(out, 0xdc00 + (point & 0x3ff));
}

// The JSON is valid: a control character in it stands between its parts, and all else that is no ASCII inside a string.
std::string on_one_line(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const auto first = static_cast<unsigned char>(json[0]);
    const size_t size = first < 0x80 ? 1 : utf8_sequence(json);
    if (first < 0x20) {
      out += ' ';
    } else if (first < 0x7f) {
      out += json[0];
    } else {
      append_escaped(out, first == 0x7f ? first : code_point(json.substr(0, size)));
    }
    json.remove_prefix(size);
  }
  return out;
}

}  // namespace

Result<std::string> client_context(std::string_view encoded) {
  if (encoded.empty()) return std::string();
  if (encoded.size() > kMaxEncoded) {
    return invalid(fmt::format("Client context has {} bytes; at most {} are allowed", encoded.size(), kMaxEncoded));
  }
  std::string json;
  JsonDocument document;
  bool good = append_from_base64(json, encoded).empty() && is_utf8(json);
  if (good) {
    const auto parsed = document.parse(json);
    good = parsed && parsed->is(JsonKind::kObject);
  }
  if (!good) return invalid("Client context must be a valid Base64-encoded JSON object.");
  return on_one_line(json);
}

}  // namespace freshet::lambda
