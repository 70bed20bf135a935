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

inline constexpr size_t kRecordOverhead = 24;  // The approximate bytes that an item takes in the log beside its own.
inline constexpr size_t kEntryMemory = 50;     // The approximate size of an entry that a structure does not have yet.
inline size_t log_size(const ItemRef& item) {
  return item ? item.encoded().size() + kRecordOverhead : 0;
}

// One write, planned and checked, for the commit pipeline. Null refs mean absent; not both.
struct Change {
  Table* table = nullptr;
  ItemRef before;
  ItemRef after;
  Cause cause = Cause::kClient;
  OrderedItems::Position place{};  // The position of its key in the main structure, if the planner has found it.
};
// A write's changes, applied all or none.
using Mutation = absl::InlinedVector<Change, 1>;

// The progress of a new observer through the items that existed before it: it has seen all up to `last` in the order of
// the main structure. The walk covers writes beyond that.
struct Backfill {
  ItemRef last;  // Null before the first step. The table may no longer have it.
};

struct SecondaryIndex {
  SecondaryIndex(IndexDefinition d, const TableDefinition& table, uint64_t seed)
      : definition(std::move(d)), items(definition.keys, ties_of(table), seed, table.keys) {}
  // A queue takes its newest tasks; of those created in the same millisecond, the last one to arrive. So a queue's
  // table, which is one with books, orders equal keys by arrival.
  static OrderedItems::Kind ties_of(const TableDefinition& table) {
    return table.books ? OrderedItems::Kind::kByArrival : OrderedItems::Kind::kByKey;
  }
  IndexDefinition definition;
  OrderedItems items;
  KeySlots slots;
  std::vector<size_t> held;  // The slots of the attributes that the index holds; empty means all.
  uint64_t bytes = 0;        // The size of what the index holds of its items.
  std::optional<Backfill> backfill;

  uint64_t bytes_of(const ItemRef& item, const Picked& picked) const;
  // Applies a write; null refs mean absent.
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
  TableDescription stored() const;  // The description for the log: it has the label even while the stream is off.
  // The size of the items in the log.
  uint64_t live_bytes() const { return bytes_ + items_.size() * kRecordOverhead; }
  // Memory of the table: its items, the entries of all structures, and the empty table itself. Excludes the records of
  // its stream (StreamMemory).
  uint64_t memory() const;
  // Approximate extra memory of alter() to that definition, once catch_up() is done.
  uint64_t memory_to_become(const TableDefinition& definition) const;
  // The growth of memory() since the last call; modulo 2^64 if it has shrunk.
  uint64_t take_growth();

  const OrderedItems& items() const { return items_; }
  const ItemRef* find(const KeyView& key) const { return items_.find(key); }
  OrderedItems::Position place(const KeyView& key) const { return items_.place(key); }
  // Null if there is no such index, or it is still being built.
  const SecondaryIndex* index(std::string_view name) const;

  ChangeStream& stream() { return *stream_; }
  // Removes and returns the stream, and begins an empty one that continues its sequence numbers.
  std::unique_ptr<ChangeStream> detach_stream();
  BooksKeeper* books() { return books_ ? books_.get() : nullptr; }
  const BooksKeeper* books() const { return books_.get(); }
  TtlOrder* ttl() { return ttl_.get(); }
  const TtlOrder* ttl() const { return ttl_.get(); }

  // Called by the write pipeline: updates the main structure, indexes, TTL order and books. Returns the status before
  // and after, in a table with books; views into the change's items.
  struct Statuses {
    std::string_view from;
    std::string_view to;
  };
  Statuses apply(const Change& change);
  // Recovery: collects items and adds them to the main structure in large groups, on another thread. Then call only
  // build_observers(), which fills everything else, or drop().
  void load(const ItemRef& item, bool gone = false);  // For a removed item only the key matters.
  void build_observers(absl::FunctionRef<void(const ItemRef&)> each);
  // Recovery: sets the definition that the log has next. Observers are created again, empty.
  void reload(TableDescription description);

  // Changes the table to `definition` (same name and keys; a changed stream has been detached before). catch_up() fills
  // new indexes, a new TTL order and new books (which book existing items as coming from outside), and frees the old
  // ones.
  void alter(TableDefinition definition, std::string stream_label);
  // After alter(): shows up to `limit` items to new observers, and frees up to as many entries of old ones; returns
  // their number.
  size_t catch_up(size_t limit);
  bool is_behind() const;
  // True until the books have counted all items. Until then nobody reads them, and the log does not have them: recovery
  // would open them again.
  bool is_opening_books() const { return books_backfill_.has_value(); }
  // Reports every change from now on to `snapshot`, until it is set to null. One at a time.
  void observe(Snapshot* snapshot) { snapshot_ = snapshot; }
  // The origin of its items, if from a backup. Until all are restored, only the restore reads or writes the table.
  const std::optional<RestoreOrigin>& restored() const { return description_.restored; }
  bool is_restoring() const { return description_.restored && description_.restored->in_progress; }
  void set_by_request_since(WallTime time) { description_.by_request_since = time; }
  void set_restored() { description_.restored->in_progress = false; }
  // For a table that is dropped: forgets up to `limit` entries and returns their number.
  size_t drop(size_t limit);
  // True: the stream keeps both images whatever its view is, for a recorder.
  void keep_images(bool keep) { keep_images_ = keep; }
  bool stream_wants_before(Cause cause) const;

 private:
  void make_observers();
  void make_slots();
  void apply_loads();  // Uses a thread of its own if there are many.
  void finish_loads();
  size_t drop_old(size_t limit);
  std::string_view status(const ItemRef& item, const Picked& picked) const;
  // The attributes of an item that the TTL order and the books use; empty for a null ref.
  struct Observed {
    TtlOrder::Seen seen;
    Counted counted;
  };
  Observed observed(const ItemRef& item, const Picked& picked) const;
  void count(const ItemRef& before, const ItemRef& after);
  // True if the walk has passed the position of the item.
  bool covers(const std::optional<Backfill>& backfill, const ItemRef& item) const;
  template <class Visit>
  size_t walk(std::optional<Backfill>& backfill, size_t limit, Visit&& visit);

  const uint32_t number_;
  const uint64_t hash_seed_;
  TableDescription description_;
  OrderedItems items_;
  std::vector<OrderedItems::Load> loads_;  // Recovery: not applied yet.
  std::vector<OrderedItems::Load> applied_loads_;
  PickNames names_;  // The attributes that the observers use.
  size_t ttl_slot_ = 0;
  size_t status_slot_ = 0;
  std::vector<std::unique_ptr<SecondaryIndex>> indexes_;
  std::unique_ptr<TtlOrder> ttl_;
  std::optional<Backfill> ttl_backfill_;
  std::unique_ptr<BooksKeeper> books_;
  std::optional<Backfill> books_backfill_;
  std::vector<std::unique_ptr<SecondaryIndex>> old_indexes_;  // Indexes that are being freed.
  std::vector<std::unique_ptr<TtlOrder>> old_ttls_;
  Snapshot* snapshot_ = nullptr;
  StreamMemory& stream_memory_;
  std::unique_ptr<ChangeStream> stream_;
  uint64_t bytes_ = 0;            // The bytes of encoded items.
  uint64_t item_memory_ = 0;      // The memory of their blocks.
  uint64_t own_memory_ = 0;       // Memory except items and entries.
  uint64_t reported_memory_ = 0;  // The memory that take_growth() has reported.
  bool keep_images_ = false;
  std::future<void> applying_;  // Applies applied_loads_. The last member: it uses the ones above, and the destructor
                                // waits for it.
};

}  // namespace freshet
