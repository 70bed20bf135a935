#include "tables/engine/room.h"

#include <string>

namespace freshet {
namespace {

constexpr size_t kOwn = 100'000;              // Expiring items of our own that are not counted as growth.
constexpr uint64_t kTableRecord = 64u << 10;  // A definition with its tags is smaller.
constexpr size_t kGrowth = 256;               // A write that adds more than this counts as growth.

}  // namespace

void Room::set_log(const Log& log) {
  log_ = &log;
  refresh();
  for (const auto& [name, table] : catalog_.tables()) {
    if (!table->definition().system) continue;
    for (const auto& entry : table->items()) kept_memory_ += kept_beside(*table, entry.item);
  }
}

void Room::refresh() {
  space_left_ = log_->bytes_left_beside(backup_bytes_);
  live_bytes_ = 0;
  live_items_ = 0;
  for (const auto& [name, table] : catalog_.tables()) {
    live_bytes_ += table->live_bytes();
    live_items_ += table->items().size();
  }
}

uint64_t Room::memory() const {
  uint64_t bytes = catalog_.memory() + backup_memory_ + kept_memory_;
  if (options_.memory_beside) bytes += options_.memory_beside();
  return bytes;
}

uint64_t Room::kept_beside(const Table& table, const ItemRef& item) const {
  const TableDefinition& definition = table.definition();
  if (!item || !definition.system || definition.ttl_attribute) return 0;
  if (!options_.kept_beside) return 0;
  const auto kind = item.find(definition.keys.partition.name);
  return kind ? options_.kept_beside(kind->key_bytes(), item) : 0;
}

void Room::count_kept(const Change& change) {
  kept_memory_ += kept_beside(*change.table, change.after) - kept_beside(*change.table, change.before);
}

void Room::count_drop(const Table& table) {
  if (!table.definition().system) return;
  for (const auto& entry : table.items()) kept_memory_ -= kept_beside(table, entry.item);
}

void Room::set_backups(uint64_t bytes, uint64_t memory) {
  backup_bytes_ = bytes;
  backup_memory_ = memory;
  if (log_) refresh();
}

// Compaction starts at garbage of a segment and an eighth of what lives (compactor.cc), and needs the floor to work
// with. The reserve lets garbage grow well beyond that before anything but growth is refused, and lets every item take
// on its lease, result and history.
uint64_t Room::reserve_bytes() const {
  return floor_bytes() + 3 * options_.segment_bytes + live_bytes_ / 4 + live_items_ * kGrowth;
}

Result<void> Room::admit_bytes(uint64_t keep, uint64_t bytes) {
  if (stall_ == Stall::kNone && space_left_ >= keep + bytes) return {};
  ++refused_;
  if (stall_ == Stall::kNoDescriptors) {
    return fail(ErrorCode::kThroughputExceeded,
                "The store lacks a file descriptor to open its next file: writes that add data are refused until "
                "connections or files are closed. Retry later, or raise the daemon's limit of open files.");
  }
  return fail(ErrorCode::kThroughputExceeded,
              "The store is out of disk space (or at --max-data-bytes): writes that add data are refused until items "
              "are deleted or expire (as tasks that have ended do), or space is freed. Retry later.");
}

Result<void> Room::admit_record(uint64_t keep, uint64_t pending) {
  return log_ ? admit_bytes(keep, pending + kTableRecord) : Result<void>{};
}

Result<void> Room::admit_bulk(uint64_t bytes, uint64_t memory) const {
  if (log_ && space_left_ < reserve_bytes() + bytes) {
    return fail(ErrorCode::kLimitExceeded, "Not enough disk space (or --max-data-bytes): " + std::to_string(bytes) +
                                               " bytes are needed beside the store's reserve");
  }
  return admit_memory(memory, options_.max_memory_bytes);
}

Result<void> Room::admit_upkeep(uint64_t memory) const {
  return admit_memory(memory, most_memory());
}

Result<void> Room::admit_memory(uint64_t bytes, uint64_t limit) const {
  if (bytes == 0 || limit == 0 || memory() + bytes <= limit) return {};
  return fail(ErrorCode::kLimitExceeded,
              "Not enough memory: " + std::to_string(bytes) + " bytes are needed beside the " +
                  std::to_string(memory()) + " that the store has, and --max-memory-bytes " + "allows " +
                  std::to_string(options_.max_memory_bytes) + ": allow more, or delete items");
}

// The runtime's own items (events, positions) are bounded by itself, and without them nothing would be worked off.
// Tokens of transactions are not: beyond a reasonable number they are data like any other.
Room::Demand Room::demand_of(const Mutation& mutation) const {
  Demand out;
  for (const auto& change : mutation) {
    const size_t before = log_size(change.before);
    const size_t after = log_size(change.after);
    out.bytes += before + after + kRecordOverhead;
    const Table& table = *change.table;
    const bool own = table.definition().system && !(table.definition().ttl_attribute && table.items().size() > kOwn);
    const uint64_t kept = own && !change.before ? kept_beside(table, change.after) : 0;
    if (own && kept == 0) continue;
    out.removed += before;
    out.added += after;
    if (change.after && !change.before) out.entries += kept + kEntryMemory * (1 + table.definition().indexes.size());
    out.waits = out.waits || own;
    out.grows = out.grows || (!own && change.after && (!change.before || after > before + kGrowth));
  }
  // Among several changes, deletes make up for the bytes that the others add, including those of a token.
  out.grows = out.grows && out.added > out.removed;
  return out;
}

Result<void> Room::admit(const Mutation& mutation, uint64_t pending) {
  const Demand demand = demand_of(mutation);
  if (log_) {
    // Completions may use the reserve down to what compaction needs to free more.
    uint64_t keep = demand.grows ? reserve_bytes() : floor_bytes();
    // A batch that is larger than a segment gets a file of its own. The rest beside it may be less than a segment, and
    // is lost to others.
    if (pending + demand.bytes > options_.segment_bytes) keep += options_.segment_bytes;
    if (auto ok = admit_bytes(keep, pending + demand.bytes); !ok) return ok;
  }
  if (demand.added <= demand.removed || options_.max_memory_bytes == 0) return {};
  const uint64_t limit = demand.grows ? options_.max_memory_bytes : demand.waits ? most_kept() : most_memory();
  if (memory() + (demand.added - demand.removed) + demand.entries <= limit) return {};
  ++refused_;
  return fail(ErrorCode::kThroughputExceeded,
              "The store is at its memory cap (--max-memory-bytes): writes that add data are refused until tasks are "
              "completed or items are deleted. Retry later.");
}

}  // namespace freshet
