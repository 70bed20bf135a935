// Digests of items, to compare two stores: equal sets of items have equal digests, in whatever order they were read. In
// memory only.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/crypto.h"
#include "tables/value/item_ref.h"

namespace freshet::engines {

// The first 128 bits of the SHA-256 of some bytes.
struct Fingerprint {
  std::array<uint64_t, 2> words{};
  auto operator<=>(const Fingerprint&) const = default;
};

inline Fingerprint fingerprint_of(std::string_view bytes) {
  const std::string hash = sha256(bytes);
  Fingerprint out;
  std::memcpy(out.words.data(), hash.data(), sizeof(out.words));
  return out;
}

class ItemsDigest {
 public:
  void add(const Fingerprint& item) {
    ++items_;
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += item.words[i];
  }
  uint64_t items() const { return items_; }
  bool operator==(const ItemsDigest&) const = default;

 private:
  uint64_t items_ = 0;
  std::array<uint64_t, 2> sum_{};
};

}  // namespace freshet::engines
