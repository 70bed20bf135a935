// The books of one table, as OwnedTables keeps them. Only its own files include this.
#pragma once

#include <string>

#include "tables/owned/owned_tables.h"

namespace freshet {

struct OwnedTables::Kept {
  BooksDefinition definition;
  std::string table_id;
  KeptBooks books{};
  bool is_counted = false;
  bool is_over = false;  // The table is gone, or has no books any more.
};

}  // namespace freshet
