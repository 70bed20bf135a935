#include "tables/engine/pending_batch.h"

#include <utility>

#include "base/points.h"
#include "tables/engine/batch.h"
#include "tables/engine/keys.h"

namespace freshet {

void PendingBatch::begin(WallTime now) {
  time_ = now;
  if (logged_) append_batch_header(text_, time_);
}

void PendingBatch::add(const Change& change, uint64_t sequence) {
  StoredChange stored;
  stored.sequence = sequence;
  stored.by_ttl = change.cause == Cause::kTimeToLive;
  if (sequence && change.before && change.table->stream_wants_before(change.cause))
    stored.before = change.before.encoded();
  if (change.after) {
    stored.kind = change.before ? ChangeRecord::Kind::kModify : ChangeRecord::Kind::kInsert;
    append_record(text_, StoredPut{change.table->number(), change.after.creation(), stored, change.after.encoded()});
    placed_.push_back(change.after);
    return;
  }
  stored.kind = ChangeRecord::Kind::kRemove;
  std::string keys;
  append_encoded_keys(keys, change.before, change.table->definition().keys);
  append_record(text_, StoredDelete{change.table->number(), stored, keys});
}

void PendingBatch::add_table(Table& table) {
  append_record(text_,
                StoredTable{table.number(), table.stored(), table.stream().next(), table.stream().bounds().oldest});
}

void PendingBatch::add_closed(const ClosedEntry& closed) {
  ClosedStream stream = closed.description;
  stream.bounds = closed.bounds();
  append_record(text_, StoredClosedStream{closed.table, std::move(stream), closed.stream->next()});
}

void PendingBatch::add_drop(const Table& table) {
  append_drop_record(text_, table.number());
}

void PendingBatch::add_changed_flows(const Catalog& catalog) {
  for (const auto& entry : catalog.tables()) {
    Table& table = *entry.second;
    if (!table.books() || table.is_opening_books() || !table.books()->has_changed()) continue;
    table.books()->take_changed([&](const Arrow& arrow, uint64_t value) {
      append_record(text_, StoredFlow{table.number(), arrow, value});
    });
  }
}

void PendingBatch::appended(Catalog& catalog, uint32_t segment) {
  for (const auto& item : placed_) catalog.live.place(item, segment);
  placed_.clear();
  text_.clear();
  hurried_ = false;
}

std::string checkpoint_of(const Catalog& catalog) {
  std::string out;
  append_record(out, catalog.counters);
  for (const auto& closed : catalog.closed()) {
    ClosedStream stream = closed.description;
    stream.bounds = closed.bounds();
    append_record(out, StoredClosedStream{closed.table, std::move(stream), closed.stream->logged_next()});
  }
  for (const auto& entry : catalog.tables()) {
    Table& table = *entry.second;
    append_record(
        out, StoredTable{table.number(), table.stored(), table.stream().logged_next(), table.stream().bounds().oldest});
    if (!table.books() || table.is_opening_books() || FRESHET_PLANTED("checkpoint-without-books")) continue;
    table.books()->visit_all([&](const Arrow& arrow, uint64_t value) {
      append_record(out, StoredFlow{table.number(), arrow, value});
    });
  }
  return out;
}

}  // namespace freshet
