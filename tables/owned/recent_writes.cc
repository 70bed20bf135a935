#include "tables/owned/recent_writes.h"

#include <algorithm>
#include <utility>

#include <absl/container/flat_hash_set.h>

#include "base/check.h"

namespace freshet {

namespace {

constexpr size_t kEntryBytes = 400;  // The memory of an entry besides its item.
constexpr size_t kMostDoubts = 4;    // The most doubts that one query reports.
constexpr milliseconds kFullFor{20};
constexpr seconds kLessonPause{1};

std::string encoded(const Item& key) {
  std::string out;
  append_encoded(out, key);
  return out;
}

Item key_in(const ItemRef& item, const KeySchema& keys) {
  Item key;
  for (const KeyAttribute* attribute : keys.attributes()) {
    if (const auto value = item.find(attribute->name)) key.set(attribute->name, value->decode());
  }
  return key;
}

template <class T>
T at_once(Async<T> work) {
  FRESHET_CHECK(work.is_ready(), "the memory of recent writes answers at once");
  return work.take();
}

// The table in memory: keys and indexes.
TableDefinition in_memory(const TableDefinition& definition) {
  TableDefinition out;
  out.name = definition.name;
  out.keys = definition.keys;
  for (const auto& index : definition.indexes) {
    if (!index.local) out.indexes.push_back(index);
  }
  return out;
}

// The order of an index: by its sort key, and items with the same one by the table's key.
class IndexOrder {
 public:
  IndexOrder(const TableDefinition& table, const IndexDefinition& index, bool forward)
      : table_(table), index_(index), forward_(forward) {}

  // Less than 0 if `a` comes before `b` in a page. Both must have all keys.
  template <class A, class B>
  int compare(const A& a, const B& b) const {
    int order = 0;
    if (index_.keys.sort) order = compare(a, b, index_.keys.sort->name);
    if (order == 0) order = compare(a, b, table_.keys.partition.name);
    if (order == 0 && table_.keys.sort) order = compare(a, b, table_.keys.sort->name);
    return forward_ ? order : -order;
  }
  // The same by the sort key alone; 0 for an index without one.
  template <class A, class B>
  int by_sort(const A& a, const B& b) const {
    const int order = index_.keys.sort ? compare(a, b, index_.keys.sort->name) : 0;
    return forward_ ? order : -order;
  }
  // The start key for a page that continues behind the item.
  Item place_of(const ItemRef& item) const {
    Item place = key_in(item, table_.keys);
    for (const KeyAttribute* attribute : index_.keys.attributes()) {
      if (const auto value = item.find(attribute->name)) place.set(attribute->name, value->decode());
    }
    return place;
  }

 private:
  template <class A, class B>
  static int compare(const A& a, const B& b, const std::string& name) {
    const auto left = a.find(name);
    const auto right = b.find(name);
    return left && right ? left->key_bytes().compare(right->key_bytes()) : 0;
  }

