#include "functions/table_built.h"

#include <algorithm>

#include "tables/traits.h"

namespace freshet {

namespace {

constexpr seconds kLookAtEngine{2};  // Each look is a request, and building takes minutes there.

Async<bool> is_building(Services& services, std::string table) {
  std::string copy = table;
  const auto described = co_await services.tables.describe_table(std::move(copy));
  // An engine that does not answer for a while, or answers 500, goes on building.
  if (!described) co_return is_passing(described.error()) || described.error().code == ErrorCode::kInternal;
  const auto building = [](const IndexState& index) { return index.building; };
  if (std::any_of(described->indexes.begin(), described->indexes.end(), building)) co_return true;
  const auto books = co_await services.tables.books(std::move(table));
  co_return !books && books.error().code == ErrorCode::kUnavailable;
}

}  // namespace

Async<void> table_built(Services& services, std::string table) {
  for (;;) {
    std::string copy = table;
    const bool building = co_await is_building(services, std::move(copy));
    if (!building) co_return;
    // The embedded store builds a part in each turn.
    const bool is_immediate = services.tables.traits().has(Trait::kImmediate);
    co_await sleep_for(services.scheduler, is_immediate ? nanoseconds(0) : nanoseconds(kLookAtEngine));
  }
}

std::string lacking(const TableDefinition& wanted, const TableDefinition& there) {
  std::string names;
  for (const IndexDefinition& index : wanted.indexes) {
    const IndexDefinition* same = there.index(index.name);
    if (same != nullptr && *same == index) continue;
    names.append(names.empty() ? "index '" : ", index '").append(index.name).append("'");
  }
  return names.empty() ? "its books" : names;
}

}  // namespace freshet
