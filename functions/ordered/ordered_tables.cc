#include "functions/ordered/ordered_tables.h"

namespace freshet::ordered {

Async<Result<GuardedTable*>> OrderedTables::open(Definition definition) {
  const Settings& wanted = definition.settings;
  for (const auto& [name, other] : by_name_) {
    if (name == wanted.name) co_return fail(ErrorCode::kConflict, "there are two ordered writes '" + name + "'");
    if (other->settings().table == wanted.table) {
      co_return fail(ErrorCode::kConflict, "ordered writes '" + name + "' and '" + wanted.name +
                                               "' are both of table '" + wanted.table + "'");
    }
  }
  auto opened = co_await GuardedTable::open(tables_, clock_, std::move(definition));
  if (!opened) co_return fail(opened.error());
  co_return by_name_.add(std::move(*opened));
}

}  // namespace freshet::ordered
