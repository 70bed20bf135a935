// Definitions of ordered writes, from a file. The form: docs/ordered-writes.md.
#pragma once

#include <string_view>
#include <vector>

#include "functions/ordered/settings.h"

namespace freshet::ordered {

struct Definition {
  Settings settings;
  KeySchema keys;  // The keys with which the table is made if it does not exist.
};

// One object, or {"ordered_writes": [...]}: at least one. kValidation naming the member: unknown ones, wrong types,
// settings that validate() refuses.
Result<std::vector<Definition>> read_definitions(std::string_view json);

}  // namespace freshet::ordered
