// Copies tables from one store to another: their definitions and all items, while nobody writes to either. A copy that
// was ended in the middle goes on where it stopped: what is there already is compared, and left alone.
//
// Loop thread. Stores and callbacks outlive the work.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "tables/tables.h"

namespace freshet::engines {

struct CopyOptions {
  std::vector<std::string> tables;  // Empty: all but Freshet's own.
  bool only_count = false;          // Reads the source and changes nothing.
  // Called with the number of items of the table that were looked at so far, and what was done with them: "copied".
  std::function<void(const std::string& table, const std::string& doing, uint64_t items)> on_progress;
  // Waits here while a store has no capacity: as long as it takes. Null: a throttled copy ends.
  Scheduler* scheduler = nullptr;
  // The most items of a table that was there before that are remembered, with 16 bytes for each; others are looked up.
  size_t most_known = 4'000'000;
  std::function<bool()> is_stopped;  // True ends the copy after the page that is under way.
};

struct CopiedTable {
  std::string table;
  uint64_t items = 0;                      // In the source.
  uint64_t bytes = 0;                      // Their size, as the service counts it.
  uint64_t copied = 0;                     // Written now.
  uint64_t there = 0;                      // They were there already, and equal.
  bool created = false;                    // The table was made.
  std::map<std::string, uint64_t> states;  // For a table of tasks: items by taskStatus.
  // Set if the copy is whole and compared, but its ttl could not be switched on. The same copy tries it again.
  std::optional<Error> without_ttl;
};

// One entry for each table, in the order of their names. Afterwards both sides have been read again and are equal, item
// by item. Streams and ttl of new tables are switched on at the end, so that nothing happens to items while they are
// copied. Memory is bounded, however many items there are. Errors:
//   kNotFound     a named table is not in the source
//   kValidation   a named table is Freshet's own
//   kConflict     the target has the table with other keys or indexes, or an item with another content; the two differ
//                 at the end, as somebody wrote meanwhile; or a table has a ttl in milliseconds, which an engine does
//                 not have: nothing is copied then
//   kCancelled    is_stopped()
Async<Result<std::vector<CopiedTable>>> copy_tables(Tables& from, Tables& to, CopyOptions options);

}  // namespace freshet::engines
