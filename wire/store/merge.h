// Combines a change of a table with changes that others make at the same time. Pure functions.
#pragma once

#include "tables/definition.h"

namespace freshet::remote {

// True if the indexes are equal, whatever the order of their projected attributes: engines return those in an order of
// their own.
bool is_same_index(const IndexDefinition& one, const IndexDefinition& other);

// True if `definition` has an index that is_same_index().
bool has_same_index(const TableDefinition& definition, const IndexDefinition& index);

// True if billing and throughput are equal, also those of the indexes that both have.
bool is_same_capacity(const TableDefinition& a, const TableDefinition& b);

// The table class; "STANDARD" if the definition names none.
std::string_view class_of(const TableDefinition& table);

// Returns the definition that the table should get. `now` is its current definition. The difference between `seen`,
// which the caller read, and `wanted`, which it requests, is the caller's change. Everything else stays as in `now`,
// for example an index that another daemon has created since then.
TableDefinition merged(const TableDefinition& seen, const TableDefinition& wanted, const TableDefinition& now);

}  // namespace freshet::remote
