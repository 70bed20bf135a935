#include "functions/count/key_hash.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace freshet {

namespace {

std::vector<std::string> names_of(const KeySchema& keys) {
  std::vector<std::string> names{keys.partition.name};
  if (keys.sort) names.push_back(keys.sort->name);
  return names;
}

KeyHash hash_of_bytes(const std::string& bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace

KeyHasher::KeyHasher(const KeySchema& keys) : names_(names_of(keys)) {
  std::sort(names_.begin(), names_.end());
}

KeyHash hash_of_key(const Item& key) {
  std::string bytes;
  append_encoded(bytes, key);
  return hash_of_bytes(bytes);
}

KeyHash KeyHasher::hash_of(const ItemRef& item) {
  bytes_.clear();
  std::array<std::string_view, 2> names;
  std::copy(names_.begin(), names_.end(), names.begin());
  append_encoded(bytes_, item, std::span(names.data(), names_.size()));
  return hash_of_bytes(bytes_);
}

}  // namespace freshet
