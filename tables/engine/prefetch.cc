#include "tables/engine/prefetch.h"

#include <absl/container/inlined_vector.h>

#include "tables/engine/keys.h"
#include "tables/engine/plan.h"

namespace freshet {
namespace {

constexpr size_t kUsualBatch = 64;

const std::string& table_of(const EditItemInput& input) {
  return input.table;
}
const std::string& table_of(const WriteInput& input) {
  return std::visit([](const auto& write) -> const std::string& { return write.table; }, input);
}

// Calls `each` with the bytes of the partition key.
template <class Each>
void visit_partition_key(const ItemRef& item, const KeySchema& keys, const Each& each) {
  const auto key = item.find(keys.partition.name);
  if (key && key->type() == keys.partition.type) each(key->key_bytes());
}
template <class Each>
void visit_partition_key(const EditItemInput& input, const KeySchema& keys, const Each& each) {
  visit_partition_key(input.seen, keys, each);
}
template <class Each>
void visit_partition_key(const WriteInput& input, const KeySchema& keys, const Each& each) {
  const Item& item = std::visit([](const auto& write) -> const Item& { return input_key(write); }, input);
  const Value* key = item.find(keys.partition.name);
  if (key && key->is(keys.partition.type)) each(KeyBytes(*key).view());
}

using Hashes = absl::InlinedVector<uint64_t, kUsualBatch>;

template <class Input>
void prefetch_each(const Catalog& catalog, const std::vector<Input>& inputs) {
  const auto table = catalog.find(table_of(inputs.front()));
  if (!table) return;
  const OrderedItems& items = (*table)->items();
  Hashes hashes;
  for (const Input& input : inputs) {
    if (&input != &inputs.front() && table_of(input) != table_of(inputs.front())) continue;
    visit_partition_key(input, items.keys(), [&](std::string_view key) { hashes.push_back(items.hash(key)); });
  }
  items.prefetch(hashes);
}

}  // namespace

void prefetch(const Catalog& catalog, const std::vector<EditItemInput>& inputs) {
  prefetch_each(catalog, inputs);
}

void prefetch(const Catalog& catalog, const std::vector<WriteInput>& inputs) {
  prefetch_each(catalog, inputs);
}

void prefetch(const Catalog& catalog, const std::string& table, const std::vector<ItemRef>& items) {
  const auto found = catalog.find(table);
  if (!found) return;
  const OrderedItems& all = (*found)->items();
  Hashes hashes;
  for (const ItemRef& item : items) {
    visit_partition_key(item, all.keys(), [&](std::string_view key) { hashes.push_back(all.hash(key)); });
  }
  all.prefetch(hashes);
}

}  // namespace freshet
