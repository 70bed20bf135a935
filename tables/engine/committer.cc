#include "tables/engine/committer.h"

#include <algorithm>

#include "base/check.h"
#include "base/points.h"

namespace freshet {

Result<void> Committer::set_log(std::unique_ptr<Log> log) {
  log_ = std::move(log);
  batch_.set_logged();
  room_.set_log(*log_);
  log_->set_reserve(room_.reserve_bytes());
  room_.refresh();
  // Reports the earlier error, if there was one.
  return log_->sync(scheduler_.clock().boot(), Waiting::kMany, 0);
}

Result<void> Committer::admit(const Mutation& mutation) {
  if (failure_) return fail(*failure_);
  return room_.admit(mutation, batch_.bytes());
}

Result<void> Committer::admit_record(uint64_t keep) {
  if (failure_) return fail(*failure_);
  return room_.admit_record(keep, batch_.bytes());
}

Result<void> Committer::admit_bulk(uint64_t bytes, uint64_t memory) const {
  if (failure_) return fail(*failure_);
  return room_.admit_bulk(bytes, memory);
}

void Committer::apply(Mutation mutation, bool unhurried) {
  if (!unhurried) batch_.hurry();
  for (auto& change : mutation) apply_one(change);
  if (batch_.bytes() > options_.max_batch_bytes || FRESHET_OFTEN("a batch of the log is closed early")) flush();
}

void Committer::apply_one(Change& change) {
  if (change.after) {
    const uint64_t creation = change.before ? change.before.creation() : catalog_.counters.next_creation++;
    change.after.set_place(creation, LiveSegments::kUnplaced);
  }
  if (change.before) catalog_.live.leave(change.before);
  const Table::Statuses statuses = change.table->apply(change);
  catalog_.count(*change.table);
  room_.count(change);
  const uint64_t sequence = add_to_stream(change);
  if (log_) {
    begin_batch();
    batch_.add(change, sequence);
  } else if (sequence) {
    change.table->stream().release_before(sequence + 1);
  }
  if (watcher_ && statuses.from != statuses.to) {
    if (!log_) begin_batch();  // Else the change is in the batch already.
    watcher_->moved({change.table->number(), change.table->definition().name, statuses.from, statuses.to, change.before,
                     change.after, change.cause == Cause::kTimeToLive, batch_.time()});
  }
}

uint64_t Committer::add_to_stream(const Change& change) {
  Table& table = *change.table;
  if (!table.definition().stream) return 0;
  StreamRecord record;
  record.sequence = table.stream().take_sequence();
  record.kind = !change.before  ? ChangeRecord::Kind::kInsert
                : !change.after ? ChangeRecord::Kind::kRemove
                                : ChangeRecord::Kind::kModify;
  record.by_ttl = change.cause == Cause::kTimeToLive;
  record.by_queue = change.cause == Cause::kQueue;
  begin_batch();
  record.at = batch_.time();
  record.keys_of = change.after ? change.after : change.before;
  if (table.stream_wants_before(change.cause)) record.before = change.before;
  record.after = change.after;
  const uint64_t sequence = record.sequence;
  if (options_.trace_links) options_.trace_links->note(table.definition().name, sequence);
  table.stream().add(std::move(record));
  return sequence;
}

void Committer::begin_batch() {
  if (batch_.empty()) batch_.begin(scheduler_.clock().wall());
}

void Committer::log_table(Table& table) {
  if (!log_) return;
  begin_batch();
  batch_.hurry();
  batch_.add_table(table);
}

void Committer::log_closed(const ClosedEntry& closed) {
  if (!log_) return;
  begin_batch();
  batch_.hurry();
  batch_.add_closed(closed);
}

void Committer::log_drop(const Table& table) {
  room_.count_drop(table);
  if (!log_) return;
  begin_batch();
  batch_.hurry();
  batch_.add_drop(table);
}

Result<LogPosition> Committer::append(BatchKind kind, const std::string& payload) {
  if (!log_->starts_segment(payload.size())) return log_->append(kind, payload);
  // The checkpoint states what holds after this batch. It stands before the batch, so that a replay can begin here.
  std::string whole = payload.substr(0, kPayloadHeaderBytes);
  whole += checkpoint_of(catalog_);
  whole.append(payload, kPayloadHeaderBytes);
  return log_->append(kind, whole);
}

bool Committer::flush() {
  if (failure_) return false;
  if (batch_.empty()) return true;
  batch_.add_changed_flows(catalog_);
  const BootTime began = scheduler_.clock().boot();
  const auto at = append(BatchKind::kCommit, batch_.text());
  if (!at) {
    stall(at.error());
    return false;
  }
  if (room_.stall() != Stall::kNone) FRESHET_REACHED("a stalled store goes on");
  room_.set_stall(Stall::kNone);
  stats_.appended_bytes += batch_.bytes();
  ++stats_.batches;
  const bool hurried = batch_.hurried();
  batch_.appended(catalog_, at->segment);
  syncs_.appended(log_->last_sequence(), began, note_appended_streams(*at), hurried);
  catalog_.stream_memory().shrink();
  room_.refresh();
  return true;
}

// The batch stays; commit() tries again.
void Committer::stall(const Error& error) {
  report(error);
  if (failure_) return;
  FRESHET_REACHED("the disk has no room for a batch");
  room_.set_stall(error.code == ErrorCode::kUnavailable ? Stall::kNoDescriptors : Stall::kDiskFull);
}

SyncSchedule::Streams Committer::note_appended_streams(LogPosition at) {
  SyncSchedule::Streams streams;
  catalog_.each_stream([&](uint32_t table, ChangeStream& stream) {
    if (stream.logged_next() == stream.next()) return;
    stream.logged(at);
    streams.emplace_back(table, stream.next());
  });
  if (FRESHET_PLANTED("stream-shown-before-durable")) {
    for (const auto& [number, sequence] : streams) {
      if (ChangeStream* stream = catalog_.stream_of(number, sequence - 1)) stream->release_before(sequence);
    }
  }
  return streams;
}

bool Committer::append_moves(const std::vector<std::pair<uint32_t, ItemRef>>& items) {
  FRESHET_CHECK(batch_.empty(), "moves do not overtake writes");
  if (failure_) return false;
  std::string payload;
  append_batch_header(payload, scheduler_.clock().wall());
  for (const auto& [table, item] : items) append_record(payload, StoredPut{table, item.creation(), {}, item.encoded()});
  const auto at = append(BatchKind::kMove, payload);
  if (!at) {
    report(at.error());
    return false;
  }
  syncs_.want(log_->last_sequence());
  for (const auto& [table, item] : items) catalog_.live.place(item, at->segment);
  stats_.moved_bytes += payload.size();
  room_.refresh();
  return true;
}

bool Committer::roll() {
  auto rolled = log_->roll();
  if (!rolled) report(rolled.error());
  room_.refresh();
  return rolled.has_value();
}

void Committer::commit() {
  if (!log_ || failure_) return;
  flush();
  if (failure_) return;
  const BootTime now = scheduler_.clock().boot();
  syncs_.want_rest(now, log_->last_sequence());
  // A new segment may have synced the last batch already.
  const bool syncs = syncs_.wants_more_than(log_->durable_sequence()) || log_->syncing();
  if (syncs || now >= log_->sync_due()) sync(now);
  if (!failure_) syncs_.release(log_->durable_sequence(), catalog_);
  syncs_.end_lulls(syncs);
}

void Committer::sync(BootTime now) {
  log_->set_reserve(room_.reserve_bytes());
  if (auto ok = log_->sync(now, syncs_.waiting(now), syncs_.wanted()); !ok) report(ok.error());
  syncs_.synced();
  room_.refresh();  // There may be space again, even if nothing was written.
}

void Committer::report(const Error& error) {
  const bool passes = error.code == ErrorCode::kDiskFull || error.code == ErrorCode::kUnavailable ||
                      FRESHET_PLANTED("failed-store-goes-on");
  if (!passes) fail_store(error);
}

void Committer::report_read(const Error& error) {
  if (error.code == ErrorCode::kIo || error.code == ErrorCode::kNotFound) fail_store(error);
}

void Committer::fail_store(const Error& error) {
  if (failure_) return;
  failure_ =
      Error{ErrorCode::kInternal, "The store has failed and acknowledges nothing any more: " + error.message, {}};
  syncs_.fail_all(*failure_);
  catalog_.each_stream([](uint32_t, ChangeStream& stream) { stream.wake(); });
  if (options_.on_failure) options_.on_failure(*failure_);
}

Async<Result<void>> Committer::durable() {
  if (failure_) return Result<void>(fail(*failure_));
  if (!log_ || (batch_.empty() && syncs_.empty())) return Result<void>{};
  if (batch_.empty() && FRESHET_PLANTED("reads-answered-before-durable")) return Result<void>{};
  return syncs_.durable(!batch_.empty());
}

Async<void> Committer::lull(BootTime latest) {
  if (!log_ || failure_) return {};
  return syncs_.lull(latest);
}

BootTime Committer::next_due() const {
  if (!log_ || failure_) return BootTime::max();
  const BootTime now = scheduler_.clock().boot();
  if (!batch_.empty()) return room_.stall() != Stall::kNone ? now + milliseconds(100) : now;
  // A small sync was postponed: the clients that waited for the previous one are answered first.
  const bool wants_sync = syncs_.wants_more_than(log_->durable_sequence()) && !log_->syncing();
  if (wants_sync && options_.durability.mode == DurabilityMode::kSync) return now;
  return std::min(log_->sync_due(), syncs_.rest_due());
}

EmbeddedStats Committer::stats() const {
  EmbeddedStats stats = stats_;
  for (const auto& [name, table] : catalog_.tables()) stats.items += table->items().size();
  stats.throttled = room_.refused();
  stats.commits = syncs_.commits();
  stats.memory_bytes = room_.memory();
  stats.live_bytes = room_.live_bytes();
  if (log_) {
    stats.log_bytes = log_->bytes_used();
    stats.log_bytes_left = log_->bytes_left();
  }
  return stats;
}

}  // namespace freshet
