#include "tables/engine/cost.h"

#include <algorithm>

#include "tables/engine/keys.h"

namespace freshet {
namespace {

constexpr uint64_t kReadUnit = 4096;
constexpr uint64_t kWriteUnit = 1024;
constexpr uint64_t kGib = 1u << 30;

// An index's stored entries of an item before and after a write. Not decoded: items may be large and indexes many.
class Entries {
 public:
  Entries(const TableDefinition& table, const IndexDefinition& index, const ItemRef& before, const ItemRef& after)
      : before_(before), after_(after), held_(held_attributes(table, index)) {
    JoinedKey joined[2];
    const auto old_key = before ? index_key_of(before, index.keys, joined[0]) : std::nullopt;
    const auto new_key = after ? index_key_of(after, index.keys, joined[1]) : std::nullopt;
    was_ = old_key.has_value();
    is_ = new_key.has_value();
    same_key_ = was_ && is_ && *old_key == *new_key;
  }

  // An entry that keeps its key is written once; an entry with a new key is deleted and put.
  uint64_t units() const {
    const uint64_t old_units = was_ ? write_units_of(bytes(before_)) : 0;
    const uint64_t new_units = is_ ? write_units_of(bytes(after_)) : 0;
    if (!same_key_) return old_units + new_units;
    return is_same() ? 0 : std::max(old_units, new_units);
  }

 private:
  uint64_t bytes(const ItemRef& item) const { return held_.empty() ? billed_bytes(item) : billed_bytes(item, held_); }
  bool is_same() const {
    if (held_.empty()) return before_.same_bytes(after_);
    return std::all_of(held_.begin(), held_.end(), [this](const std::string& name) {
      const auto old_value = before_.find(name);
      const auto new_value = after_.find(name);
      return old_value && new_value ? old_value->encoded() == new_value->encoded() : !old_value && !new_value;
    });
  }

  const ItemRef& before_;
  const ItemRef& after_;
  const std::vector<std::string> held_;  // Empty means all attributes.
  bool was_ = false;
  bool is_ = false;
  bool same_key_ = false;
};

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
  cost->bytes = std::max(billed_bytes(before), billed_bytes(after));
  const auto copies = 1 + std::count_if(definition.indexes.begin(), definition.indexes.end(),
                                        [](const IndexDefinition& index) { return index.local; });
  for (const IndexDefinition& index : definition.indexes) {
    if (index.local && cost->collection.empty()) {
      const std::string& name = definition.keys.partition.name;
      if (const Value* value = key.find(name)) cost->collection.set(name, *value);
      cost->collection_most_gib = table.live_bytes() * static_cast<uint64_t>(copies) / kGib + 1;
    }
    const uint64_t units = Entries(definition, index, before, after).units();
    if (units != 0) cost->indexes.push_back({index.name, index.local, units});
  }
  return cost;
}

}  // namespace freshet
