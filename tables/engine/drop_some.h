// Frees the memory of a large ordered set in steps.
#pragma once

#include <cstddef>
#include <iterator>

namespace freshet {

// Erases up to `limit` elements, the last first; returns their number.
template <class Set>
size_t drop_some(Set& set, size_t limit) {
  size_t dropped = 0;
  for (; dropped < limit && !set.empty(); ++dropped) set.erase(std::prev(set.end()));
  return dropped;
}

}  // namespace freshet
