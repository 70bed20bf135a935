// Says how one definition of an index differs from another.
#pragma once

#include <string>

#include "tables/definition.h"

namespace freshet {

// "keys (taskStatus S) and not (taskStatus S, taskCreated N)", "projection KEYS_ONLY and not ALL", or both, with "; "
// between them: what `is` has, and what `wanted` has. Empty if nothing differs but the name, or the order of projected
// attributes.
std::string index_difference(const IndexDefinition& is, const IndexDefinition& wanted);

// Names the indexes that `is` lacks or has in another form, each with what differs. Empty if there are none.
std::string lacking_indexes(const TableDefinition& is, const TableDefinition& wanted);

}  // namespace freshet
