// Tables of a fleet in the shared store whose only key is the string `id`. Loop thread. The store must outlive the
// Asyncs.
#pragma once

#include <string>
#include <string_view>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr std::string_view kIdAttribute = "id";

Item id_key(std::string id);

// Creates the table unless it exists. Errors name it: the store's, and kValidation for a table with another key.
// `what`: the part of Freshet that needs it, for that error.
Async<Result<void>> provide_id_table(Tables& tables, std::string name, std::string what);

}  // namespace freshet
