// Rebuilds a catalog from the log's batches. Loop thread only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tables/engine/catalog.h"
#include "tables/log/log.h"

namespace freshet {

// The checkpoint at the beginning of a kept segment: when it was written, and the position of each stream.
struct SegmentStart {
  WallTime at{};
  std::map<uint32_t, uint64_t> stream_next;                          // By table number.
  std::map<std::pair<uint32_t, std::string>, uint64_t> closed_next;  // Closed streams, by table number and label.

  // The position of a table's stream, open or closed; empty if the table is not known.
  std::optional<uint64_t> next_of(uint32_t table, const std::string& label) const;
};
Result<SegmentStart> read_segment_start(Log& log, uint32_t segment);

class Recovery final : public BatchSink {
 public:
  explicit Recovery(Catalog& catalog) : catalog_(catalog) {}

  // The visitor for open_log().
  Result<void> visit(const LogBatch& batch);
  // Call it after the last batch: builds indexes, TTL order and books, finds which streams can still be read from
  // retired segments, and checks that the books balance.
  Result<void> finish(Log& log);
  // The wall time of the last batch; the epoch if there was none.
  WallTime last_commit() const { return batch_time_; }

  Result<void> on_begin(WallTime at) override;
  Result<void> on_counters(const StoredCounters& counters) override;
  Result<void> on_table(StoredTable table) override;
  Result<void> on_drop(uint32_t table) override;
  Result<void> on_closed_stream(StoredClosedStream closed) override;
  Result<void> on_put(const StoredPut& put) override;
  Result<void> on_delete(const StoredDelete& del) override;
  Result<void> on_flow(const StoredFlow& flow) override;

 private:
  Result<Table*> table_of(uint32_t number) const;
  Result<void> on_change(uint32_t table, const StoredChange& change, ItemRef keys_of, ItemRef after);
  Result<void> mark_retired(Log& log);
  void mark_known(uint32_t segment, const SegmentStart& start);
  void mark_made(uint32_t segment, const SegmentStart& start, const SegmentStart& next);

  Catalog& catalog_;
  WallTime batch_time_{};
  LogPosition at_;
};

}  // namespace freshet
