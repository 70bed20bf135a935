#include "tests/sim/fleet/lagging_indexes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace freshet::fleet_sim {

namespace {

template <class T>
T at_once(Async<T> work) {
  FRESHET_CHECK(work.is_ready(), "an embedded store answers at once");
  return work.take();
}

size_t class_of(const std::string& table, const std::string& index) {
  uint64_t hash = 14695981039346656037ull;
  for (const char letter : table + "/" + index) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ull;
  return static_cast<size_t>(hash >> 32) % EngineFaults::kClasses;
}

// The table with the indexes of one class alone.
TableDefinition part_of(TableDefinition table, size_t index_class) {
  std::erase_if(table.indexes,
                [&](const IndexDefinition& index) { return class_of(table.name, index.name) != index_class; });
  table.stream.reset();
  table.ttl_attribute.reset();
  table.books.reset();
  return table;
}

void put(Tables& into, const std::string& table, const ItemRef& item) {
  PutItemInput input;
  input.table = table;
  input.item = item.decode();
  static_cast<void>(at_once(into.put_item(std::move(input))));
}

std::vector<ItemRef> all_of(Tables& store, const std::string& table) {
  std::vector<ItemRef> out;
  Item from;
  do {
    ScanInput scan;
    scan.table = table;
    scan.exclusive_start_key = std::move(from);
    auto page = at_once(store.scan(std::move(scan)));
    FRESHET_CHECK(page.has_value(), "the engine's own store can be read");
    out.insert(out.end(), page->items.begin(), page->items.end());
    from = std::move(page->last_evaluated_key);
  } while (!from.empty());
  return out;
}

}  // namespace

LaggingIndexes::LaggingIndexes(Tables& store, Loop& loop, EngineFaults& faults)
    : store_(store), loop_(loop), faults_(faults), random_(faults.seed()) {
  for (size_t i = 0; i < EngineFaults::kClasses; ++i) {
    EmbeddedOptions in_memory;
    in_memory.directory = ":memory:";
    auto opened = open_embedded(nullptr, loop, random_, std::move(in_memory));
    FRESHET_CHECK(opened.has_value(), "a store in memory opens");
    loop.add(**opened);
    copies_.push_back({std::move(*opened), {}});
  }
}

LaggingIndexes::~LaggingIndexes() {
  for (Copy& copy : copies_) loop_.remove(*copy.store);
}

void LaggingIndexes::begin_table(const std::string& table) {
  if (!known_.insert(table).second) return;
  const auto described = at_once(store_.describe_table(table));
  if (!described) {
    known_.erase(table);
    return;
  }
  const std::vector<ItemRef> items = all_of(store_, table);
  for (size_t i = 0; i < copies_.size(); ++i) {
    static_cast<void>(at_once(copies_[i].store->create_table(part_of(described->definition, i))));
    for (const ItemRef& item : items) put(*copies_[i].store, table, item);
  }
}

void LaggingIndexes::changed(const std::string& table) {
  const auto described = at_once(store_.describe_table(table));
  for (size_t i = 0; i < copies_.size() && known_.contains(table); ++i) {
    if (described) static_cast<void>(at_once(copies_[i].store->alter_table(part_of(described->definition, i))));
    if (!described) static_cast<void>(at_once(copies_[i].store->delete_table(table)));
  }
  if (!described) known_.erase(table);
  begin_table(table);
}

void LaggingIndexes::wrote(const std::string& table, const Item& key) {
  const bool is_new = !known_.contains(table);
  begin_table(table);
  if (is_new) return;  // The copies have it already.
  GetItemInput get;
  get.table = table;
  get.key = key;
  auto item = at_once(store_.get_item(std::move(get)));
  if (!item) return;
  for (size_t i = 0; i < copies_.size(); ++i) {
    Copy& copy = copies_[i];
    BootTime due = loop_.clock().boot() + faults_.draw_lag(i);
    if (!copy.changes.empty()) due = std::max(due, copy.changes.back().due);
    copy.changes.push_back({due, table, key, *item});
    follow(copy);
  }
}

void LaggingIndexes::follow(Copy& copy) {
  while (!copy.changes.empty() && copy.changes.front().due <= loop_.clock().boot()) {
    const Change& change = copy.changes.front();
    if (change.item) {
      put(*copy.store, change.table, change.item);
    } else {
      DeleteItemInput gone;
      gone.table = change.table;
      gone.key = change.key;
      static_cast<void>(at_once(copy.store->delete_item(std::move(gone))));
    }
    copy.changes.pop_front();
  }
}

Tables& LaggingIndexes::behind(const std::string& table, const std::string& index) {
  begin_table(table);
  Copy& copy = copies_[class_of(table, index)];
  follow(copy);
  if (!copy.changes.empty()) faults_.saw("engine an index lags");
  return *copy.store;
}

}  // namespace freshet::fleet_sim