  const TableDefinition& table_;
  const IndexDefinition& index_;
  const bool forward_;
};

}  // namespace

bool same_place(const KeySchema& index, const ItemRef& a, const ItemRef& b) {
  const auto attributes = index.attributes();
  return std::all_of(attributes.begin(), attributes.end(), [&](const KeyAttribute* one) {
    const auto left = a.find(one->name);
    const auto right = b.find(one->name);
    return left && right && left->key_bytes() == right->key_bytes();
  });
}

namespace {

bool is_correctable(const QueryInput& query, const IndexDefinition* index) {
  return index != nullptr && !index->local && query.projection.empty() && !query.count_only &&
         index->keys.more_partition.empty() && index->keys.more_sort.empty();
}

// Merges two pages that begin at the same place, up to where the first of them ends. Items with the same sort key stay
// together, because the engine may order them in its own way. So a page may be a little longer than `limit`.
Page merge(Page shown, Page remembered, const IndexOrder& order, uint32_t limit) {
  Item end = std::move(shown.last_evaluated_key);
  const bool is_cut = !remembered.last_evaluated_key.empty();
  const ItemRef cut = is_cut ? ItemRef::encode(remembered.last_evaluated_key) : ItemRef();
  if (is_cut && (end.empty() || order.by_sort(cut, ItemRef::encode(end)) < 0)) {
    std::erase_if(shown.items, [&](const ItemRef& item) { return order.by_sort(item, cut) > 0; });
    end = std::move(remembered.last_evaluated_key);
  } else if (!end.empty()) {
    const ItemRef last = ItemRef::encode(end);
    std::erase_if(remembered.items, [&](const ItemRef& item) { return order.compare(item, last) > 0; });
  }
  std::vector<ItemRef> items;
  items.reserve(shown.items.size() + remembered.items.size());
  std::merge(std::make_move_iterator(shown.items.begin()), std::make_move_iterator(shown.items.end()),
             std::make_move_iterator(remembered.items.begin()), std::make_move_iterator(remembered.items.end()),
             std::back_inserter(items), [&](const ItemRef& a, const ItemRef& b) { return order.compare(a, b) < 0; });
  size_t most = limit == 0 ? items.size() : std::min<size_t>(limit, items.size());
  while (most < items.size() && order.by_sort(items[most - 1], items[most]) == 0) ++most;
  if (most < items.size()) {
    items.resize(most);
    end = order.place_of(items.back());
  }
  Page out = std::move(shown);
  out.last_evaluated_key = std::move(end);
  out.items = std::move(items);
  out.count = out.items.size();
  out.scanned = std::max<uint64_t>(out.scanned, out.count);
  return out;
}

}  // namespace

RecentWrites::RecentWrites(Tables& memory, std::string version, RecentWritesLimits limits)
    : memory_(memory), version_(std::move(version)), limits_(limits) {}

void RecentWrites::know(const TableDefinition& definition, const std::string& id) {
  const auto there = tables_.find(definition.name);
  if (there != tables_.end() && there->second.id != id) forget_table(definition.name);
  const TableDefinition wanted = in_memory(definition);
  KnownTable& table = tables_[definition.name];
  const bool is_same = !table.definition.name.empty() && in_memory(table.definition) == wanted;
  table.definition = definition;
  table.id = id;
  if (is_same) return;
  static_cast<void>(at_once(memory_.delete_table(definition.name)));
  if (!at_once(memory_.create_table(wanted))) {
    forget_table(definition.name);
    return;
  }
  for (auto& [key, entry] : table.entries) {
    const bool is_shown = entry.now && *entry.now && !entry.unsure;
    if (is_shown && !show(table, key_in(*entry.now, definition.keys), *entry.now)) entry.unsure = Cause::kClient;
  }
}

std::string RecentWrites::id(const std::string& table) const {
  const auto there = tables_.find(table);
  return there == tables_.end() ? "" : there->second.id;
}

void RecentWrites::forget_items(const std::string& table) {
  const auto there = tables_.find(table);
  if (there == tables_.end()) return;
  while (!there->second.entries.empty()) {
    const std::string key = there->second.entries.begin()->first;
    forget(there->second, key);
  }
}

void RecentWrites::forget_table(const std::string& table) {
  forget_items(table);
  const auto there = tables_.find(table);
  if (there == tables_.end()) return;
  static_cast<void>(at_once(memory_.delete_table(table)));
  tables_.erase(there);
}

const TableDefinition* RecentWrites::definition(const std::string& table) const {
  const auto there = tables_.find(table);
  return there == tables_.end() ? nullptr : &there->second.definition;
}

RecentWrites::KnownTable* RecentWrites::table_of(const std::string& table) {
  const auto there = tables_.find(table);
  return there == tables_.end() ? nullptr : &there->second;
}

int64_t RecentWrites::version_of(const ItemRef& item) const {
  const auto value = item ? item.find(version_) : std::nullopt;
  if (!value || value->type() != Type::kNumber) return 0;
  bool fits = false;
  const int64_t version = value->number().to_int64(fits);
  return fits ? version : 0;
}

RecentWrites::Entry& RecentWrites::entry_of(KnownTable& table, const Item& key) {
  const auto [place, is_new] = table.entries.try_emplace(encoded(key));
  if (is_new) {
    place->second.age = ages_.insert(ages_.end(), Age{table.definition.name, place->first});
    bytes_ += kEntryBytes;
  }
  return place->second;
}

bool RecentWrites::wrote(const std::string& table, const Item& key, ItemRef now, uint64_t call, BootTime at) {
  KnownTable* known = table_of(table);
  if (known == nullptr) return true;
  Entry& entry = entry_of(*known, key);
  // A write that had no answer may have come before this one, or after it.
  if (entry.unsure && entry.came >= call) return false;
  if (entry.now && entry.written >= call) {
    // Another write was in flight together with this one.
    const bool are_there = *entry.now && now;
    const int64_t before = are_there ? version_of(*entry.now) : 0;
    const int64_t after = are_there ? version_of(now) : 0;
    if (before > after) return true;
    if (before == after && !(are_there && entry.now->same_bytes(now))) return false;
  }
  set(*known, entry, key, std::move(now), at);
  entry.written = last_call_;
  return true;
}

void RecentWrites::read(const std::string& table, const Item& key, ItemRef now, uint64_t call, BootTime at) {
  KnownTable* known = table_of(table);
  if (known == nullptr) return;
  const auto there = known->entries.find(encoded(key));
  if (there == known->entries.end() || there->second.came >= call) return;
  set(*known, there->second, key, std::move(now), at);
}

void RecentWrites::refused(const std::string& table, const Item& key, ItemRef now, uint64_t call, BootTime at) {
  KnownTable* known = table_of(table);
  if (known == nullptr) return;
  Entry& entry = entry_of(*known, key);
  if (entry.came < call) set(*known, entry, key, std::move(now), at);
}

void RecentWrites::unsure(const std::string& table, const Item& key, const std::optional<ItemRef>& before, Cause cause,
                          BootTime at) {
  KnownTable* known = table_of(table);
  if (known == nullptr) return;
  Entry& entry = entry_of(*known, key);
  if (!entry.now && before) {
    entry.now = before;
    entry.since = at;
    bytes_ += bytes_of(entry);
  }
  if (!entry.unsure) entry.unsure = cause;
  entry.came = last_call_;  // A read that began before may show it without that write.
  static_cast<void>(show(*known, key, ItemRef()));
  renew(entry, at);
}

void RecentWrites::set(KnownTable& table, Entry& entry, const Item& key, ItemRef now, BootTime at) {
  const bool is_same = entry.now && (*entry.now ? now && entry.now->same_bytes(now) : !now);
  if (!is_same) entry.since = at;
  bytes_ -= bytes_of(entry);
  entry.now = std::move(now);
  entry.unsure.reset();
  entry.came = last_call_;
  bytes_ += bytes_of(entry);
  if (!show(table, key, *entry.now)) entry.unsure = Cause::kClient;
  renew(entry, at);
}

void RecentWrites::renew(Entry& entry, BootTime at) {
  entry.at = at;
  entry.until = at + limits_.remembered;
  ages_.splice(ages_.end(), ages_, entry.age);
}

void RecentWrites::forget_old_lags(BootTime now) {
  const nanoseconds age = now - window_;
  if (age <= limits_.longest) return;
  lag_before_ = age <= 2 * limits_.longest ? lag_ : nanoseconds(0);
  lag_ = nanoseconds(0);
  window_ = now;
}

void RecentWrites::lagged(nanoseconds lag, BootTime now) {
  forget_old_lags(now);
  lag_ = std::max(lag_, lag);
}

// True if such a lag would change the shortest time for which writes are remembered.
bool RecentWrites::may_teach(nanoseconds lag, BootTime now) {
  forget_old_lags(now);
  const nanoseconds known = std::max<nanoseconds>(limits_.least, 2 * lag_);
  return now >= next_lesson_ && std::min<nanoseconds>(2 * lag, limits_.remembered) > known;
}

// An index that has lagged lately may do so again.
nanoseconds RecentWrites::least(BootTime now) {
  forget_old_lags(now);
  const nanoseconds lag = std::max(lag_, lag_before_);
  return std::min<nanoseconds>(std::max<nanoseconds>(limits_.least, 2 * lag), limits_.remembered);
}

size_t RecentWrites::room_of(size_t item_bytes) {
  return kEntryBytes + 2 * item_bytes;
}

bool RecentWrites::make_room(BootTime now, size_t bytes) {
  const auto is_full = [&] { return bytes_ + taken_ + bytes >= limits_.bytes; };
  if (!is_full()) return true;
  if (now < full_until_) return false;   // Many may wait for room: one of them looks.
  constexpr size_t kMostPassed = 5'000;  // The writes that cannot go yet; the next look goes on behind them.
  const nanoseconds least_age = least(now);
  for (size_t left = std::min(ages_.size(), kMostPassed); left > 0 && !ages_.empty() && is_full();) {
    const Age first = ages_.front();
    KnownTable& table = *table_of(first.table);
    Entry& entry = table.entries.find(first.key)->second;
    if (entry.at + least_age > now) break;
    const bool is_behind = entry.until > entry.at + limits_.remembered && entry.until > now;
    if (is_behind || entry.unsure) {
      ages_.splice(ages_.end(), ages_, entry.age);
      --left;
    } else {
      forget(table, first.key);
    }
  }
  if (is_full()) full_until_ = now + kFullFor;
  return !is_full();
}

// Shows the item in `memory_`. Returns false if `memory_` refuses it.
bool RecentWrites::show(KnownTable& table, const Item& key, const ItemRef& now) {
  if (now) {
    PutItemInput put;
    put.table = table.definition.name;
    put.item = now.decode();
    if (at_once(memory_.put_item(std::move(put)))) return true;
  }
  DeleteItemInput gone;
  gone.table = table.definition.name;
  gone.key = key;
  static_cast<void>(at_once(memory_.delete_item(std::move(gone))));
  return !now;
}

void RecentWrites::forget(KnownTable& table, const std::string& key) {
  const auto there = table.entries.find(key);
  Entry& entry = there->second;
  bytes_ -= kEntryBytes + bytes_of(entry);
  if (entry.now && *entry.now) {
    static_cast<void>(show(table, key_in(*entry.now, table.definition.keys), ItemRef()));
  }
  ages_.erase(entry.age);
  table.entries.erase(there);
}

const RecentWrites::Entry* RecentWrites::entry_at(const std::string& table, const Item& key) const {
  const auto known = tables_.find(table);
  if (known == tables_.end()) return nullptr;
  const auto there = known->second.entries.find(encoded(key));
  return there == known->second.entries.end() ? nullptr : &there->second;
}

std::optional<ItemRef> RecentWrites::find(const std::string& table, const Item& key) const {
  const Entry* entry = entry_at(table, key);
  return entry == nullptr ? std::nullopt : entry->now;
}

bool RecentWrites::is_beyond(const std::string& table, const Item& key, const ItemRef& seen, uint64_t call) const {
  const Entry* entry = entry_at(table, key);
  const bool is_sure = entry != nullptr && entry->now && *entry->now && !entry->unsure && entry->written >= call;
  return is_sure && version_of(*entry->now) > version_of(seen);
}

std::optional<Cause> RecentWrites::cause_of_unsure(const std::string& table, const Item& key) const {
  const Entry* entry = entry_at(table, key);
  return entry == nullptr ? std::nullopt : entry->unsure;
}

void RecentWrites::keep_longer(Entry& entry, BootTime now) {
  entry.until =
      std::min<BootTime>(std::max<BootTime>(entry.until, now + limits_.remembered), entry.at + limits_.longest);
}

// The index shows another state of the item. The item is read before it is remembered for longer than after a write,
// because a client may have changed it.
void RecentWrites::lags(const QueryInput& query, const KnownTable& table, const ItemRef& item, Entry& entry,
                        BootTime now) {
  keep_longer(entry, now);
  if (now <= entry.since) return;  // The page was asked for before the write.
  const nanoseconds lag = now - entry.since;
  const bool is_old = now - entry.at >= limits_.remembered / 2 || lag > limits_.far_behind;
  if (now < entry.next_doubt || doubts_.size() >= kMostDoubts) return;
  if (!is_old && !may_teach(lag, now)) return;
  if (!is_old) next_lesson_ = now + kLessonPause;
  entry.next_doubt = now + limits_.remembered / 2;
  if (lag <= limits_.far_behind) {
    entry.next_doubt = std::min<BootTime>(entry.next_doubt, entry.since + limits_.far_behind);
  }
  doubts_.push_back({query.table, query.index, key_in(item, table.definition.keys), lag});
}

bool RecentWrites::can_correct(const QueryInput& query) const {
  const TableDefinition* table = definition(query.table);
  return table != nullptr && is_correctable(query, table->index(query.index));
}

Page RecentWrites::corrected(const QueryInput& query, Page page, BootTime now, size_t& masked) {
  KnownTable* table = table_of(query.table);
  const IndexDefinition* index = table == nullptr ? nullptr : table->definition.index(query.index);
  if (!is_correctable(query, index)) return page;
  if (table->entries.empty() && (query.limit == 0 || page.items.size() <= query.limit)) return page;
  QueryInput again = query;
  again.limit = 0;
  auto remembered = at_once(memory_.query(std::move(again)));
  if (!remembered) return page;
  absl::flat_hash_set<std::string> shown;
  std::erase_if(page.items, [&](const ItemRef& item) {
    std::string key = encoded(key_in(item, table->definition.keys));
    const auto entry = table->entries.find(key);
    if (entry == table->entries.end() || entry->second.unsure) return false;
    const ItemRef& its = *entry->second.now;
    // If the index holds only a part of each item, only their places in it can be compared.
    const bool differs =
        !its || (index->projection == Projection::kAll ? !its.same_bytes(item) : !same_place(index->keys, its, item));
    if (differs) lags(query, *table, item, entry->second, now);
    shown.insert(std::move(key));
    return true;
  });
  masked += shown.size();
  const IndexOrder order(table->definition, *index, query.forward);
  Page out = merge(std::move(page), std::move(*remembered), order, query.limit);
  for (const ItemRef& item : out.items) {
    const std::string key = encoded(key_in(item, table->definition.keys));
    const auto entry = table->entries.find(key);
    const bool is_mine = entry != table->entries.end() && !entry->second.unsure;
    if (is_mine && !shown.contains(key)) lags(query, *table, item, entry->second, now);
  }
  return out;
}

void RecentWrites::expire(BootTime now) {
  constexpr size_t kAtOnce = 64;  // Items that an index lags behind with go to the end.
  for (size_t i = 0; i < kAtOnce && !ages_.empty(); ++i) {
    const Age first = ages_.front();
    KnownTable& table = *table_of(first.table);
    Entry& entry = table.entries.find(first.key)->second;
    if (entry.at + limits_.remembered > now) return;
    if (entry.until > now) {
      ages_.splice(ages_.end(), ages_, entry.age);
    } else {
      forget(table, first.key);
    }
  }
}

}  // namespace freshet
