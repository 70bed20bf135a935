// Copies tables from one store to another: their definitions and all items. Nobody may write to either store meanwhile.
// To continue an interrupted copy, run it again: items that are there already are compared, and not written.
//
// Loop thread. Stores and callbacks must outlive the work.
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
  // Called with the number of items that were processed so far, and a word for the step, such as "copied".
  std::function<void(const std::string& table, const std::string& doing, uint64_t items)> on_progress;
  // The scheduler for waiting while a store is throttled, for as long as that takes. Null: a throttled copy fails.
  Scheduler* scheduler = nullptr;
  // The most items of an existing target table that are remembered, with 16 bytes for each; others are looked up.
  size_t most_known = 4'000'000;
  std::function<bool()> is_stopped;  // Returns true to end the copy after the current page.
};

struct CopiedTable {
  std::string table;
  uint64_t items = 0;                      // In the source.
  uint64_t bytes = 0;                      // Their size, as the service counts it.
  uint64_t copied = 0;                     // Written by this copy.
  uint64_t there = 0;                      // Already there, and equal.
  bool created = false;                    // True if this copy created the table.
  std::map<std::string, uint64_t> states;  // For a table of tasks: items by taskStatus.
  // Set if the copy is complete and compared, but its ttl could not be switched on. Run the same copy again for that.
  std::optional<Error> without_ttl;
};

// Returns one entry for each table, ordered by name. On success both sides have been read again and are equal, item by
// item. Streams and ttl of new tables are switched on at the end, so that nothing happens to items while they are
// copied. Memory is bounded, however many items there are. Errors:
//   kNotFound     a named table is not in the source
//   kValidation   a named table is Freshet's own
//   kConflict     the target has the table with other keys or indexes, or an item with another content; the two differ
//                 at the end, as somebody wrote meanwhile; or a table has a ttl in milliseconds, which an engine does
//                 not have: nothing is copied then
//   kCancelled    is_stopped()
Async<Result<std::vector<CopiedTable>>> copy_tables(Tables& from, Tables& to, CopyOptions options);

}  // namespace freshet::engines
