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
  GuardedTable* table = opened->get();
  by_name_.emplace(table->name(), std::move(*opened));
  co_return table;
}

OrderedWrites* OrderedTables::find(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.get();
}

std::vector<std::string> OrderedTables::names() const {
  std::vector<std::string> out;
  for (const auto& [name, table] : by_name_) out.push_back(name);
  return out;
}

}  // namespace freshet::ordered
