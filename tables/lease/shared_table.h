// Tables of a fleet in the shared store. Loop thread. The store must outlive the Asyncs.
#pragma once

#include <string>
#include <string_view>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

// Creates the table unless it exists. Errors name it: the store's, and kValidation for a table with another key.
// `what`: the part of Freshet that needs it, for that error. `keys`: one string, or a partition and a sort key that are
// strings.
Async<Result<void>> provide_shared_table(Tables& tables, std::string name, KeySchema keys, std::string what);

inline constexpr std::string_view kIdAttribute = "id";

KeySchema id_keys();
Item id_key(std::string id);

// The same for a table whose only key is the string `id`.
Async<Result<void>> provide_id_table(Tables& tables, std::string name, std::string what);

}  // namespace freshet
