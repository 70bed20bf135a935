// One table: its definition, the main structure that owns the items, and the observers of every write but the log.
// Loop thread only.
#pragma once

#include <absl/container/inlined_vector.h>
#include <absl/functional/function_ref.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tables/engine/books_keeper.h"
#include "tables/engine/change_stream.h"
#include "tables/engine/ordered_items.h"
#include "tables/engine/picked.h"
#include "tables/engine/snapshot.h"
#include "tables/engine/ttl_order.h"

namespace freshet {

class Table;

inline constexpr size_t kRecordOverhead = 24;  // Of an item in the log beside its own bytes, about.
inline constexpr size_t kEntryMemory = 50;     // Approximate size of an entry that an order does not have yet.
inline size_t log_size(const ItemRef& item) {
  return item ? item.encoded().size() + kRecordOverhead : 0;
}

// One write, planned and checked: what the commit pipeline applies. Null refs for absent; not both.
struct Change {
  Table* table = nullptr;
  ItemRef before;
  ItemRef after;
  Cause cause = Cause::kClient;
  OrderedItems::Place place{};  // Of its key in the main structure, where the planner has found it.
};
// A write's changes, applied all or none.
using Mutation = absl::InlinedVector<Change, 1>;

// How far a new observer has been told of the items that were there before it: all up to `last` in the order of the
// main structure. Writes beyond are left to the walk.
struct Backfill {
  ItemRef last;  // Null before the first step. May be gone from the table meanwhile.
};

struct SecondaryIndex {
  SecondaryIndex(IndexDefinition d, const TableDefinition& table, uint64_t seed)
      : definition(std::move(d)), items(definition.keys, ties_of(table), seed, table.keys) {}
  // A queue takes the newest of its tasks; of those created in the same millisecond, the last one to arrive. So in a
  // queue's table, which is one with books, ties stand by arrival.
  static OrderedItems::Kind ties_of(const TableDefinition& table) {
    return table.books ? OrderedItems::Kind::kByArrival : OrderedItems::Kind::kByKey;
  }
  IndexDefinition definition;
  OrderedItems items;
  KeySlots slots;
  std::vector<size_t> held;  // Where the attributes are that it holds; empty for all.
  uint64_t bytes = 0;        // Of what it holds of its items.
  std::optional<Backfill> backfill;

  uint64_t bytes_of(const ItemRef& item, const Picked& picked) const;
  // Applies a write; null refs for absent.
  void change(const ItemRef& before, const Picked& old, const ItemRef& after, const Picked& now);
};

class Table {
 public:
  Table(uint32_t number, TableDescription description, uint64_t hash_seed, StreamMemory& stream_memory);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  uint32_t number() const { return number_; }
  const TableDefinition& definition() const { return description_.definition; }
  // The label of its stream, or of its last stream; empty if it never had one.
  const std::string& stream_label() const { return description_.stream_label; }
  TableDescription describe() const;
  TableDescription stored() const;  // The log's form: has the label even while the stream is off.
  // The size of the items in the log.
  uint64_t live_bytes() const { return bytes_ + items_.size() * kRecordOverhead; }
  // Memory of the table: items, entries of all orders, and the table itself even if it is empty. Without the records of
  // its stream (StreamMemory).
  uint64_t memory() const;
  // Approximate extra memory of alter() to that definition, once catch_up() is done.
  uint64_t memory_to_become(const TableDefinition& definition) const;
  // The growth of memory() since the last call; modulo 2^64 if it has shrunk.
  uint64_t take_growth();

  const OrderedItems& items() const { return items_; }
  const ItemRef* find(const KeyView& key) const { return items_.find(key); }
  OrderedItems::Place place(const KeyView& key) const { return items_.place(key); }
  // Null if there is no such index, or it is still being built.
  const SecondaryIndex* index(std::string_view name) const;

  ChangeStream& stream() { return *stream_; }
  // Gives away the stream as it is, and begins an empty one that goes on with its numbers.
  std::unique_ptr<ChangeStream> detach_stream();
  BooksKeeper* books() { return books_ ? books_.get() : nullptr; }
  const BooksKeeper* books() const { return books_.get(); }
  TtlOrder* ttl() { return ttl_.get(); }
  const TtlOrder* ttl() const { return ttl_.get(); }

