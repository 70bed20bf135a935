#include "tables/engine/table.h"

#include <algorithm>
#include <future>

#include "base/allocation.h"
#include "base/check.h"

namespace freshet {
namespace {
constexpr size_t kItemsFetchedAhead = 16;  // Items in the table's order are spread over memory: each is a cache miss.
constexpr size_t kLoadedTogether = 1u << 16;
constexpr size_t kFilledBeside = 100'000;
constexpr size_t kBlock = 64;              // A node of a map, or a small block: approximate.
constexpr size_t kDequeMemory = 64 + 512;  // Memory of an empty std::deque.

std::unique_ptr<TtlOrder> make_ttl(const TableDefinition& d) {
  return std::make_unique<TtlOrder>(d.ttl_in_milliseconds, d.books ? d.books->held_status : std::string());
}

// The attributes that an index holds, none twice; empty for all.
std::vector<std::string> held_names(const TableDefinition& table, const IndexDefinition& index) {
  std::vector<std::string> names;
  if (index.projection == Projection::kAll) return names;
  for (const auto* key : table.keys.attributes()) names.push_back(key->name);
  for (const auto* key : index.keys.attributes()) names.push_back(key->name);
  names.insert(names.end(), index.included.begin(), index.included.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// The memory that a text's block needs beside the text.
size_t memory_of(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : allocated_bytes(text.capacity() + 1);
}

size_t memory_of(const KeySchema& keys) {
  size_t bytes = 0;
  for (const auto* key : keys.attributes()) bytes += sizeof(KeyAttribute) + memory_of(key->name);
  return bytes;
}

// Memory of an index with its definition and without entries. Its names are in the table's definition, in the index and
// in the list of attributes that it takes from items.
size_t memory_of(const IndexDefinition& index) {
  size_t names = memory_of(index.name) + 2 * memory_of(index.keys);
  for (const auto& name : index.included) names += sizeof(std::string) + memory_of(name);
  return sizeof(SecondaryIndex) + sizeof(IndexDefinition) + 2 * kBlock + 3 * names;
}

// Memory of a table without items: the objects, the first blocks of its stream's two deques, its nodes in the catalog.
size_t memory_of_empty(const TableDefinition& d) {
  size_t bytes = sizeof(Table) + sizeof(ChangeStream) + 2 * kDequeMemory + 4 * kBlock;
  bytes += 3 * memory_of(d.name) + 4 * memory_of(d.keys);
  for (const auto& index : d.indexes) bytes += memory_of(index);
  if (d.ttl_attribute) bytes += sizeof(TtlOrder) + 2 * (sizeof(std::string) + memory_of(*d.ttl_attribute));
  if (d.books) bytes += sizeof(BooksKeeper) + kBlock;
  const auto& settings = d.settings;
  for (const auto& [name, value] : settings.tags) bytes += 2 * kBlock + memory_of(name) + memory_of(value);
  for (const auto& [name, throughput] : settings.index_throughput) bytes += 2 * kBlock + memory_of(name);
  return bytes;
}

const IndexDefinition* find_same(const std::vector<IndexDefinition>& indexes, const IndexDefinition& wanted) {
  const auto it = std::find(indexes.begin(), indexes.end(), wanted);
  return it == indexes.end() ? nullptr : &*it;
}
}  // namespace

uint64_t SecondaryIndex::bytes_of(const ItemRef& item, const Picked& picked) const {
  if (held.empty()) return item.encoded().size();
  uint64_t sum = 0;
  for (const size_t slot : held) sum += picked.size_of(slot);
  return sum;
}

void SecondaryIndex::change(const ItemRef& before, const Picked& old, const ItemRef& after, const Picked& now) {
  if (!slots.may_be_in(old) && !slots.may_be_in(now)) return;
  JoinedKey joined[2];
  const auto old_key = slots.key(old, joined[0]);
  const auto new_key = slots.key(now, joined[1]);
  if (old_key) bytes -= bytes_of(before, old);
  if (new_key) bytes += bytes_of(after, now);
  items.change(before, old_key, after, new_key);
}

Table::Table(uint32_t number, TableDescription description, uint64_t hash_seed, StreamMemory& stream_memory)
    : number_(number),
      hash_seed_(hash_seed),
      description_(std::move(description)),
      items_(description_.definition.keys, OrderedItems::Kind::kMain, hash_seed),
      stream_memory_(stream_memory),
      stream_(std::make_unique<ChangeStream>(number, description_.definition.keys, stream_memory)) {
  make_observers();
}

void Table::make_observers() {
  const TableDefinition& d = definition();
  for (const auto& index : d.indexes) indexes_.push_back(std::make_unique<SecondaryIndex>(index, d, hash_seed_));
  if (d.ttl_attribute) ttl_ = make_ttl(d);
  if (d.books) books_ = std::make_unique<BooksKeeper>(*d.books);
  make_slots();
}

void Table::make_slots() {
  const TableDefinition& d = definition();
  std::vector<std::string> names;
  for (const auto& index : d.indexes) {
    for (const auto* key : index.keys.attributes()) names.push_back(key->name);
    for (auto& name : held_names(d, index)) names.push_back(std::move(name));
  }
  if (d.ttl_attribute) names.push_back(*d.ttl_attribute);
  if (d.books) names.push_back(d.books->status_attribute);
  names_ = PickNames(std::move(names));
  for (const auto& index : indexes_) {
    index->slots = KeySlots(names_, index->definition.keys);
    index->held.clear();
    for (const auto& name : held_names(d, index->definition)) index->held.push_back(names_.slot(name));
  }
  if (d.ttl_attribute) ttl_slot_ = names_.slot(*d.ttl_attribute);
  if (d.books) status_slot_ = names_.slot(d.books->status_attribute);
  own_memory_ = memory_of_empty(d);
}

std::string_view Table::status(const ItemRef& item, const Picked& picked) const {
  return item && books_ ? status_of(picked[status_slot_]) : std::string_view{};
}

Table::Observed Table::observed(const ItemRef& item, const Picked& picked) const {
  if (!item) return {};
  const std::string_view now = status(item, picked);
  return {{ttl_ ? picked[ttl_slot_] : std::nullopt, now}, {now, item.encoded().size()}};
}

TableDescription Table::describe() const {
  TableDescription description = stored();
  if (!definition().stream) description.stream_label.clear();
  return description;
}

TableDescription Table::stored() const {
  TableDescription description = description_;
  description.items = items_.size();
  description.bytes = bytes_;
  for (const auto& index : indexes_) {
    description.indexes.push_back(
        {index->definition.name, index->backfill.has_value(), index->items.size(), index->bytes});
  }
  return description;
}

uint64_t Table::memory() const {
  uint64_t bytes = own_memory_ + item_memory_ + items_.memory();
  if (ttl_) bytes += ttl_->memory();
  if (books_) bytes += books_->memory();
  for (const auto& index : indexes_) bytes += index->items.memory();
  for (const auto& index : old_indexes_) bytes += index->items.memory();
  for (const auto& ttl : old_ttls_) bytes += ttl->memory();
  return bytes;
}

uint64_t Table::memory_to_become(const TableDefinition& next) const {
  const TableDefinition& now = definition();
  uint64_t entries = 0;
  for (const auto& index : next.indexes) entries += find_same(now.indexes, index) ? 0 : items_.size();
  if (next.ttl_attribute && next.ttl_attribute != now.ttl_attribute) entries += items_.size();
  const uint64_t own = memory_of_empty(next);
  return entries * kEntryMemory + (own > own_memory_ ? own - own_memory_ : 0);
}

uint64_t Table::take_growth() {
  const uint64_t now = memory();
  return now - std::exchange(reported_memory_, now);
}

const SecondaryIndex* Table::index(std::string_view name) const {
  for (const auto& index : indexes_) {
    if (index->definition.name == name) return index->backfill ? nullptr : index.get();
  }
  return nullptr;
}

void Table::count(const ItemRef& before, const ItemRef& after) {
  if (before) {
    bytes_ -= before.encoded().size();
    item_memory_ -= before.memory();
  }
  if (after) {
    bytes_ += after.encoded().size();
    item_memory_ += after.memory();
  }
}

void Table::load(const ItemRef& item, bool gone) {
  loads_.push_back(items_.load(item, gone));
  if (loads_.size() >= kLoadedTogether) apply_loads();
}

void Table::apply_loads() {
  finish_loads();
  std::swap(loads_, applied_loads_);
  const auto how =
      applied_loads_.size() >= kLoadedTogether ? std::launch::async | std::launch::deferred : std::launch::deferred;
  applying_ = std::async(how, [this] {
    items_.apply(applied_loads_, [this](const ItemRef& before, const ItemRef& after) { count(before, after); });
  });
}

void Table::finish_loads() {
  if (applying_.valid()) applying_.get();
}

void Table::reload(TableDescription description) {
  const bool same_books = description.definition.books == definition().books;
  auto books = std::move(books_);
  description_ = std::move(description);
  indexes_.clear();
  ttl_.reset();
  make_observers();
  if (same_books && books) books_ = std::move(books);  // Its flows are in the log already.
}

Table::Statuses Table::apply(const Change& change) {
  count(change.before, change.after);
  if (snapshot_) snapshot_->change(change.before, change.after);
  items_.change(change.place, change.before, change.after);
  const Picked before(names_, change.before);
  const Picked after(names_, change.after);
  const ItemRef& any = change.after ? change.after : change.before;
  for (const auto& index : indexes_) {
    if (!covers(index->backfill, any)) continue;
    index->change(change.before, before, change.after, after);
  }
  if (!ttl_ && !books_) return {};
  const Observed old = observed(change.before, before);
  const Observed now = observed(change.after, after);
  if (ttl_ && covers(ttl_backfill_, any)) ttl_->change(change.before, old.seen, change.after, now.seen);
  if (books_ && covers(books_backfill_, any)) books_->change(old.counted, now.counted, change.cause);
  return {old.counted.status, now.counted.status};
}

void Table::build_observers(absl::FunctionRef<void(const ItemRef&)> each) {
  apply_loads();
  finish_loads();
  loads_ = {};
  applied_loads_ = {};
  std::vector<std::vector<OrderedItems::Entry>> entries(indexes_.size());
  std::vector<TtlOrder::Entry> expiries;
  auto ahead = items_.begin();
  for (size_t i = 0; i < kItemsFetchedAhead && ahead != items_.end(); ++i) ++ahead;
  for (const auto& entry : items_) {
    if (ahead != items_.end()) (ahead++)->item.prefetch();
    each(entry.item);
    const Picked picked(names_, entry.item);
    for (size_t i = 0; i < indexes_.size(); ++i) {
      SecondaryIndex& index = *indexes_[i];
      JoinedKey joined;
      const auto key = index.slots.key(picked, joined);
      if (!key) continue;
      entries[i].push_back(index.items.indexed(*key, entry.item));
      index.bytes += index.bytes_of(entry.item, picked);
    }
    const Observed now = observed(entry.item, picked);
    if (ttl_) ttl_->add_to(expiries, entry.item, now.seen);
    if (books_) books_->count(now.counted);
  }
  // Each is sorted and built on a thread of its own: together they take as long as the longest.
  std::vector<std::future<void>> fills;
  const auto fill = [&fills](auto& order, auto& sorted) {
    const auto how =
        sorted.size() >= kFilledBeside ? std::launch::async | std::launch::deferred : std::launch::deferred;
    fills.push_back(std::async(how, [&order, &sorted] { order.fill(std::move(sorted)); }));
  };
  for (size_t i = 0; i < indexes_.size(); ++i) fill(indexes_[i]->items, entries[i]);
  if (ttl_) fill(*ttl_, expiries);
  for (auto& one : fills) one.get();
}

void Table::alter(TableDefinition next, std::string stream_label) {
  const TableDefinition old = std::exchange(description_.definition, std::move(next));
  const TableDefinition& d = definition();
  std::vector<std::unique_ptr<SecondaryIndex>> kept;
  for (const auto& wanted : d.indexes) {
    // An index whose ties need another order is built again.
    const bool same = SecondaryIndex::ties_of(old) == SecondaryIndex::ties_of(d) && find_same(old.indexes, wanted);
    const auto it = std::find_if(indexes_.begin(), indexes_.end(),
                                 [&](const auto& have) { return have && have->definition.name == wanted.name; });
    if (same && it != indexes_.end()) {
      kept.push_back(std::move(*it));
      continue;
    }
    kept.push_back(std::make_unique<SecondaryIndex>(wanted, d, hash_seed_));
    kept.back()->backfill.emplace();
  }
  for (auto& index : indexes_) {
    if (index) old_indexes_.push_back(std::move(index));
  }
  indexes_ = std::move(kept);

  if (d.ttl_attribute != old.ttl_attribute || d.ttl_in_milliseconds != old.ttl_in_milliseconds ||
      d.books != old.books) {
    if (ttl_) old_ttls_.push_back(std::move(ttl_));
    ttl_backfill_.reset();
    if (d.ttl_attribute) {
      ttl_ = make_ttl(d);
      ttl_backfill_.emplace();
    }
  }
  if (d.books != old.books) {
    books_.reset();
    books_backfill_.reset();
    if (d.books) {
      books_ = std::make_unique<BooksKeeper>(*d.books);
      books_backfill_.emplace();
    }
  }
  // A table keeps its last label while its stream is off, so that the next label is higher.
  if (d.stream && d.stream != old.stream) description_.stream_label = std::move(stream_label);
  make_slots();
}

std::unique_ptr<ChangeStream> Table::detach_stream() {
  auto next = std::make_unique<ChangeStream>(number_, definition().keys, stream_memory_);
  next->restore(stream_->next(), stream_->next());
  std::swap(stream_, next);
  next->wake();  // Waiting readers look at the new stream.
  return next;
}

bool Table::covers(const std::optional<Backfill>& backfill, const ItemRef& item) const {
  return !backfill || (backfill->last && !items_.precedes(backfill->last, item));
}

template <class Visit>
size_t Table::walk(std::optional<Backfill>& backfill, size_t limit, Visit&& visit) {
  auto it = backfill->last ? items_.after(backfill->last) : items_.begin();
  size_t visited = 0;
  for (; it != items_.end() && visited < limit; ++it, ++visited) {
    visit(it->item);
    backfill->last = it->item;
  }
  if (it == items_.end()) backfill.reset();
  return visited;
}

size_t Table::catch_up(size_t limit) {
  size_t visited = drop_old(limit);
  for (const auto& index : indexes_) {
    if (!index->backfill || visited >= limit) continue;
    visited += walk(index->backfill, limit - visited,
                    [&](const ItemRef& item) { index->change({}, Picked(names_, {}), item, Picked(names_, item)); });
  }
  if (ttl_backfill_ && visited < limit) {
    visited += walk(ttl_backfill_, limit - visited, [&](const ItemRef& item) {
      ttl_->change({}, {}, item, observed(item, Picked(names_, item)).seen);
    });
  }
  if (books_backfill_ && visited < limit) {
    visited += walk(books_backfill_, limit - visited, [&](const ItemRef& item) {
      books_->change({}, observed(item, Picked(names_, item)).counted, Cause::kClient);
    });
  }
  return visited;
}

bool Table::is_behind() const {
  return ttl_backfill_ || books_backfill_ || !old_indexes_.empty() || !old_ttls_.empty() ||
         std::any_of(indexes_.begin(), indexes_.end(), [](const auto& i) { return i->backfill; });
}

size_t Table::drop_old(size_t limit) {
  size_t dropped = 0;
  for (const auto& index : old_indexes_) dropped += index->items.drop(limit - dropped);
  for (const auto& ttl : old_ttls_) dropped += ttl->drop(limit - dropped);
  std::erase_if(old_indexes_, [](const auto& index) { return index->items.size() == 0; });
  std::erase_if(old_ttls_, [](const auto& ttl) { return ttl->size() == 0; });
  return dropped;
}

size_t Table::drop(size_t limit) {
  finish_loads();  // Finishes the loads of a table that replay saw dropped.
  size_t dropped = drop_old(limit);
  if (ttl_) dropped += ttl_->drop(limit - dropped);
  for (const auto& index : indexes_) dropped += index->items.drop(limit - dropped);
  return dropped + items_.drop(limit - dropped);
}

bool Table::stream_wants_before(Cause cause) const {
  // The owner of a queue's books needs the items that expired.
  if (cause == Cause::kTimeToLive && definition().books) return true;
  return keep_images_ || (definition().stream && needs_before(*definition().stream));
}

}  // namespace freshet
