#include "tables/engine/committer.h"

#include <algorithm>

#include "base/check.h"
#include "base/points.h"
#include "tables/engine/keys.h"

namespace freshet {
namespace {

constexpr size_t kOwn = 100'000;              // Expiring items of our own that are not counted as growth.
constexpr uint64_t kTableRecord = 64u << 10;  // A definition with its tags is smaller.
constexpr size_t kGrowth = 256;               // A write that adds more than this counts as growth.
constexpr milliseconds kRest{5};              // How long unhurried writes are left unsynced.
// A disk that stalls often does so several times within seconds (a virtual disk had several stalls of 55 to 400 ms
// within 15 s). After a commit that took this long, syncs run beside the loop, so that the next stall does not stop it:
// for 500 times as long (5 s after 10 ms), but for a minute at most.
constexpr milliseconds kStall{10};
constexpr int kStalling = 500;
constexpr seconds kLongestStalling{60};

}  // namespace

Result<void> Committer::set_log(std::unique_ptr<Log> log) {
  log_ = std::move(log);
  refresh_space();
  log_->set_reserve(reserve_bytes());
  refresh_space();
  for (const auto& [name, table] : catalog_.tables()) {
    if (!table->definition().system) continue;
    for (const auto& entry : table->items()) kept_memory_ += kept_beside(*table, entry.item);
  }
  // Reports the earlier error, if there was one.
  return log_->sync(scheduler_.clock().boot(), Waiting::kMany, 0);
}

uint64_t Committer::memory() const {
  uint64_t bytes = catalog_.memory() + backup_memory_ + kept_memory_;
  if (options_.memory_beside) bytes += options_.memory_beside();
  return bytes;
}

uint64_t Committer::kept_beside(const Table& table, const ItemRef& item) const {
  const TableDefinition& definition = table.definition();
  if (!item || !definition.system || definition.ttl_attribute) return 0;
  if (!options_.kept_beside) return 0;
  const auto kind = item.find(definition.keys.partition.name);
  return kind ? options_.kept_beside(kind->key_bytes(), item) : 0;
}

// Compaction starts at garbage of a segment and an eighth of what lives (compactor.cc), and needs the floor to work
// with. The reserve lets garbage grow well beyond that before anything but growth is refused, and lets every item take
// on its lease, result and history.
uint64_t Committer::reserve_bytes() const {
  return floor_bytes() + 3 * options_.segment_bytes + live_bytes_ / 4 + live_items_ * kGrowth;
}

void Committer::refresh_space() {
  space_left_ = log_->bytes_left_beside(backup_bytes_);
  live_bytes_ = 0;
  live_items_ = 0;
  for (const auto& [name, table] : catalog_.tables()) {
    live_bytes_ += table->live_bytes();
    live_items_ += table->items().size();
  }
}

Result<void> Committer::admit_bytes(uint64_t keep, uint64_t bytes) {
  if (!stalled_ && space_left_ >= keep + batch_.size() + bytes) return {};
  ++stats_.throttled;
  if (stalled_ && no_descriptors_) {
    return fail(ErrorCode::kThroughputExceeded,
                "The store lacks a file descriptor to open its next file: writes that add data are refused until "
                "connections or files are closed. Retry later, or raise the daemon's limit of open files.");
  }
  return fail(ErrorCode::kThroughputExceeded,
              "The store is out of disk space (or at --max-data-bytes): writes that add data are refused until items "
              "are deleted or expire (as tasks that have ended do), or space is freed. Retry later.");
}

Result<void> Committer::admit_record(uint64_t keep) {
  if (failure_) return fail(*failure_);
  return log_ ? admit_bytes(keep, kTableRecord) : Result<void>{};
}

void Committer::set_backup_bytes(uint64_t bytes, uint64_t memory) {
  backup_bytes_ = bytes;
  backup_memory_ = memory;
  if (log_) refresh_space();
}

Result<void> Committer::admit_bulk(uint64_t bytes, uint64_t memory) {
  if (failure_) return fail(*failure_);
  if (log_ && space_left_ < reserve_bytes() + bytes) {
    return fail(ErrorCode::kLimitExceeded, "Not enough disk space (or --max-data-bytes): " + std::to_string(bytes) +
                                               " bytes are needed beside the store's reserve");
  }
  return admit_memory(memory, options_.max_memory_bytes);
}

Result<void> Committer::admit_upkeep(uint64_t memory) {
  return admit_memory(memory, most_memory());
}

Result<void> Committer::admit_memory(uint64_t bytes, uint64_t limit) const {
  if (bytes == 0 || limit == 0 || memory() + bytes <= limit) return {};
  return fail(ErrorCode::kLimitExceeded,
              "Not enough memory: " + std::to_string(bytes) + " bytes are needed beside the " +
                  std::to_string(memory()) + " that the store has, and --max-memory-bytes " + "allows " +
                  std::to_string(options_.max_memory_bytes) + ": allow more, or delete items");
}

Result<void> Committer::admit(const Mutation& mutation) {
  if (failure_) return fail(*failure_);
  uint64_t bytes = 0;
  uint64_t added = 0;
  uint64_t removed = 0;
  uint64_t entries = 0;  // The number of new index entries in memory.
  bool grows = false;
  bool waits = false;
  for (const auto& change : mutation) {
    const size_t before = log_size(change.before);
    const size_t after = log_size(change.after);
    bytes += before + after + kRecordOverhead;
    // The runtime's own items (events, positions) are bounded by itself, and without them nothing would be worked off.
    // Tokens of transactions are not: beyond a reasonable number they are data like any other.
    const Table& table = *change.table;
    const bool own = table.definition().system && !(table.definition().ttl_attribute && table.items().size() > kOwn);
    const uint64_t kept = own && !change.before ? kept_beside(table, change.after) : 0;
    if (own && kept == 0) continue;
    removed += before;
    added += after;
    if (change.after && !change.before) entries += kept + kEntryMemory * (1 + table.definition().indexes.size());
    waits = waits || own;
    grows = grows || (!own && change.after && (!change.before || after > before + kGrowth));
  }
  // Among several changes, deletes make up for the bytes that the others add, including those of a token.
  const bool more = added > removed;
  grows = grows && more;
  if (log_) {
    // Completions may use the reserve down to what compaction needs to free more.
    uint64_t keep = grows ? reserve_bytes() : floor_bytes();
    // A batch that needs a file of its own leaves space beside it that is no whole segment.
    if (batch_.size() + bytes > options_.segment_bytes) keep += options_.segment_bytes;
    if (auto ok = admit_bytes(keep, bytes); !ok) return ok;
  }
  if (!more || options_.max_memory_bytes == 0) return {};
  const uint64_t limit = grows ? options_.max_memory_bytes : waits ? most_kept() : most_memory();
  if (memory() + (added - removed) + entries <= limit) return {};
  ++stats_.throttled;
  return fail(ErrorCode::kThroughputExceeded,
              "The store is at its memory cap (--max-memory-bytes): writes that add data are refused until tasks are "
              "completed or items are deleted. Retry later.");
}

void Committer::apply(Mutation mutation, bool unhurried) {
  hurried_ = hurried_ || !unhurried;
  for (auto& change : mutation) apply_one(change);
  if (batch_.size() > options_.max_batch_bytes) flush();
}

void Committer::apply_one(Change& change) {
  if (change.after) {
    const uint64_t creation = change.before ? change.before.creation() : catalog_.counters.next_creation++;
    change.after.set_place(creation, LiveSegments::kUnplaced);
  }
  if (change.before) catalog_.live.leave(change.before);
  const Table::Statuses statuses = change.table->apply(change);
  catalog_.count(*change.table);
  if (change.table->definition().system) {
    kept_memory_ += kept_beside(*change.table, change.after) - kept_beside(*change.table, change.before);
  }
  const uint64_t sequence = add_to_stream(change);
  if (log_) {
    add_to_batch(change, sequence);
  } else if (sequence) {
    change.table->stream().release_before(sequence + 1);
  }
  if (watcher_ && statuses.from != statuses.to) {
    if (!log_) begin_batch();  // Else the change is in the batch already.
    watcher_->moved({change.table->number(), change.table->definition().name, statuses.from, statuses.to, change.before,
                     change.after, change.cause == Cause::kTimeToLive, batch_time_});
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
  record.at = batch_time_;
  record.keys_of = change.after ? change.after : change.before;
  if (table.stream_wants_before(change.cause)) record.before = change.before;
  record.after = change.after;
  const uint64_t sequence = record.sequence;
  if (options_.trace_links) options_.trace_links->note(table.definition().name, sequence);
  table.stream().add(std::move(record));
  return sequence;
}

void Committer::begin_batch() {
  if (!log_) batch_time_ = scheduler_.clock().wall();
  if (!log_ || !batch_.empty()) return;
  batch_time_ = scheduler_.clock().wall();
  append_batch_header(batch_, batch_time_);
}

void Committer::add_to_batch(const Change& change, uint64_t sequence) {
  begin_batch();
  StoredChange stored;
  stored.sequence = sequence;
  stored.by_ttl = change.cause == Cause::kTimeToLive;
  if (sequence && change.before && change.table->stream_wants_before(change.cause))
    stored.before = change.before.encoded();
  if (change.after) {
    stored.kind = change.before ? ChangeRecord::Kind::kModify : ChangeRecord::Kind::kInsert;
    append_record(batch_, StoredPut{change.table->number(), change.after.creation(), stored, change.after.encoded()});
    placed_.push_back(change.after);
    return;
  }
  stored.kind = ChangeRecord::Kind::kRemove;
  std::string keys;
  append_encoded_keys(keys, change.before, change.table->definition().keys);
  append_record(batch_, StoredDelete{change.table->number(), stored, keys});
}

void Committer::log_table(Table& table) {
  if (!log_) return;
  begin_batch();
  hurried_ = true;
  append_record(batch_,
                StoredTable{table.number(), table.stored(), table.stream().next(), table.stream().bounds().oldest});
}

void Committer::log_closed(const ClosedEntry& closed) {
  if (!log_) return;
  begin_batch();
  hurried_ = true;
  ClosedStream stream = closed.description;
  stream.bounds = closed.bounds();
  append_record(batch_, StoredClosedStream{closed.table, std::move(stream), closed.stream->next()});
}

void Committer::log_drop(const Table& table) {
  if (table.definition().system) {
    for (const auto& entry : table.items()) kept_memory_ -= kept_beside(table, entry.item);
  }
  if (!log_) return;
  begin_batch();
  hurried_ = true;
  append_drop_record(batch_, table.number());
}

void Committer::append_changed_flows() {
  for (const auto& entry : catalog_.tables()) {
    Table& table = *entry.second;
    if (!table.books() || table.is_opening_books() || !table.books()->has_changed()) continue;
    table.books()->take_changed([&](const Arrow& arrow, uint64_t value) {
      append_record(batch_, StoredFlow{table.number(), arrow, value});
    });
  }
}

std::string Committer::checkpoint() const {
  std::string out;
  append_record(out, catalog_.counters);
  for (const auto& closed : catalog_.closed()) {
    ClosedStream stream = closed.description;
    stream.bounds = closed.bounds();
    append_record(out, StoredClosedStream{closed.table, std::move(stream), closed.stream->logged_next()});
  }
  for (const auto& entry : catalog_.tables()) {
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

Result<LogPosition> Committer::append(BatchKind kind, const std::string& payload) {
  if (!log_->starts_segment(payload.size())) return log_->append(kind, payload);
  // The checkpoint says what holds after this batch; said first, it lets replay begin here.
  std::string whole = payload.substr(0, kPayloadHeaderBytes);
  whole += checkpoint();
  whole.append(payload, kPayloadHeaderBytes);
  return log_->append(kind, whole);
}

bool Committer::flush() {
  if (failure_) return false;
  if (batch_.empty()) return true;
  append_changed_flows();
  const BootTime began = scheduler_.clock().boot();
  const auto at = append(BatchKind::kCommit, batch_);
  if (!at) {
    report(at.error());
    if (!failure_) FRESHET_REACHED("the disk has no room for a batch");
    stalled_ = !failure_;
    no_descriptors_ = at.error().code == ErrorCode::kUnavailable;
    return false;
  }
  if (stalled_) FRESHET_REACHED("a stalled store goes on");
  stalled_ = false;
  stats_.appended_bytes += batch_.size();
  ++stats_.batches;
  for (const auto& item : placed_) catalog_.live.place(item, at->segment);
  placed_.clear();
  batch_.clear();
  // Only if each turn has its sync is there a sync worth delaying.
  const bool hurried = hurried_ || !waiters_.empty() || options_.durability.mode != DurabilityMode::kSync;
  Release release{log_->last_sequence(), began, {}, std::move(waiters_), hurried};
  waiters_.clear();
  hurried_ = false;
  if (hurried) wanted_ = release.log_sequence;
  catalog_.each_stream([&](uint32_t table, ChangeStream& stream) {
    if (stream.logged_next() == stream.next()) return;
    stream.logged(*at);
    release.streams.emplace_back(table, stream.next());
  });
  if (FRESHET_PLANTED("stream-shown-before-durable")) {
    for (const auto& [number, sequence] : release.streams) {
      if (ChangeStream* stream = catalog_.stream_of(number, sequence - 1)) stream->release_before(sequence);
    }
  }
  unreleased_.push_back(std::move(release));
  catalog_.stream_memory().shrink();
  refresh_space();
  return true;
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
  wanted_ = log_->last_sequence();
  for (const auto& [table, item] : items) catalog_.live.place(item, at->segment);
  stats_.moved_bytes += payload.size();
  refresh_space();
  return true;
}

bool Committer::roll() {
  auto rolled = log_->roll();
  if (!rolled) report(rolled.error());
  refresh_space();
  return rolled.has_value();
}

void Committer::commit() {
  if (!log_ || failure_) return;
  flush();
  if (failure_) return;
  const BootTime now = scheduler_.clock().boot();
  if (now >= rest_due()) wanted_ = log_->last_sequence();
  // A new segment may have synced the last batch already.
  const bool syncs = log_->durable_sequence() < wanted_ || log_->syncing();
  if (syncs || now >= log_->sync_due()) {
    log_->set_reserve(reserve_bytes());
    const bool busy = now < beside_until_;
    const Waiting waiting = busy ? Waiting::kBusy : in_bulk_ ? Waiting::kFew : Waiting::kMany;
    if (auto ok = log_->sync(now, waiting, wanted_); !ok) report(ok.error());
    in_bulk_ = false;
    refresh_space();  // There may be space again, even if nothing was written.
  }
  if (!failure_) release();
  if (!lulls_.empty()) end_lulls(syncs);
}

// The time at which unhurried writes are synced if nothing else is.
BootTime Committer::rest_due() const {
  if (unreleased_.empty() || unreleased_.back().log_sequence <= wanted_) return BootTime::max();
  const auto first = std::partition_point(unreleased_.begin(), unreleased_.end(),
                                          [this](const Release& one) { return one.log_sequence <= wanted_; });
  return first->appended_at + kRest;
}

void Committer::release() {
  const uint64_t durable = log_->durable_sequence();
  while (!unreleased_.empty() && unreleased_.front().log_sequence <= durable) {
    Release release = std::move(unreleased_.front());
    unreleased_.pop_front();
    if (release.hurried) count_commit(release.appended_at);
    for (const auto& [number, sequence] : release.streams) {
      if (ChangeStream* stream = catalog_.stream_of(number, sequence - 1)) stream->release_before(sequence);
    }
    for (const auto& waiter : release.waiters) waiter.set({});
  }
}

void Committer::count_commit(BootTime appended_at) {
  const BootTime now = scheduler_.clock().boot();
  const nanoseconds took = now - appended_at;
  stats_.commits.add(took);
  if (took < kStall || options_.durability.mode != DurabilityMode::kSync) return;
  beside_until_ = std::max(beside_until_, now + std::min<nanoseconds>(kStalling * took, kLongestStalling));
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
  for (auto& release : unreleased_) {
    for (const auto& waiter : release.waiters) waiter.set(fail(*failure_));
  }
  for (const auto& waiter : waiters_) waiter.set(fail(*failure_));
  unreleased_.clear();
  waiters_.clear();
  end_lulls(true);
  catalog_.each_stream([](uint32_t, ChangeStream& stream) { stream.wake(); });
  if (options_.on_failure) options_.on_failure(*failure_);
}

Async<Result<void>> Committer::durable() {
  if (failure_) return Result<void>(fail(*failure_));
  if (!log_ || (batch_.empty() && unreleased_.empty())) return Result<void>{};
  if (batch_.empty() && FRESHET_PLANTED("reads-answered-before-durable")) return Result<void>{};
  return wait_durable();
}

Async<Result<void>> Committer::wait_durable() {
  Promise<Result<void>> promise(scheduler_);
  if (batch_.empty()) {
    wanted_ = std::max(wanted_, unreleased_.back().log_sequence);
    unreleased_.back().waiters.push_back(promise);
  } else {
    waiters_.push_back(promise);
  }
  auto result = co_await promise.future();
  co_return result;
}

Async<void> Committer::lull(BootTime latest) {
  if (!log_ || failure_) return {};
  return wait_lull(latest);
}

Async<void> Committer::wait_lull(BootTime latest) {
  struct Timer {
    Scheduler& scheduler;
    TimerId id;
    ~Timer() { scheduler.cancel(id); }
  };
  Promise<bool> now(scheduler_);
  lulls_.push_back(now);
  Timer timer{scheduler_, scheduler_.call_at(latest, [now] { now.set(true); })};
  co_await now.future();
}

void Committer::end_lulls(bool now) {
  if (now) {
    for (const auto& lull : lulls_) lull.set(true);
  }
  std::erase_if(lulls_, [](const auto& lull) { return lull.is_set(); });
}

BootTime Committer::next_due() const {
  if (!log_ || failure_) return BootTime::max();
  const BootTime now = scheduler_.clock().boot();
  if (!batch_.empty()) return stalled_ ? now + milliseconds(100) : now;
  // A small sync was postponed: the clients that waited for the previous one are answered first.
  if (log_->durable_sequence() < wanted_ && !log_->syncing() && options_.durability.mode == DurabilityMode::kSync) {
    return now;
  }
  return std::min(log_->sync_due(), rest_due());
}

EmbeddedStats Committer::stats() const {
  EmbeddedStats stats = stats_;
  for (const auto& [name, table] : catalog_.tables()) stats.items += table->items().size();
  stats.memory_bytes = memory();
  stats.live_bytes = live_bytes_;
  if (log_) {
    stats.log_bytes = log_->bytes_used();
    stats.log_bytes_left = log_->bytes_left();
  }
  return stats;
}

}  // namespace freshet
