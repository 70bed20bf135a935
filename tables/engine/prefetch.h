// Prefetches the memory that many writes are about to use: for all of them at once, before the first is planned.
#pragma once

#include <vector>

#include "tables/engine/catalog.h"
#include "tables/tables.h"

namespace freshet {

// Does not check the inputs: it skips those of other tables than the first one's, and those without a usable
// key.
void prefetch(const Catalog& catalog, const std::vector<EditItemInput>& inputs);
void prefetch(const Catalog& catalog, const std::vector<WriteInput>& inputs);
void prefetch(const Catalog& catalog, const std::string& table, const std::vector<ItemRef>& items);

}  // namespace freshet
