#include "functions/count/key_hash.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/check.h"

namespace freshet {

namespace {

std::vector<std::string> names_of(const KeySchema& keys) {
  std::vector<std::string> names{keys.partition.name};
  if (keys.sort) names.push_back(keys.sort->name);
  return names;
}

std::vector<std::string> names_of(const Item& key) {
  std::vector<std::string> names;
  for (const auto& [name, value] : key) names.emplace_back(name);
  FRESHET_CHECK(names.size() <= 2, "a key has a partition key, and perhaps a sort key");
  return names;
}

}  // namespace

KeyHasher::KeyHasher(const KeySchema& keys) : names_(names_of(keys)) {
  std::sort(names_.begin(), names_.end());
}

KeyHasher::KeyHasher(const Item& key) : names_(names_of(key)) {
  std::sort(names_.begin(), names_.end());
}

KeyHash KeyHasher::hash_of(const ItemRef& item) {
  bytes_.clear();
  std::array<std::string_view, 2> names;
  std::copy(names_.begin(), names_.end(), names.begin());
  append_encoded(bytes_, item, std::span(names.data(), names_.size()));
  const XXH128_hash_t hash = XXH3_128bits(bytes_.data(), bytes_.size());
  return {hash.high64, hash.low64};
}

}  // namespace freshet
