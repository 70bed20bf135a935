#include "tables/engine/page_places.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace freshet {
namespace {

uint64_t id_of(uint32_t table, const KeyView& key) {
  const uint64_t partition = XXH3_64bits_withSeed(key.partition.data(), key.partition.size(), table);
  return key.sort.empty() ? partition : XXH3_64bits_withSeed(key.sort.data(), key.sort.size(), partition);
}

}  // namespace

void PagePlaces::note(uint32_t table, const KeyView& key, uint64_t creation) {
  if (places_.empty()) places_.resize(kPlaces);
  const uint64_t id = id_of(table, key);
  places_[id % kPlaces] = {id, creation};
}

std::optional<uint64_t> PagePlaces::find(uint32_t table, const KeyView& key) const {
  if (places_.empty()) return std::nullopt;
  const uint64_t id = id_of(table, key);
  const Entry& place = places_[id % kPlaces];
  if (place.id != id || place.creation == 0) return std::nullopt;
  return place.creation;
}

}  // namespace freshet
