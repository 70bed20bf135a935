// All tables of one store, and the counters that survive the tables. Loop thread only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables/engine/batch.h"
#include "tables/engine/live_segments.h"
#include "tables/engine/table.h"

namespace freshet {

// A stream that its table no longer has.
struct ClosedEntry {
  uint32_t table = 0;
  ClosedStream description;  // Its bounds are those at the time of closing.
  std::unique_ptr<ChangeStream> stream;
  std::optional<BootTime> closed_at = {};  // When it was closed in this run; empty if recovery found it closed.

  StreamBounds bounds() const { return {stream->bounds().oldest, description.bounds.next}; }
};

class Catalog {
 public:
  explicit Catalog(size_t stream_memory_bytes) : stream_memory_(stream_memory_bytes) {}

  StoredCounters counters;
  LiveSegments live;

  // Finds a table for reads and writes: kResourceNotFound with the service's text, also for a table that is being
  // restored.
  Result<Table*> find(const std::string& name) const;
  // Null if there is none.
  Table* find_any(const std::string& name) const;
  // Null if there is none.
  Table* find_number(uint32_t number) const;
  Table& add(uint32_t number, TableDescription description);
  // Removes the table, so that nobody finds it any more. bury() frees its memory in steps, because a large table takes
  // long.
  void remove(Table& table);
  // Ends the table's stream, which must exist. It can still be read for as long as streams are kept. Has no effect if
  // it is already closed.
  ClosedEntry& close_stream(Table& table, WallTime at);
  void add_closed(ClosedEntry entry);
  // Null if there is none.
  ClosedEntry* find_closed(std::string_view table, std::string_view label);
  // The stream of the table, open or closed, that has this record; null if the table is gone and no stream has it.
  ChangeStream* stream_of(uint32_t table, uint64_t sequence);
  // Forgets streams that are no longer kept, oldest first, and also the oldest if there are too many. One call frees at
  // most `records` of their records in memory.
  void forget_closed(const std::function<bool(const ClosedEntry&)>& is_kept, size_t records);
  const std::deque<ClosedEntry>& closed() const { return closed_; }
  template <class Do>
  void each_stream(Do&& act) const {  // Calls `act` with each stream and its table's number.
    for (const auto& entry : closed_) act(entry.table, *entry.stream);
    for (const auto& [name, table] : tables_) act(table->number(), table->stream());
  }

  // Frees up to `items` entries of removed tables.
  void bury(size_t items);

  // Bytes of memory of all tables, including those that are being buried, and of all streams.
  uint64_t memory() const { return table_memory_ + stream_memory_.bytes() + closed_.size() * kClosedMemory; }
  // Call this when the table's memory may have changed. add(), remove() and bury() count by themselves.
  void count(Table& table) { table_memory_ += table.take_growth(); }
  bool has_removed() const { return !removed_.empty(); }

  const std::map<std::string, std::unique_ptr<Table>, std::less<>>& tables() const { return tables_; }
  const StreamMemory& stream_memory() const { return stream_memory_; }
  StreamMemory& stream_memory() { return stream_memory_; }

 private:
  static constexpr uint64_t kClosedMemory = sizeof(ClosedEntry) + sizeof(ChangeStream) + 2048;  // The entry with its
                                                                                                // deques and texts.

  StreamMemory stream_memory_;  // Outlives the tables.
  uint64_t table_memory_ = 0;
  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
  std::map<uint32_t, Table*> by_number_;
  std::vector<std::unique_ptr<Table>> removed_;
  std::deque<ClosedEntry> closed_;  // In the order in which they were closed.
};

}  // namespace freshet
