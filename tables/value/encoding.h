// The encoding of items, byte by byte; the page is docs/formats.md, "Values and items". Only for the sources of the
// value layer; all other code uses item_ref.h.
//
//   item   = count entry*            names strictly rising
//   entry  = length name value
//   value  = type content            NULL has no content, BOOL one byte, all others: length bytes
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "tables/value/value.h"

namespace freshet::encoding {

// Deeper than any item may be (limits::kMaxNesting), so that every stored item can be read back.
inline constexpr size_t kMaxDepth = 2 * limits::kMaxNesting;

// Little-endian base 128, the high bit says that more follow; shortest form only.
inline void append_varint(std::string& out, size_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// The readers below walk bytes that were checked when the block was made. They are most of the work of finding an
// attribute, so only lengths of one byte, which nearly all values have, are handled inline.

inline size_t take_long_varint(const char*& at, size_t first) {
  size_t value = first & 0x7f;
  for (int shift = 7;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    value |= static_cast<size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

inline size_t take_varint(const char*& at) {
  const auto byte = static_cast<unsigned char>(*at++);
  if (byte < 0x80) [[likely]]
    return byte;
  return take_long_varint(at, byte);
}

inline std::string_view take_text(const char*& at) {
  const size_t length = take_varint(at);
  return {std::exchange(at, at + length), length};
}

// Takes one value; returns the bytes behind its type byte, and behind its length if it has one.
inline std::string_view take_content(const char*& at) {
  const auto type = static_cast<Type>(*at++);
  if (type == Type::kBool) return {at++, 1};
  if (type == Type::kNull) return {};
  return take_text(at);
}

// The position behind the value that begins at `at`, type byte included.
inline const char* behind_value(const char* at) {
  const auto type = static_cast<Type>(*at++);
  if (type == Type::kBool) return at + 1;
  if (type == Type::kNull) return at;
  const size_t length = take_varint(at);
  return at + length;
}

template <class Word>
bool same_word(const char* a, const char* b) {
  Word x;
  Word y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x == y;
}

// Most names have 4 to 16 bytes: two words that may overlap, and no call.
inline bool is_same_name(const char* a, size_t a_length, const char* b, size_t b_length) {
  const size_t n = b_length;
  if (a_length != n) return false;
  if (n > 16 || n < 4) return n == 0 || std::memcmp(a, b, n) == 0;
  if (n >= 8) return same_word<uint64_t>(a + n - 8, b + n - 8) && same_word<uint64_t>(a, b);
  return same_word<uint32_t>(a + n - 4, b + n - 4) && same_word<uint32_t>(a, b);
}

inline size_t take_varint(std::string_view& in) {
  const char* at = in.data();
  const size_t value = take_varint(at);
  in.remove_prefix(static_cast<size_t>(at - in.data()));
  return value;
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
  return take_bytes(in, static_cast<size_t>(behind_value(in.data()) - in.data()));
}

// The bytes behind the type byte, and behind the length if the value has one.
inline std::string_view content_of(std::string_view value) {
  const char* at = value.data();
  return take_content(at);
}

// Longer than the longest spelling of a number: "-0.", 129 zeros, 38 digits.
inline constexpr size_t kMaxNumberText = 176;

// Spells the number in its ordered form as Decimal::to_string() does, straight from its pairs of digits. Needs
// kMaxNumberText bytes at `out`; returns how many it wrote. Defined in decimal.cc, which knows the form.
size_t spell_number(std::string_view ordered, char* out);

}  // namespace freshet::encoding
