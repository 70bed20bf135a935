// Where many writes are about to go: asked of the memory for all of them at once, before the first is planned.
#pragma once

#include <vector>

#include "tables/engine/catalog.h"
#include "tables/tables.h"

namespace freshet {

// Says nothing about the inputs, which need not be sound: those of other tables than the first one's, or without a
// usable key, are passed over.
void prefetch(const Catalog& catalog, const std::vector<EditItemInput>& inputs);
void prefetch(const Catalog& catalog, const std::vector<WriteInput>& inputs);
void prefetch(const Catalog& catalog, const std::string& table, const std::vector<ItemRef>& items);

}  // namespace freshet
