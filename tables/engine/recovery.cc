#include "tables/engine/recovery.h"

#include "tables/engine/keys.h"

namespace freshet {
namespace {

// Sees only what a checkpoint says.
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
  Result<void> on_counters(const StoredCounters&) override { return {}; }
  Result<void> on_drop(uint32_t) override { return {}; }
  Result<void> on_put(const StoredPut&) override { return {}; }
  Result<void> on_delete(const StoredDelete&) override { return {}; }
  Result<void> on_flow(const StoredFlow&) override { return {}; }
};

}  // namespace

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
    // A checkpoint tells what holds after its batch: the table that had the name is dropped in there.
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
    if (!same_stream) table->stream().trim_all();
  }
  table->stream().restore(stored.stream_next, stored.stream_oldest);
  catalog_.counters.next_table = std::max(catalog_.counters.next_table, stored.number + 1);
  return {};
}

Result<void> Recovery::on_drop(uint32_t number) {
  if (Table* table = catalog_.find_number(number)) catalog_.remove(*table);
  return {};
}

// Null for a table that was dropped later in the batch that begins a segment: its catalog does not have it any more.
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
  if (!*table) return {};
  if (!table_key_of(*item, (*table)->definition().keys)) {
    return fail(ErrorCode::kCorruption, "a batch puts an item without its key");
  }
  item->set_place(put.creation, at_.segment);
  catalog_.counters.next_creation = std::max(catalog_.counters.next_creation, put.creation + 1);
  (*table)->load(*item);
  return put.change.sequence ? on_change(**table, put.change, *item, *item) : Result<void>{};
}

Result<void> Recovery::on_delete(const StoredDelete& del) {
  auto table = table_of(del.table);
  if (!table) return fail(table.error());
  auto keys = ItemRef::from_encoded(del.keys);
  if (!keys) return fail(keys.error());
  if (!*table) return {};
  if (!table_key_of(*keys, (*table)->definition().keys))
    return fail(ErrorCode::kCorruption, "a batch deletes an item without its key");
  (*table)->load(*keys, true);
  return del.change.sequence ? on_change(**table, del.change, *keys, {}) : Result<void>{};
}

Result<void> Recovery::on_change(Table& table, const StoredChange& change, ItemRef keys_of, ItemRef after) {
  StreamRecord record{change.sequence,    change.kind, change.by_ttl,   batch_time_,
                      std::move(keys_of), {},          std::move(after)};
  if (!change.before.empty()) {
    auto before = ItemRef::from_encoded(change.before);
    if (!before) return fail(before.error());
    record.before = std::move(*before);
  }
  table.stream().restored(std::move(record), at_);
  return {};
}

Result<void> Recovery::on_flow(const StoredFlow& flow) {
  auto table = table_of(flow.table);
  if (!table) return fail(table.error());
  if (*table && (*table)->books()) (*table)->books()->set_flow(flow.arrow, flow.value);
  return {};
}

Result<void> Recovery::mark_retired(Log& log) {
  for (const auto& segment : log.segments()) {
    if (!segment.retired) break;
    auto start = read_segment_start(log, segment.id);
    if (!start) return fail(start.error());
    for (const auto& [number, next] : start->stream_next) {
      Table* table = catalog_.find_number(number);
      if (table && table->definition().stream) table->stream().mark(next, {segment.id, 0});
    }
  }
  return {};
}

Result<void> Recovery::finish(Log& log) {
  if (auto ok = mark_retired(log); !ok) return ok;
  const auto segments = log.segments();
  for (const auto& [name, table] : catalog_.tables()) {
    table->stream().trim_before(segments.empty() ? 0 : segments.front().id);
    table->build_observers([&](const ItemRef& item) { catalog_.live.found(item); });
    if (!table->books()) continue;
    table->books()->open_if_new();
    if (auto ok = check_balance(table->books()->snapshot()); !ok) {
      return fail(ErrorCode::kCorruption, "table " + name + ": " + ok.error().message);
    }
  }
  return {};
}

}  // namespace freshet
