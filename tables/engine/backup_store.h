// Makes backups and restores tables from them. Each backup is a file in the directory "backups" beside the log. The
// work goes in bounded steps, one a turn; a file gets the name of a backup only when it is complete and durable. Loop
// thread only.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "tables/engine/backup_file.h"
#include "tables/engine/committer.h"
#include "tables/engine/snapshot.h"
#include "tables/log/trash.h"

namespace freshet {

class BackupStore final : public Backups {
 public:
  // All outlive this.
  BackupStore(const Clock& clock, Random& random, Catalog& catalog, Committer& committer,
              const EmbeddedOptions& options)
      : clock_(clock), random_(random), catalog_(catalog), committer_(committer), options_(options) {}
  BackupStore(const BackupStore&) = delete;
  BackupStore& operator=(const BackupStore&) = delete;
  ~BackupStore() override;

  // Call it after recovery: finds the existing backups, deletes unfinished ones, and continues tables that were being
  // restored. Damaged files and files of a later version are named in a warning and left alone. `files` is null for a
  // store without a log: its backups live in memory.
  Result<void> open(Files* files);

  Async<Result<BackupDescription>> create(std::string table, std::string name) override;
  Async<Result<BackupDescription>> describe(std::string id) override;
  Async<Result<BackupPage>> list(ListBackupsInput input) override;
  Async<Result<BackupDescription>> remove(std::string id) override;
  Async<Result<TableDescription>> restore(std::string id, TableDefinition definition) override;

  // True while a backup of the table is being made; until it is done, the table cannot be deleted.
  bool is_backing_up(const Table& table) const;

  void run_due();
  BootTime next_due() const;

 private:
  struct Backup {
    BackupDescription description;
    uint64_t file_bytes = 0;
  };
  // A backup that is being made.
  struct Making {
    std::string id;
    Table* table;
    Snapshot snapshot;
    std::unique_ptr<BackupWriter> writer;
    bool all_written = false;
    uint64_t synced = 0;          // Bytes written before the last completed sync.
    uint64_t syncing = 0;         // Bytes written before the sync that is running.
    std::optional<Error> failed;  // Set if the backup is to be given up.
  };
  // A table that is being restored.
  struct Restoring {
    std::string id;
    uint32_t table;
    std::unique_ptr<BackupReader> reader;
    std::vector<ItemRef> block;  // Items that were read and are not in the table yet, from `next` on.
    size_t next = 0;
    BootTime blocked_until{};
    std::optional<Async<Result<void>>> durable;  // Set once all items are in the table. The backup stays until they are
                                                 // durable.

    bool is_over() const { return durable && durable->is_ready(); }
  };

  std::string path(const std::string& id) const;
  std::string part_path(const std::string& id) const;
  Result<void> find_backups();
  void resume(Table& table);
  std::string new_id(WallTime at);
  Result<void> admit_backup(const Table& table);
  Result<void> admit_restore(const TableDescription& source);

  void step(std::unique_ptr<Making>& making);
  Result<bool> advance(Making& making);  // True when the backup is complete.
  bool is_far_ahead(const Making& making) const;
  bool waits_for_sync(const Making& making) const;
  Result<void> write_some(Making& making);
  Result<bool> sync_some(Making& making);  // Returns true when everything is durable.
  Result<void> publish(const Making& making);
  void give_up(const Making& making, const Error& error);
  void end(const Making& making);

  bool step(Restoring& restoring);  // Returns false when nothing is left to restore.
  Result<bool> load_some(Restoring& restoring);
  void drop(Table& table, const Error& error);
  void clear_trash();
  void account();
  void warn(const std::string& table, const std::string& what) const;

  const Clock& clock_;
  Random& random_;
  Catalog& catalog_;
  Committer& committer_;
  const EmbeddedOptions& options_;

  std::unique_ptr<Files> own_files_;  // Used by a store without a log.
  Files* files_ = nullptr;
  std::string directory_;
  std::unique_ptr<Trash> trash_;
  std::map<std::string, Backup, std::less<>> backups_;  // By id; includes backups that are being made.
  uint64_t complete_bytes_ = 0;                         // The bytes of all complete backups.
  std::deque<std::unique_ptr<Making>> making_;          // The first one is next.
  std::deque<Restoring> restoring_;
  const Making* syncing_ = nullptr;  // The backup whose file options_.backup_sync is syncing.
};

}  // namespace freshet
