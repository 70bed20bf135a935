// Backups of whole tables, on demand: a part of the store seam. A backup holds the items that the table had when
// create() was called; restore() makes a new table with them.
//
// Both take many turns: create() and restore() answer at once, and the description says when the work is done. Loop
// thread only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "tables/definition.h"

namespace freshet {

struct BackupDescription {
  std::string id;  // "01489173575360-b308cd7d": epoch ms of its creation, and a random part.
  std::string name;
  WallTime created{};
  bool available = false;  // True once it is complete and durable.
  TableDescription table;  // The table's description when the backup was made.
};

struct ListBackupsInput {
  std::string table;             // Empty: backups of all tables.
  std::optional<WallTime> from;  // Only backups made at this time or later.
  std::optional<WallTime> before;
  std::string after;  // Continue after the backup with this id.
  size_t limit = 100;
};

struct BackupPage {
  std::vector<BackupDescription> backups;  // Ordered by id, so the oldest is first.
  bool more = false;
};

class Backups {
 public:
  virtual ~Backups() = default;

  // kTableNotFound; kTableInUse while the table itself is restored; kBackupInUse while another backup of it is made;
  // kLimitExceeded when there are too many of them, or no space for it. A backup that cannot be completed (the disk is
  // full, the process ends) is gone.
  virtual Async<Result<BackupDescription>> create(std::string table, std::string name) = 0;
  // kBackupNotFound.
  virtual Async<Result<BackupDescription>> describe(std::string id) = 0;
  virtual Async<Result<BackupPage>> list(ListBackupsInput input) = 0;
  // Deletes the backup; returns its last description. kBackupNotFound; kBackupInUse while it is made or restored from.
  virtual Async<Result<BackupDescription>> remove(std::string id) = 0;
  // Makes a new table with the backup's items; continues after a restart. `definition` has the keys of the backup's
  // table and some of its indexes. kBackupNotFound; kBackupInUse while the backup is being made; kTableAlreadyExists;
  // kTableInUse (it is already being restored); kLimitExceeded if it does not fit into the store; kValidation.
  virtual Async<Result<TableDescription>> restore(std::string id, TableDefinition definition) = 0;
};

}  // namespace freshet
