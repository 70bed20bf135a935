#include "tables/engine/cost.h"

#include <algorithm>

#include "tables/engine/keys.h"

namespace freshet {
namespace {

constexpr uint64_t kReadUnit = 4096;
constexpr uint64_t kWriteUnit = 1024;
constexpr uint64_t kGib = 1u << 30;

uint64_t units(const Item& entry) {
  return write_units_of(billed_size(entry));
}

// What an index holds of an item that has its key.
Item projected(const Item& item, const TableDefinition& table, const IndexDefinition& index) {
  if (index.projection == Projection::kAll) return item;
  Item out;
  const auto take = [&](const std::string& name) {
    if (const Value* value = item.find(name)) out.set(name, *value);
  };
  for (const KeySchema* keys : {&table.keys, &index.keys}) {
    for (const auto* key : keys->attributes()) take(key->name);
  }
  for (const auto& name : index.included) take(name);
  return out;
}

std::optional<Item> entry_of(const ItemRef& ref, const Item& item, const TableDefinition& table,
                             const IndexDefinition& index) {
  JoinedKey joined;
  if (!ref || !index_key_of(ref, index.keys, joined)) return std::nullopt;
  return projected(item, table, index);
}

// An entry that keeps its key is written once, one that gets another is deleted and put.
uint64_t index_units(const std::optional<Item>& before, const std::optional<Item>& after, bool same_key) {
  if (before && after && same_key) return *before == *after ? 0 : std::max(units(*before), units(*after));
  return (before ? units(*before) : 0) + (after ? units(*after) : 0);
}

}  // namespace

uint64_t read_units_of(uint64_t bytes) {
  return std::max<uint64_t>(1, (bytes + kReadUnit - 1) / kReadUnit);
}

uint64_t write_units_of(uint64_t bytes) {
  return std::max<uint64_t>(1, (bytes + kWriteUnit - 1) / kWriteUnit);
}

std::shared_ptr<const WriteCost> cost_of_write(const Table& table, const Item& key, const ItemRef& before,
                                               const ItemRef& after) {
  auto cost = std::make_shared<WriteCost>();
  const TableDefinition& definition = table.definition();
  const Item old = before ? before.decode() : Item{};
  const Item now = after ? after.decode() : Item{};
  cost->bytes = std::max(billed_size(old), billed_size(now));
  const auto copies = 1 + std::count_if(definition.indexes.begin(), definition.indexes.end(),
                                        [](const IndexDefinition& index) { return index.local; });
  for (const IndexDefinition& index : definition.indexes) {
    if (index.local && cost->collection.empty()) {
      const std::string& name = definition.keys.partition.name;
      if (const Value* value = key.find(name)) cost->collection.set(name, *value);
      cost->collection_most_gib = table.live_bytes() * static_cast<uint64_t>(copies) / kGib + 1;
    }
    const auto was = entry_of(before, old, definition, index);
    const auto is = entry_of(after, now, definition, index);
    JoinedKey joined[2];
    const bool same_key =
        was && is && index_key_of(before, index.keys, joined[0]) == index_key_of(after, index.keys, joined[1]);
    if (const uint64_t n = index_units(was, is, same_key)) cost->indexes.push_back({index.name, index.local, n});
  }
  return cost;
}

}  // namespace freshet
