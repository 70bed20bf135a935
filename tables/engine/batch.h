// The payload of one log batch: docs/formats.md, "Batch payload". Writing is appending records; reading hands them to
// a sink in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "tables/definition.h"
#include "tables/tables.h"
#include "tables/value/item_ref.h"

namespace freshet {

// Counters of the whole store. In every checkpoint.
struct StoredCounters {
  uint64_t hash_seed = 0;
  uint64_t next_creation = 1;
  uint32_t next_table = 1;
};

// One table of the catalog. In every checkpoint, and where a table is made or altered.
struct StoredTable {
  uint32_t number = 0;  // Identifies the table in this log; never reused.
  TableDescription description;
  uint64_t stream_next = 1;    // The sequence of its next change record.
  uint64_t stream_oldest = 1;  // Records before this one are trimmed.
};

// A stream that can still be read for a while although its table no longer has it. Written when the stream is closed,
// and in every checkpoint while it is kept.
struct StoredClosedStream {
  uint32_t table = 0;
  ClosedStream stream;  // bounds.next is where it ends.
  uint64_t next = 1;    // The sequence of the first of its records that follow in the log; equal to bounds.next if none
                        // follow.
};

// The change record that belongs to a write; sequence 0 means none.
struct StoredChange {
  uint64_t sequence = 0;
  ChangeRecord::Kind kind = ChangeRecord::Kind::kInsert;
  bool by_ttl = false;
  std::string_view before;  // Encoded old image; empty where the view needs none.
};

struct StoredPut {
  uint32_t table = 0;
  uint64_t creation = 0;
  StoredChange change;
  std::string_view item;  // Encoded.
};

struct StoredDelete {
  uint32_t table = 0;
  StoredChange change;
  std::string_view keys;  // Encoded key attributes.
};

struct StoredFlow {
  uint32_t table = 0;
  Arrow arrow;
  uint64_t value = 0;  // The total since the table was made, not since the last batch.
};

// Appends records to `out`. A payload begins with the header.
inline constexpr size_t kPayloadHeaderBytes = 9;
void append_batch_header(std::string& out, WallTime at);
void append_record(std::string& out, const StoredCounters& counters);
void append_record(std::string& out, const StoredTable& table);
void append_record(std::string& out, const StoredClosedStream& closed);
void append_record(std::string& out, const StoredPut& put);
void append_record(std::string& out, const StoredDelete& del);
void append_record(std::string& out, const StoredFlow& flow);
void append_drop_record(std::string& out, uint32_t table);

class BatchSink {
 public:
  virtual ~BatchSink() = default;
  virtual Result<void> on_begin(WallTime at) = 0;
  virtual Result<void> on_counters(const StoredCounters& counters) = 0;
  virtual Result<void> on_table(StoredTable table) = 0;
  virtual Result<void> on_drop(uint32_t table) = 0;
  virtual Result<void> on_closed_stream(StoredClosedStream) { return {}; }
  virtual Result<void> on_put(const StoredPut& put) = 0;
  virtual Result<void> on_delete(const StoredDelete& del) = 0;
  virtual Result<void> on_flow(const StoredFlow& flow) = 0;
};
// kCorruption if the bytes are not a batch; an error of the sink ends the reading.
Result<void> read_batch(std::string_view payload, BatchSink& sink);

// A table of the catalog as an item, and the reverse. The same for a definition, so that fields of later versions get
// their defaults in older logs.
Item table_to_item(const StoredTable& table);
Result<StoredTable> table_from_item(const Item& item);
Item closed_stream_to_item(const StoredClosedStream& closed);
Result<StoredClosedStream> closed_stream_from_item(const Item& item);
Item definition_to_item(const TableDefinition& definition);
Result<TableDefinition> definition_from_item(const Item& item);

}  // namespace freshet
