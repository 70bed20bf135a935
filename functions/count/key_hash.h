// Hashes of items' keys, for what is remembered of each item of a table.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tables/tables.h"

namespace freshet {

// 128 bits, the same in every process: two items never have the same one in practice.
using KeyHash = std::pair<uint64_t, uint64_t>;

// The same of a key.
KeyHash hash_of_key(const Item& key);

class KeyHasher {
 public:
  explicit KeyHasher(const KeySchema& keys);

  // The item must have all attributes of the key.
  KeyHash hash_of(const ItemRef& item);

 private:
  std::vector<std::string> names_;
  std::string bytes_;
};

}  // namespace freshet
