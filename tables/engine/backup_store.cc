#include "tables/engine/backup_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "tables/engine/keys.h"

namespace freshet {
namespace {

constexpr std::string_view kSuffix = ".backup";
constexpr std::string_view kPartSuffix = ".part";
constexpr size_t kStepBytes = 256u << 10;
constexpr uint64_t kSyncBytes = 4u << 20;           // The most bytes between two syncs, so that no sync takes long.
constexpr uint64_t kMostUnsynced = 2 * kSyncBytes;  // however slow the disk is.
constexpr size_t kMostAtOnce = 50;       // The most backups being made and tables being restored, as on the service.
constexpr size_t kMostBackups = 10'000;  // The most backups: the description of each stays in memory.
constexpr uint64_t kKnownMemory = 1536;  // The approximate memory for the description of one backup.
constexpr milliseconds kRetryPause{100};

template <class T>
tl::unexpected<Error> not_found(const T& id) {
  return fail(ErrorCode::kBackupNotFound, fmt::format("Backup not found: {}", id));
}

}  // namespace

BackupStore::~BackupStore() {
  if (syncing_) (void)options_.backup_sync->end();
  for (const auto& making : making_) making->table->observe(nullptr);
}

std::string BackupStore::path(const std::string& id) const {
  return directory_ + "/" + id + std::string(kSuffix);
}
std::string BackupStore::part_path(const std::string& id) const {
  return directory_ + "/" + id + std::string(kPartSuffix);
}

void BackupStore::warn(const std::string& table, const std::string& what) const {
  if (options_.on_warning) options_.on_warning(table, what);
}

Result<void> BackupStore::open(Files* files) {
  if (!committer_.log()) own_files_ = make_memory_files();
  files_ = own_files_ ? own_files_.get() : files;
  directory_ = options_.directory + "/backups";
  if (auto made = files_->create_directories(directory_); !made) return made;
  // The log's own files do not make its directory durable again before the next segment.
  if (!own_files_) {
    if (auto synced = files_->sync_directory(options_.directory); !synced) return synced;
  }
  trash_ = std::make_unique<Trash>(*files_, directory_);
  if (auto found = find_backups(); !found) return found;
  account();
  std::vector<Table*> unfinished;
  for (const auto& [name, table] : catalog_.tables()) {
    if (table->is_restoring()) unfinished.push_back(table.get());
  }
  for (Table* table : unfinished) resume(*table);
  return {};
}

Result<void> BackupStore::find_backups() {
  auto names = files_->list(directory_);
  if (!names) return fail(names.error());
  if (auto cleared = trash_->clear(*names); !cleared) return cleared;
  for (const std::string& name : *names) {
    if (Trash::is_trash(name)) continue;
    if (name.ends_with(kPartSuffix)) {
      if (auto removed = files_->remove(directory_ + "/" + name); !removed) return removed;
    }
    if (!name.ends_with(kSuffix)) continue;
    auto reader = BackupReader::open(*files_, directory_ + "/" + name);
    auto bytes = reader ? (*reader)->bytes() : Result<uint64_t>(fail(reader.error()));
    if (!bytes) {
      warn({}, bytes.error().message + "; it is left alone");
      continue;
    }
    BackupDescription description = (*reader)->backup();
    description.available = true;
    std::string id = name.substr(0, name.size() - kSuffix.size());
    description.id = id;
    backups_[std::move(id)] = {std::move(description), *bytes};
    complete_bytes_ += *bytes;
  }
  // An earlier process may have ended before the name of its last one was durable.
  return backups_.empty() ? Result<void>{} : files_->sync_directory(directory_);
}

// Skips items that have been restored already: nobody can have changed them.
void BackupStore::resume(Table& table) {
  const std::string id = table.restored()->backup;
  auto reader = backups_.contains(id) ? BackupReader::open(*files_, path(id))
                                      : Result<std::unique_ptr<BackupReader>>(not_found(id));
  if (!reader) return drop(table, reader.error());
  restoring_.push_back({id, table.number(), std::move(*reader), {}, 0, {}, {}});
}

// In a bounded store backups count as data; in a store without a log they take memory. Their descriptions take some.
void BackupStore::account() {
  uint64_t bytes = complete_bytes_;
  for (const auto& making : making_) bytes += making->writer->bytes();
  const uint64_t known = backups_.size() * kKnownMemory;
  committer_.room().set_backups(bytes, committer_.log() ? known : known + bytes);
}

std::string BackupStore::new_id(WallTime at) {
  for (;;) {
    std::string id = fmt::format("{:014}-{:08x}", epoch_ms(at), static_cast<uint32_t>(random_.next()));
    if (!backups_.contains(id)) return id;
  }
}

Result<void> BackupStore::admit_backup(const Table& table) {
  if (making_.size() >= kMostAtOnce) {
    return fail(ErrorCode::kLimitExceeded, "Too many backups are being made: at most 50 at a time");
  }
  if (backups_.size() >= kMostBackups) {
    return fail(ErrorCode::kLimitExceeded, "Too many backups: at most 10000");
  }
  return committer_.admit_bulk(table.live_bytes(), committer_.log() ? 0 : table.live_bytes());
}

Async<Result<BackupDescription>> BackupStore::create(std::string name, std::string backup_name) {
  using Out = Result<BackupDescription>;
  if (committer_.failed()) return Out(fail(ErrorCode::kInternal, "The store has failed"));
  Table* table = catalog_.find_any(name);
  if (!table) return Out(fail(ErrorCode::kTableNotFound, "Table not found: " + name));
  if (table->is_restoring()) return Out(fail(ErrorCode::kTableInUse, "Table is being created: " + name));
  if (is_backing_up(*table)) {
    return Out(fail(ErrorCode::kBackupInUse, "Another backup of the table is being created: " + name));
  }
  if (auto ok = admit_backup(*table); !ok) return Out(fail(ok.error()));
  BackupDescription backup;
  backup.created = clock_.wall();
  backup.id = new_id(backup.created);
  backup.name = std::move(backup_name);
  backup.table = table->describe();
  auto writer = BackupWriter::create(*files_, part_path(backup.id), backup);
  if (!writer) {
    (void)files_->remove(part_path(backup.id));  // It may not exist. The next start deletes it.
    const bool full = writer.error().code == ErrorCode::kDiskFull;
    return Out(fail(full ? ErrorCode::kLimitExceeded : ErrorCode::kInternal, writer.error().message));
  }
  making_.push_back(std::unique_ptr<Making>(
      new Making{backup.id, table, Snapshot(table->items()), std::move(*writer), false, 0, 0, {}}));
  table->observe(&making_.back()->snapshot);
  backups_[backup.id] = {backup, 0};
  return Out(std::move(backup));
}

Async<Result<BackupDescription>> BackupStore::describe(std::string id) {
  using Out = Result<BackupDescription>;
  const auto found = backups_.find(id);
  if (found == backups_.end()) return Out(not_found(id));
  return Out(found->second.description);
}

// All may be examined, but only the requested ones are copied.
Async<Result<BackupPage>> BackupStore::list(ListBackupsInput input) {
  BackupPage page;
  const auto wanted = [&](const BackupDescription& backup) {
    return (input.table.empty() || backup.table.definition.name == input.table) &&
           (!input.from || backup.created >= *input.from) && (!input.before || backup.created < *input.before);
  };
  for (auto next = backups_.upper_bound(input.after); next != backups_.end() && !page.more; ++next) {
    if (!wanted(next->second.description)) continue;
    page.more = page.backups.size() == input.limit;
    if (!page.more) page.backups.push_back(next->second.description);
  }
  return Result<BackupPage>(std::move(page));
}

Async<Result<BackupDescription>> BackupStore::remove(std::string id) {
  using Out = Result<BackupDescription>;
  if (committer_.failed()) return Out(fail(ErrorCode::kInternal, "The store has failed"));
  const auto found = backups_.find(id);
  if (found == backups_.end()) return Out(not_found(id));
  if (!found->second.description.available) {
    return Out(fail(ErrorCode::kBackupInUse, "Backup is being created: " + id));
  }
  // The file is deleted at once, but restored items become durable with the log: a crash in between would leave
  // neither.
  const auto needs_it = [&](const Restoring& restoring) { return restoring.id == id && !restoring.is_over(); };
  if (std::any_of(restoring_.begin(), restoring_.end(), needs_it)) {
    return Out(fail(ErrorCode::kBackupInUse, "A table is being restored from the backup: " + id));
  }
  if (auto taken = trash_->take(path(id), found->second.file_bytes); !taken) {
    return Out(fail(ErrorCode::kInternal, taken.error().message));
  }
  BackupDescription description = std::move(found->second.description);
  complete_bytes_ -= found->second.file_bytes;
  backups_.erase(found);
  account();
  return Out(std::move(description));
}

Result<void> BackupStore::admit_restore(const TableDescription& source) {
  if (restoring_.size() >= kMostAtOnce) {
    return fail(ErrorCode::kLimitExceeded, "Too many tables are being restored: at most 50 at a time");
  }
  constexpr uint64_t kItemMemory = 40;  // A block's memory beside its bytes.
  const uint64_t log = source.bytes + source.items * kRecordOverhead;
  const uint64_t memory =
      source.bytes + source.items * (kItemMemory + kEntryMemory * (1 + source.definition.indexes.size()));
  return committer_.admit_bulk(log, memory);
}

Async<Result<TableDescription>> BackupStore::restore(std::string id, TableDefinition definition) {
  using Out = Result<TableDescription>;
  if (committer_.failed()) return Out(fail(ErrorCode::kInternal, "The store has failed"));
  if (auto ok = validate(definition); !ok) return Out(fail(ok.error()));
  const auto found = backups_.find(id);
  if (found == backups_.end()) return Out(not_found(id));
  const BackupDescription& backup = found->second.description;
  if (!backup.available) return Out(fail(ErrorCode::kBackupInUse, "Backup is being created: " + id));
  if (const Table* table = catalog_.find_any(definition.name)) {
    if (table->is_restoring()) {
      return Out(fail(ErrorCode::kTableInUse, "Table is being created: " + definition.name));
    }
    return Out(fail(ErrorCode::kTableAlreadyExists, "Table already exists: " + definition.name));
  }
  FRESHET_CHECK(definition.keys == backup.table.definition.keys, "a table is restored with the keys it had");
  if (auto ok = admit_restore(backup.table); !ok) return Out(fail(ok.error()));
  auto reader = BackupReader::open(*files_, path(id));
  if (!reader) return Out(fail(ErrorCode::kInternal, reader.error().message));
  TableDescription description;
  description.id = random_.uuid();
  description.created = clock_.wall();
  description.definition = std::move(definition);
  description.restored = RestoreOrigin{id, backup.table.definition.name, description.created, true};
  Table& table = catalog_.add(catalog_.counters.next_table++, std::move(description));
  committer_.log_table(table);
  restoring_.push_back({id, table.number(), std::move(*reader), {}, 0, {}, {}});
  return Out(table.describe());
}

bool BackupStore::is_backing_up(const Table& table) const {
  return std::any_of(making_.begin(), making_.end(), [&](const auto& making) { return making->table == &table; });
}

void BackupStore::run_due() {
  if (!files_ || committer_.failed()) return;
  if (!trash_->empty()) clear_trash();
  if (!making_.empty()) {
    auto making = std::move(making_.front());
    making_.pop_front();
    step(making);
    if (making) making_.push_back(std::move(making));
    account();
  }
  if (!restoring_.empty()) {
    Restoring restoring = std::move(restoring_.front());
    restoring_.pop_front();
    if (step(restoring)) restoring_.push_back(std::move(restoring));
  }
}

BootTime BackupStore::next_due() const {
  if (!files_ || committer_.failed()) return BootTime::max();
  const BootTime now = clock_.boot();
  if (trash_ && !trash_->empty()) return now;
  BootTime due = BootTime::max();
  for (const auto& making : making_) {
    if (!waits_for_sync(*making)) return now;
  }
  for (const auto& restoring : restoring_) {
    // The end of the sync that makes it durable causes a turn, too.
    if (!restoring.durable) due = std::min(due, std::max(now, restoring.blocked_until));
  }
  return due;
}

bool BackupStore::is_far_ahead(const Making& making) const {
  return making.writer->bytes() >= making.synced + kMostUnsynced;
}

// The end of a sync causes a turn.
bool BackupStore::waits_for_sync(const Making& making) const {
  return (making.all_written || making.failed || is_far_ahead(making)) && syncing_ && !options_.backup_sync->over();
}

void BackupStore::clear_trash() {
  if (auto given = trash_->step(); !given) {
    warn({}, given.error().message);
    trash_ = std::make_unique<Trash>(*files_, directory_);  // The next start deletes it.
  }
}

void BackupStore::step(std::unique_ptr<Making>& making) {
  if (!making->failed) {
    const auto complete = advance(*making);
    if (complete && !*complete) return;
    if (!complete) making->failed = complete.error();
  }
  // The sync thread has the file until it is through.
  if (syncing_ == making.get() && !options_.backup_sync->over()) return;
  if (making->failed) give_up(*making, *making->failed);
  end(*making);
  making.reset();
}

Result<bool> BackupStore::advance(Making& making) {
  if (!making.all_written) {
    if (auto ok = write_some(making); !ok) return fail(std::move(ok.error()));
  }
  auto durable = sync_some(making);
  if (!durable || !*durable) return durable;
  if (auto ok = publish(making); !ok) return fail(std::move(ok.error()));
  return true;
}

// Goes far ahead of the disk only with items that writes have replaced, because nobody else keeps those.
Result<void> BackupStore::write_some(Making& making) {
  const uint64_t bytes = std::min<uint64_t>(kStepBytes, making.table->live_bytes());
  if (auto ok = committer_.admit_bulk(bytes, committer_.log() ? 0 : bytes); !ok) return ok;
  std::vector<ItemRef> items;
  const bool more = making.snapshot.take(is_far_ahead(making) ? 0 : options_.backup_step, kStepBytes, items);
  for (const auto& item : items) {
    if (auto ok = making.writer->add(item); !ok) return ok;
  }
  if (more) return {};
  making.all_written = true;
  return making.writer->finish();
}

Result<bool> BackupStore::sync_some(Making& making) {
  BackgroundSync* beside = options_.backup_sync;
  const uint64_t bytes = making.writer->bytes();
  if (syncing_ == &making) {
    if (!beside->over()) return false;
    syncing_ = nullptr;
    if (auto ok = beside->end(); !ok) return fail(ok.error());
    making.synced = making.syncing;
  }
  if (making.all_written && making.synced == bytes) return true;
  if (!making.all_written && bytes < making.synced + kSyncBytes) return false;
  if (syncing_) return false;
  if (!beside) {
    if (auto ok = making.writer->file().sync(); !ok) return fail(ok.error());
    making.synced = bytes;
    return making.all_written;
  }
  making.syncing = bytes;
  syncing_ = &making;
  beside->begin(making.writer->file());
  return false;
}

Result<void> BackupStore::publish(const Making& making) {
  if (auto renamed = files_->rename(part_path(making.id), path(making.id)); !renamed) return renamed;
  if (auto synced = files_->sync_directory(directory_); !synced) return synced;
  Backup& backup = backups_.at(making.id);
  backup.description.available = true;
  backup.file_bytes = making.writer->bytes();
  complete_bytes_ += backup.file_bytes;
  return {};
}

// After a full disk, or any other error of its file: only the backup is lost.
void BackupStore::give_up(const Making& making, const Error& error) {
  warn(making.table->definition().name, "backup " + making.id + " is given up: " + error.message);
  for (const std::string& left : {part_path(making.id), path(making.id)}) {
    (void)trash_->take(left, making.writer->bytes());  // A file that cannot be moved now is deleted by the next start.
  }
  backups_.erase(making.id);
}

void BackupStore::end(const Making& making) {
  if (syncing_ == &making) {
    (void)options_.backup_sync->end();
    syncing_ = nullptr;
  }
  making.table->observe(nullptr);
}

bool BackupStore::step(Restoring& restoring) {
  if (restoring.durable) return !restoring.is_over();
  if (clock_.boot() < restoring.blocked_until) return true;
  Table& table = *catalog_.find_number(restoring.table);  // Nobody can have deleted it.
  auto more = load_some(restoring);
  if (!more) {
    drop(table, more.error());
    return false;
  }
  if (*more) return true;
  table.set_restored();
  committer_.log_table(table);
  restoring.durable.emplace(committer_.durable());
  return true;
}

Result<bool> BackupStore::load_some(Restoring& restoring) {
  Table& table = *catalog_.find_number(restoring.table);
  const KeySchema& keys = table.definition().keys;
  if (restoring.next == restoring.block.size()) {
    auto block = restoring.reader->next();
    if (!block) return fail(block.error());
    if (block->empty()) return false;
    restoring.block = std::move(*block);
    restoring.next = 0;
  }
  // An item counts once for each structure that gets it.
  size_t left = std::max<size_t>(1, options_.backfill_step / (1 + table.definition().indexes.size()));
  for (; restoring.next < restoring.block.size() && left > 0; ++restoring.next, --left) {
    const ItemRef& item = restoring.block[restoring.next];
    const auto key = table_key_of(item, keys);
    if (!key) return fail(ErrorCode::kCorruption, "an item of the backup is without its key");
    if (table.find(*key)) continue;
    Mutation mutation;
    mutation.push_back({&table, {}, item, Cause::kClient, {}});
    if (!committer_.admit(mutation)) {
      restoring.blocked_until = clock_.boot() + kRetryPause;
      return true;
    }
    committer_.apply(std::move(mutation));
  }
  return true;
}

void BackupStore::drop(Table& table, const Error& error) {
  warn(table.definition().name, "the table could not be restored and is dropped: " + error.message);
  committer_.log_drop(table);
  catalog_.remove(table);
}

}  // namespace freshet
