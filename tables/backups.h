// Backups of whole tables, on demand: a part of the store seam. A backup has the items that the table had at one
// moment, when create() was called; a table that is restored from it has them again.
//
// Both take many turns: create() and restore() answer at once, and the description says when it is done. Loop thread
// only.
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
  bool available = false;  // Complete and durable.
  TableDescription table;  // As it was then.
};

struct ListBackupsInput {
  std::string table;             // Empty for all.
  std::optional<WallTime> from;  // Made then or later.
  std::optional<WallTime> before;
  std::string after;  // The id of the backup behind which to go on.
  size_t limit = 100;
};

struct BackupPage {
  std::vector<BackupDescription> backups;  // By id: the oldest first.
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
  // The backup as it was. kBackupNotFound; kBackupInUse while it is made, or a table is restored from it.
  virtual Async<Result<BackupDescription>> remove(std::string id) = 0;
  // A new table with the backup's items; goes on after a restart. `definition` has the keys of the backup's table and
  // some of its indexes. kBackupNotFound; kBackupInUse while the backup is made; kTableAlreadyExists, kTableInUse (it
  // is being restored already); kLimitExceeded when it does not fit into the store; kValidation.
  virtual Async<Result<TableDescription>> restore(std::string id, TableDefinition definition) = 0;
};

}  // namespace freshet
