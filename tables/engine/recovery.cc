#include "tables/engine/recovery.h"

#include "base/points.h"
#include "tables/engine/keys.h"

namespace freshet {
namespace {

// Reads only checkpoints.
class StartReader final : public BatchSink {
 public:
  SegmentStart start;
  Result<void> on_begin(WallTime at) override {
    start.at = at;
    return {};
  }
  Result<void> on_table(StoredTable table) override {
    start.stream_next.try_emplace(table.number, table.stream_next);
    return {};
  }
  Result<void> on_closed_stream(StoredClosedStream closed) override {
    start.closed_next.try_emplace({closed.table, closed.stream.label}, closed.next);
    return {};
  }
  Result<void> on_counters(const StoredCounters&) override { return {}; }
  Result<void> on_drop(uint32_t) override { return {}; }
  Result<void> on_put(const StoredPut&) override { return {}; }
  Result<void> on_delete(const StoredDelete&) override { return {}; }
  Result<void> on_flow(const StoredFlow&) override { return {}; }
};

}  // namespace

std::optional<uint64_t> SegmentStart::next_of(uint32_t table, const std::string& label) const {
  if (const auto it = closed_next.find({table, label}); it != closed_next.end()) return it->second;
  if (const auto it = stream_next.find(table); it != stream_next.end()) return it->second;
  return std::nullopt;
}

Result<SegmentStart> read_segment_start(Log& log, uint32_t segment) {
  StartReader reader;
  bool first = true;
  auto read = log.read({segment, 0}, 1, [&](const LogBatch& batch) -> Result<void> {
    if (!std::exchange(first, false)) return {};
    return read_batch(batch.payload, reader);
  });
  if (!read) return fail(read.error());
  return std::move(reader.start);
}

Result<void> Recovery::visit(const LogBatch& batch) {
  at_ = batch.at;
  auto ok = read_batch(batch.payload, *this);
  if (ok) return ok;
  Error error = ok.error();
  error.message += " (batch " + std::to_string(batch.sequence) + ", segment " + std::to_string(batch.at.segment) +
                   ", offset " + std::to_string(batch.at.offset) + ")";
  return fail(std::move(error));
}

Result<void> Recovery::on_begin(WallTime at) {
  batch_time_ = at;
  return {};
}

Result<void> Recovery::on_counters(const StoredCounters& counters) {
  catalog_.counters.hash_seed = counters.hash_seed;
  catalog_.counters.next_creation = std::max(catalog_.counters.next_creation, counters.next_creation);
  catalog_.counters.next_table = std::max(catalog_.counters.next_table, counters.next_table);
  return {};
}

Result<void> Recovery::on_table(StoredTable stored) {
  Table* table = catalog_.find_number(stored.number);
  if (!table) {
    // A checkpoint describes the state after its batch: the table that had the name is dropped in this batch.
    Table* namesake = catalog_.find_any(stored.description.definition.name);
    if (namesake) catalog_.remove(*namesake);
    table = &catalog_.add(stored.number, std::move(stored.description));
  } else {
    const TableDefinition& now = stored.description.definition;
    if (now.name != table->definition().name || now.keys != table->definition().keys) {
      return fail(ErrorCode::kCorruption, "a batch gives table " + table->definition().name + " another name or key");
    }
    const bool same_stream = table->definition().stream == now.stream;
    table->reload(std::move(stored.description));
    // Logs of payload version 1 do not record that it was closed; in other logs it has just begun.
    if (!same_stream) table->stream().trim_all();
  }
  table->stream().restore(stored.stream_next, stored.stream_oldest);
  catalog_.counters.next_table = std::max(catalog_.counters.next_table, stored.number + 1);
  return {};
}

// Comes before the table's own record, or its drop. Whether the records are known yet depends on where replay began.
Result<void> Recovery::on_closed_stream(StoredClosedStream stored) {
  const ClosedStream& said = stored.stream;
  if (catalog_.find_closed(said.table, said.label)) return {};
  Table* table = catalog_.find_number(stored.table);
  if (table && table->definition().stream && table->stream_label() == said.label) {
    catalog_.close_stream(*table, said.closed).description.bounds = said.bounds;
    table->stream().restore(said.bounds.next, said.bounds.next);
    return {};
  }
  ClosedEntry entry;
  entry.table = stored.table;
  entry.stream = std::make_unique<ChangeStream>(stored.table, said.keys, catalog_.stream_memory());
  entry.stream->restore(stored.next, said.bounds.oldest);
  entry.description = said;
  catalog_.add_closed(std::move(entry));
  return {};
}

Result<void> Recovery::on_drop(uint32_t number) {
  if (Table* table = catalog_.find_number(number)) catalog_.remove(*table);
  return {};
}

// Null for a table that was dropped later in the batch that begins a segment: the segment's catalog no longer has it.
Result<Table*> Recovery::table_of(uint32_t number) const {
  Table* table = catalog_.find_number(number);
  if (!table && number >= catalog_.counters.next_table) {
    return fail(ErrorCode::kCorruption,
                "a batch writes to table number " + std::to_string(number) + ", which the catalog does not have");
  }
  return table;
}

Result<void> Recovery::on_put(const StoredPut& put) {
  auto table = table_of(put.table);
  if (!table) return fail(table.error());
  auto item = ItemRef::from_encoded(put.item);
  if (!item) return fail(item.error());
  if (*table) {
    if (!table_key_of(*item, (*table)->definition().keys)) {
      return fail(ErrorCode::kCorruption, "a batch puts an item without its key");
    }
    item->set_place(put.creation, at_.segment);
    catalog_.counters.next_creation = std::max(catalog_.counters.next_creation, put.creation + 1);
    (*table)->load(*item);
  }
  return put.change.sequence ? on_change(put.table, put.change, *item, *item) : Result<void>{};
}

Result<void> Recovery::on_delete(const StoredDelete& del) {
  auto table = table_of(del.table);
  if (!table) return fail(table.error());
  auto keys = ItemRef::from_encoded(del.keys);
  if (!keys) return fail(keys.error());
  if (*table) {
    if (!table_key_of(*keys, (*table)->definition().keys)) {
      return fail(ErrorCode::kCorruption, "a batch deletes an item without its key");
    }
    if (!FRESHET_PLANTED("delete-not-replayed")) (*table)->load(*keys, true);
  }
  return del.change.sequence ? on_change(del.table, del.change, *keys, {}) : Result<void>{};
}

Result<void> Recovery::on_change(uint32_t table, const StoredChange& change, ItemRef keys_of, ItemRef after) {
  ChangeStream* stream = catalog_.stream_of(table, change.sequence);
  if (!stream) return {};
  StreamRecord record{change.sequence,    change.kind, change.by_ttl,   batch_time_,
                      std::move(keys_of), {},          std::move(after)};
  if (!change.before.empty()) {
    auto before = ItemRef::from_encoded(change.before);
    if (!before) return fail(before.error());
    record.before = std::move(*before);
  }
  stream->restored(std::move(record), at_);
  return {};
}

Result<void> Recovery::on_flow(const StoredFlow& flow) {
  auto table = table_of(flow.table);
  if (!table) return fail(table.error());
  if (*table && (*table)->books()) (*table)->books()->set_flow(flow.arrow, flow.value);
  return {};
}

// Streams continue in the segment at their positions when it began.
void Recovery::mark_known(uint32_t segment, const SegmentStart& start) {
  for (const auto& [number, next] : start.stream_next) {
    Table* table = catalog_.find_number(number);
    if (table && table->definition().stream) table->stream().mark(next, {segment, 0});
  }
  for (const auto& entry : catalog_.closed()) {
    const auto next = start.next_of(entry.table, entry.description.label);
    if (next && *next < entry.description.bounds.next) entry.stream->mark(*next, {segment, 0});
  }
}

// Tables that the segment's start does not know and the next one does were made within it: their streams begin there.
void Recovery::mark_made(uint32_t segment, const SegmentStart& start, const SegmentStart& next) {
  constexpr uint64_t kFirst = 1;
  for (const auto& [number, sequence] : next.stream_next) {
    Table* table = start.stream_next.contains(number) ? nullptr : catalog_.find_number(number);
    if (table && table->definition().stream) table->stream().mark(kFirst, {segment, 0});
  }
  for (const auto& entry : catalog_.closed()) {
    const std::string& label = entry.description.label;
    if (!start.next_of(entry.table, label) && next.next_of(entry.table, label)) {
      entry.stream->mark(kFirst, {segment, 0});
    }
  }
}

Result<void> Recovery::mark_retired(Log& log) {
  std::optional<std::pair<uint32_t, SegmentStart>> before;
  for (const auto& segment : log.segments()) {
    if (!segment.retired && !before) break;
    auto start = read_segment_start(log, segment.id);
    if (!start) return fail(start.error());
    if (before) mark_made(before->first, before->second, *start);
    if (!segment.retired) break;
    mark_known(segment.id, *start);
    before.emplace(segment.id, std::move(*start));
  }
  return {};
}

Result<void> Recovery::finish(Log& log) {
  if (auto ok = mark_retired(log); !ok) return ok;
  const auto segments = log.segments();
  const uint32_t first = segments.empty() ? 0 : segments.front().id;
  catalog_.each_stream([first](uint32_t, ChangeStream& stream) { stream.trim_before(first); });
  for (const auto& [name, table] : catalog_.tables()) {
    table->build_observers([&](const ItemRef& item) { catalog_.live.found(item); });
    catalog_.count(*table);
    if (!table->books()) continue;
    table->books()->open_if_new();
    if (auto ok = check_balance(table->books()->snapshot()); !ok) {
      return fail(ErrorCode::kCorruption, "table " + name + ": " + ok.error().message);
    }
  }
  return {};
}

}  // namespace freshet
