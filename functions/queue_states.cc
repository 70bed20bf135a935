#include "functions/queue_states.h"

namespace freshet {

Async<Result<void>> provide_queue_states(Tables& tables) {
  std::string name(kQueueStates);
  auto described = co_await tables.describe_table(name);
  if (described) co_return Result<void>();
  if (described.error().code != ErrorCode::kResourceNotFound) co_return fail(described.error());
  TableDefinition definition;
  definition.name = name;
  definition.keys = {{"queue", Type::kString}, KeyAttribute{"slot", Type::kNumber}};
  definition.system = true;
  auto created = co_await tables.create_table(std::move(definition));
  if (!created && created.error().code != ErrorCode::kResourceInUse) co_return fail(created.error());
  co_return Result<void>();
}

Item queue_state_key(const std::string& queue, int64_t slot) {
  Item key;
  key.set("queue", Value(queue));
  key.set("slot", Value::number(slot));
  return key;
}

}  // namespace freshet
