#include "tables/lease/id_table.h"

#include <utility>

namespace freshet {

Item id_key(std::string id) {
  Item key;
  key.set(kIdAttribute, Value(std::move(id)));
  return key;
}

Async<Result<void>> provide_id_table(Tables& tables, std::string name, std::string what) {
  auto described = co_await tables.describe_table(name);
  const bool is_missing = !described && described.error().code == ErrorCode::kResourceNotFound;
  if (is_missing) {
    TableDefinition wanted;
    wanted.name = name;
    wanted.keys = {{std::string(kIdAttribute), Type::kString}, {}};
    described = co_await tables.create_table(std::move(wanted));
    // Another daemon may have made it meanwhile.
    if (!described && described.error().code == ErrorCode::kResourceInUse) {
      described = co_await tables.describe_table(name);
    }
  }
  if (!described) {
    Error error = std::move(described.error());
    if (error.message.find(name) == std::string::npos) error.message = "table '" + name + "': " + error.message;
    if (is_missing) error.message += "; its only key is the string 'id'";
    co_return fail(std::move(error));
  }
  const KeySchema& keys = described->definition.keys;
  if (keys.partition.name != kIdAttribute || keys.partition.type != Type::kString || keys.sort) {
    co_return invalid("table '" + name + "' is not that of " + what + ": its key must be the string 'id'");
  }
  co_return Result<void>();
}

}  // namespace freshet
