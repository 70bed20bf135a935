// The size of items as the service counts it (Developer Guide, "DynamoDB item sizes and formats"), read from their
// encoding: no value is decoded. billed_size() of value.h says the same of decoded ones. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tables/value/item_ref.h"

namespace freshet {

// Of a map or a list, and of each of its elements, beside what they hold.
inline constexpr size_t kContainerOverhead = 3;
inline constexpr size_t kElementOverhead = 1;

// Of a whole encoded item, which is known to be sound. 0 for a null ref.
size_t billed_size_of_encoded(std::string_view item);
inline uint64_t billed_bytes(const ItemRef& item) {
  return item ? billed_size_of_encoded(item.encoded()) : 0;
}

// The service counts at most so many bytes for each one of an encoding: two for a NULL in a list, which is one byte.
inline constexpr size_t kMostBilledPerByte = 2;
// Whether an item, or items whose encodings have that many bytes together, may be larger than `limit`. If not, there is
// no need to count.
inline bool may_exceed(uint64_t encoded_bytes, uint64_t limit) {
  return encoded_bytes * kMostBilledPerByte > limit;
}

}  // namespace freshet
