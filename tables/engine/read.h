// Reads the catalog in its current state: get, query, scan. Loop thread only.
#pragma once

#include "tables/engine/catalog.h"
#include "tables/engine/page_places.h"
#include "tables/expression/expression.h"
#include "tables/tables.h"

namespace freshet {

Result<ItemRef> read_item(const Catalog& catalog, ExpressionCache& cache, const GetItemInput& input);
Result<ReadOutput> read_measured(const Catalog& catalog, ExpressionCache& cache, const GetItemInput& input);
// A get in two steps. The first finds all faults of the request itself, which are reported before faults of its table
// and key.
Result<BoundProjection> bind_projection(ExpressionCache& cache, const GetItemInput& input);
Result<ReadOutput> read_measured(const Catalog& catalog, const GetItemInput& input, const BoundProjection& projection);
// `places` records where the page ended.
Result<Page> read_query(const Catalog& catalog, ExpressionCache& cache, PagePlaces& places, const QueryInput& input);
Result<Page> read_scan(const Catalog& catalog, ExpressionCache& cache, PagePlaces& places, const ScanInput& input);

}  // namespace freshet
