// The books of one table, as OwnedTables keeps them. Only its own files include this.
#pragma once

#include <optional>
#include <string>

#include "tables/owned/owned_tables.h"

namespace freshet {

struct OwnedTables::Kept {
  BooksDefinition definition;
  std::string table_id;
  KeptBooks books{};
  bool is_counted = false;
  bool is_over = false;  // The table is gone, or has no books any more.
  // The condition of the books that the counter waits for; null while it does not wait.
  bool (KeptBooks::*awaited)() const = nullptr;
  std::optional<Promise<bool>> woken{};
};

}  // namespace freshet
