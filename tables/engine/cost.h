// The cost of operations at the service, for callers that ask for it (ReturnConsumedCapacity,
// ReturnItemCollectionMetrics). Loop thread only.
#pragma once

#include <memory>

#include "tables/engine/table.h"
#include "tables/tables.h"
#include "tables/value/billed.h"

namespace freshet {

// The cost of a write of the item with that key. Null refs mean that the item is absent; both may be null, and both may
// be the same.
std::shared_ptr<const WriteCost> cost_of_write(const Table& table, const Item& key, const ItemRef& before,
                                               const ItemRef& after);
// Units for reading or writing an item, or an entry of an index, of that size. read_units_of() is for consistent reads.
uint64_t read_units_of(uint64_t bytes);
uint64_t write_units_of(uint64_t bytes);

}  // namespace freshet