  // The write pipeline's: main structure, indexes, TTL order, books.
  void apply(const Change& change);
  // Recovery: only the main structure, and that only when many are together, beside the reading of the next ones;
  // until build_observers(), which does the rest and shows each item, or drop(), nothing else is asked of the items.
  void load(const ItemRef& item, bool gone = false);  // Of one that is gone only the key matters.
  void build_observers(absl::FunctionRef<void(const ItemRef&)> each);
  // Recovery: the definition as the log goes on. Observers are made anew, empty.
  void reload(TableDescription description);

  // Becomes `definition` (same name and keys; whose stream changes has been detached before). New indexes, a new TTL
  // order and new books (for which what is there came from outside) are filled by catch_up(), which also forgets the
  // old ones.
  void alter(TableDefinition definition, std::string stream_label);
  // After alter(): tells new observers of up to `limit` items, and gives back as many entries of old ones at most; how
  // many it were.
  size_t catch_up(size_t limit);
  bool is_behind() const;
  // Whether the books have not been told of all items yet. Until then nobody reads them and the log does not have them:
  // recovery opens them anew.
  bool is_opening_books() const { return books_backfill_.has_value(); }
  // Tells it of every change from now on, until it is null again. One at a time.
  void observe(Snapshot* snapshot) { snapshot_ = snapshot; }
  // Where its items came from, if from a backup. Until all are there nobody but the restoring reads or writes it.
  const std::optional<RestoreOrigin>& restored() const { return description_.restored; }
  bool is_restoring() const { return description_.restored && description_.restored->in_progress; }
  void set_by_request_since(WallTime time) { description_.by_request_since = time; }
  void set_restored() { description_.restored->in_progress = false; }
  // For a table that is dropped: forgets up to `limit` entries and returns their number.
  size_t drop(size_t limit);
  // A recorder asks for both images whatever the view.
  void keep_images(bool keep) { keep_images_ = keep; }
  bool stream_wants_before(Cause cause) const;

 private:
  void make_observers();
  void make_slots();
  void apply_loads();  // On a thread of their own, if they are many.
  void finish_loads();
  size_t drop_old(size_t limit);
  std::string_view status(const ItemRef& item, const Picked& picked) const;
  // The attributes of an item that the TTL order and the books look at; none for a null ref.
  struct Observed {
    TtlOrder::Seen seen;
    Counted counted;
  };
  Observed observed(const ItemRef& item, const Picked& picked) const;
  void count(const ItemRef& before, const ItemRef& after);
  // Whether that walk has passed the place of the item.
  bool covers(const std::optional<Backfill>& backfill, const ItemRef& item) const;
  template <class Tell>
  size_t walk(std::optional<Backfill>& backfill, size_t limit, Tell&& tell);

  const uint32_t number_;
  const uint64_t hash_seed_;
  TableDescription description_;
  OrderedItems items_;
  std::vector<OrderedItems::Load> loads_;  // Recovery: not applied yet.
  std::vector<OrderedItems::Load> applied_loads_;
  PickNames names_;  // What the observers look at.
  size_t ttl_slot_ = 0;
  size_t status_slot_ = 0;
  std::vector<std::unique_ptr<SecondaryIndex>> indexes_;
  std::unique_ptr<TtlOrder> ttl_;
  std::optional<Backfill> ttl_backfill_;
  std::unique_ptr<BooksKeeper> books_;
  std::optional<Backfill> books_backfill_;
  std::vector<std::unique_ptr<SecondaryIndex>> old_indexes_;  // Being forgotten.
  std::vector<std::unique_ptr<TtlOrder>> old_ttls_;
  Snapshot* snapshot_ = nullptr;
  StreamMemory& stream_memory_;
  std::unique_ptr<ChangeStream> stream_;
  uint64_t bytes_ = 0;        // Encoded items.
  uint64_t item_memory_ = 0;  // Their blocks.
  uint64_t own_memory_ = 0;   // Without items and entries.
  uint64_t told_memory_ = 0;  // What take_growth() reported.
  bool keep_images_ = false;
  std::future<void> applying_;  // Of applied_loads_; last: it uses what stands above, and is waited for at the end.
};

}  // namespace freshet
