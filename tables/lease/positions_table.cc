#include "tables/lease/positions_table.h"

#include "tables/lease/shared_table.h"

namespace freshet {

Async<Result<void>> provide_positions_table(Tables& tables) {
  const KeySchema keys{{"kind", Type::kString}, KeyAttribute{"id", Type::kString}};
  return provide_shared_table(tables, kPositionsTable, keys, "positions of a fleet");
}

}  // namespace freshet
