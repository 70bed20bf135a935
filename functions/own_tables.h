// The names of Freshet's own tables, which no definition of a queue or of ordered writes may use.
#pragma once

#include <string>

#include "base/result.h"
#include "tables/definition.h"

namespace freshet {

// kValidation for such a name.
inline Result<void> check_not_own_table(const std::string& table) {
  if (!table.starts_with(kSystemTablePrefix)) return {};
  return invalid("table '" + table + "': names that start with '" + std::string(kSystemTablePrefix) +
                 "' are Freshet's own");
}

}  // namespace freshet
