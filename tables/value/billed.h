// The size of items as the service counts it (Developer Guide, "DynamoDB item sizes and formats"), computed from their
// encoding: no value is decoded. billed_size() of value.h does the same for decoded ones. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tables/value/item_ref.h"

namespace freshet {

// For a map or a list, and for each of its elements, beside their content.
inline constexpr size_t kContainerOverhead = 3;
inline constexpr size_t kElementOverhead = 1;

// The size of a whole encoded item, and of one encoded value. Both must be valid.
size_t billed_size_of_encoded(std::string_view item);
size_t billed_size_of_value(std::string_view value);
// 0 for a null ref.
inline uint64_t billed_bytes(const ItemRef& item) {
  return item ? billed_size_of_encoded(item.encoded()) : 0;
}
// The size of those of these attributes that the item has. Name each attribute once.
inline uint64_t billed_bytes(const ItemRef& item, const std::vector<std::string>& names) {
  uint64_t sum = 0;
  for (const auto& name : names) {
    if (const auto value = item.find(name)) sum += name.size() + billed_size_of_value(value->encoded());
  }
  return sum;
}

// The service counts at most this many bytes per byte of an encoding: two for a NULL in a list, which is one byte.
inline constexpr size_t kMostBilledPerByte = 2;
// True if an item, or items whose encodings have that many bytes in total, may be larger than `limit`. If false, you
// need not count.
inline bool may_exceed(uint64_t encoded_bytes, uint64_t limit) {
  return encoded_bytes * kMostBilledPerByte > limit;
}

}  // namespace freshet
