// Integers and byte strings as they are stored in the store's files (docs/formats.md): fixed integers little-endian,
// varints in base 128.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace freshet {

inline void append_varint(std::string& out, uint64_t v) {
  char bytes[10];
  size_t n = 0;
  for (; v >= 0x80; v >>= 7) bytes[n++] = static_cast<char>(v | 0x80);
  bytes[n++] = static_cast<char>(v);
  out.append(bytes, n);
}

inline void append_fixed(std::string& out, uint64_t v, int bits = 64) {
  for (int shift = 0; shift < bits; shift += 8) out.push_back(static_cast<char>(v >> shift));
}

inline void append_fixed32(std::string& out, uint32_t v) {
  append_fixed(out, v, 32);
}

inline void append_bytes(std::string& out, std::string_view bytes) {
  append_varint(out, bytes.size());
  out.append(bytes);
}

// Reads from the front; after the first fault all reads return zero and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}
  bool ok() const { return ok_; }
  bool at_end() const { return !ok_ || in_.empty(); }

  uint8_t byte() {
    if (!need(1)) return 0;
    const auto b = static_cast<uint8_t>(in_[0]);
    in_.remove_prefix(1);
    return b;
  }
  uint64_t varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t b = byte();
      v |= uint64_t{b & 0x7fu} << shift;
      if (!(b & 0x80)) return v;
    }
    ok_ = false;
    return 0;
  }
  uint64_t fixed(int bits = 64) {
    uint64_t v = 0;
    for (int shift = 0; shift < bits; shift += 8) v |= uint64_t{byte()} << shift;
    return v;
  }
  uint32_t fixed32() { return static_cast<uint32_t>(fixed(32)); }
  uint32_t number() {  // A varint.
    const uint64_t v = varint();
    if (v > UINT32_MAX) ok_ = false;
    return static_cast<uint32_t>(v);
  }
  std::string_view bytes() {
    const uint64_t size = varint();
    if (!need(size)) return {};
    const std::string_view out = in_.substr(0, size);
    in_.remove_prefix(size);
    return out;
  }

 private:
  bool need(uint64_t size) {
    if (ok_ && size <= in_.size()) return true;
    ok_ = false;
    return false;
  }
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace freshet
