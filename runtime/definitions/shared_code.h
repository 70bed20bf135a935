// Uploaded code of the functions of a fleet, in the table of its definitions (docs/formats.md): an item that says what
// there is, by the name of the code's folder, and its bytes in pieces.
//
// Code is complete before a definition names it, and that definition is written on the condition that the code is still
// there (is_there()). Code that no definition names is removed on the condition that no definition was changed
// meanwhile. Loop thread. The store must outlive the Asyncs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/async.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "tables/tables.h"

namespace freshet {

// Writes the code, unless it is there already. `folder`: the name of its folder.
Async<Result<void>> store_code(Tables& tables, Scheduler& scheduler, Random& random, std::string folder,
                               std::string archive);

// kNotFound: there is no such code. kCorruption: it is damaged.
Async<Result<std::string>> read_code(Tables& tables, std::string folder);

// The condition of a definition that names it.
ConditionCheckInput is_there(const std::string& folder);

// Removes all code but that of `used`, as it is at that version of the definitions; not what was written within the
// last minute. Goes on with what an earlier call has begun. Returns how many it has removed.
Async<Result<size_t>> remove_unused_code(Tables& tables, Scheduler& scheduler, std::set<std::string> used,
                                         uint64_t version);

// Code that was written is older than that when it may be removed.
inline constexpr seconds kCodeIsNewFor{60};

}  // namespace freshet
