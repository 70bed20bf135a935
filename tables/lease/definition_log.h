// The definitions that clients make in a fleet (topics, subscriptions, functions), and the log of their changes, in a
// table of the shared store. Each change has the next version. It is one transaction that writes the items, what it has
// changed, and the newest version, on the condition that this is still the one before. So a daemon that has followed
// all changes up to that version decides on what holds, and of two changes at the same time one is refused.
//
// The newest version is an item of the fleet's own table, which every member reads all the time. Loop thread. The store
// must outlive the Asyncs.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr const char* kDefinitionsTable = "freshet-definitions";

KeySchema definitions_keys();

// Creates the table unless it exists. Errors name the table.
Async<Result<void>> provide_definitions_table(Tables& tables);

struct DefinitionKey {
  std::string kind;  // Without a slash.
  std::string id;
  auto operator<=>(const DefinitionKey&) const = default;
};

struct DefinitionChange {
  uint64_t version = 0;
  std::string by;                   // Unique to this change.
  std::vector<DefinitionKey> keys;  // The items that it has written or deleted.
};

// The most writes of one change, and their bytes.
inline constexpr size_t kMaxDefinitionWrites = 90;
inline constexpr size_t kMaxDefinitionBytes = size_t{3} << 20;

// The newest version; 0: nothing was changed yet.
Async<Result<uint64_t>> newest_definitions(Tables& tables);

// Makes a change of definitions, puts and deletes of items of the table: the version `change.version`, after the one
// before. True: it is made, by this call or an earlier one. False: another change has this version. kUnknownOutcome if
// that stays unknown: the change may still be made until another one has the version. All other errors: it is not made.
// `checks` are conditions on other items that the change needs; kUnavailable if one does not hold.
Async<Result<bool>> change_definitions(Tables& tables, Scheduler& scheduler, DefinitionChange change,
                                       std::vector<WriteInput> writes, std::vector<WriteInput> checks);

// The changes after that version, in order. Older ones may be missing, so that the first one is not the next version.
Async<Result<std::vector<DefinitionChange>>> definition_changes(Tables& tables, uint64_t after);

}  // namespace freshet
