// The encoding of items, byte by byte; the page is docs/formats.md, "Values and items". For the value layer's own
// sources: everyone else works with item_ref.h.
//
//   item   = count entry*            names strictly rising
//   entry  = length name value
//   value  = type content            NULL has no content, BOOL one byte, all others: length bytes
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "tables/value/value.h"

namespace freshet::encoding {

// Deeper than any item may be (limits::kMaxNesting): what was stored can always be read back.
inline constexpr size_t kMaxDepth = 2 * limits::kMaxNesting;

// Little-endian base 128, the high bit says that more follow; shortest form only.
inline void append_varint(std::string& out, size_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// The readers below walk bytes that were checked when the block was made.

inline size_t take_varint(std::string_view& in) {
  auto byte = static_cast<unsigned char>(in.front());
  in.remove_prefix(1);
  if (byte < 0x80) return byte;
  size_t value = byte & 0x7f;
  for (int shift = 7;; shift += 7) {
    byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= static_cast<size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

inline std::string_view take_bytes(std::string_view& in, size_t n) {
  std::string_view bytes = in.substr(0, n);
  in.remove_prefix(n);
  return bytes;
}

inline std::string_view take_text(std::string_view& in) {
  size_t n = take_varint(in);
  return take_bytes(in, n);
}

inline Type type_of(std::string_view value) {
  return static_cast<Type>(value.front());
}

// Takes one value, type byte included.
inline std::string_view take_value(std::string_view& in) {
  std::string_view rest = in;
  Type type = type_of(rest);
  rest.remove_prefix(1);
  if (type == Type::kBool) {
    rest.remove_prefix(1);
  } else if (type != Type::kNull) {
    take_text(rest);
  }
  return take_bytes(in, static_cast<size_t>(rest.data() - in.data()));
}

// What stands behind the type byte, and behind the length where there is one.
inline std::string_view content_of(std::string_view value) {
  Type type = type_of(value);
  value.remove_prefix(1);
  if (type == Type::kBool || type == Type::kNull) return value;
  return take_text(value);
}

// More than the longest spelling of a number has: "-0.", 129 zeros, 38 digits.
inline constexpr size_t kMaxNumberText = 176;

// Spells the number in its ordered form as Decimal::to_string() does, straight from its pairs of digits. Needs
// kMaxNumberText bytes at `out`; returns how many it wrote. In decimal.cc, where the form is known.
size_t spell_number(std::string_view ordered, char* out);

}  // namespace freshet::encoding
