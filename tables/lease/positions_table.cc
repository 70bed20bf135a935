#include "tables/lease/positions_table.h"

#include "tables/lease/shared_table.h"

namespace freshet {

KeySchema positions_keys() {
  return {{"kind", Type::kString}, KeyAttribute{"id", Type::kString}};
}

Async<Result<void>> provide_positions_table(Tables& tables) {
  return provide_shared_table(tables, kPositionsTable, positions_keys(), "positions of a fleet");
}

}  // namespace freshet
