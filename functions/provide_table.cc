#include "functions/provide_table.h"

namespace freshet {

Async<Result<TableDefinition>> provide_table(Tables& tables, TableDefinition wanted) {
  const std::string name = wanted.name;
  auto described = co_await tables.describe_table(name);
  if (!described && described.error().code == ErrorCode::kResourceNotFound) {
    described = co_await tables.create_table(std::move(wanted));
    // Somebody else may have been faster.
    if (!described && described.error().code == ErrorCode::kResourceInUse) {
      described = co_await tables.describe_table(name);
    }
  }
  if (!described) co_return fail(described.error().code, "table '" + name + "': " + described.error().message);
  co_return std::move(described->definition);
}

}  // namespace freshet
