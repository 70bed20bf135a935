#include "tables/lease/shared_table.h"

#include <utility>

namespace freshet {

namespace {

std::string text_of(const KeySchema& keys) {
  if (!keys.sort) return "its key must be the string '" + keys.partition.name + "'";
  return "its keys must be the strings '" + keys.partition.name + "' and '" + keys.sort->name + "'";
}

}  // namespace

Async<Result<void>> provide_shared_table(Tables& tables, std::string name, KeySchema keys, std::string what) {
  auto described = co_await tables.describe_table(name);
  const bool is_missing = !described && described.error().code == ErrorCode::kResourceNotFound;
  if (is_missing) {
    TableDefinition wanted;
    wanted.name = name;
    wanted.keys = keys;
    described = co_await tables.create_table(std::move(wanted));
    // Another daemon may have made it meanwhile.
    if (!described && described.error().code == ErrorCode::kResourceInUse) {
      described = co_await tables.describe_table(name);
    }
  }
  if (!described) {
    Error error = std::move(described.error());
    if (error.message.find(name) == std::string::npos) error.message = "table '" + name + "': " + error.message;
    if (is_missing) error.message += "; " + text_of(keys);
    co_return fail(std::move(error));
  }
  if (described->definition.keys != keys) {
    co_return invalid("table '" + name + "' is not that of " + what + ": " + text_of(keys));
  }
  co_return Result<void>();
}

KeySchema id_keys() {
  return {{std::string(kIdAttribute), Type::kString}, {}};
}

Item id_key(std::string id) {
  Item key;
  key.set(kIdAttribute, Value(std::move(id)));
  return key;
}

Async<Result<void>> provide_id_table(Tables& tables, std::string name, std::string what) {
  return provide_shared_table(tables, std::move(name), id_keys(), std::move(what));
}

}  // namespace freshet
