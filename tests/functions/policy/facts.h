// Times and tasks that the tests of the policies share.
#pragma once

#include <initializer_list>

#include "base/clock.h"
#include "functions/queue/attributes.h"
#include "tables/value/item_ref.h"

namespace freshet {

constexpr milliseconds operator""_ms(unsigned long long n) {
  return milliseconds(n);
}

constexpr nanoseconds kServiceUnknown{0};

inline BootTime boot_at(int64_t ms) {
  return BootTime(milliseconds(ms));
}

inline WallTime wall(int64_t ms) {
  return WallTime(milliseconds(ms));
}

// A task in work.
inline ItemRef task(std::initializer_list<Map::Entry> more) {
  Item item(more);
  item.set(attribute::kId, Value("t"));
  item.set(attribute::kStatus, Value(state::kTaken));
  return ItemRef::encode(item);
}

}  // namespace freshet
