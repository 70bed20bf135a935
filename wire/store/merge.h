// A change of a table beside changes that others make at the same time. Pure: asks and changes nothing.
#pragma once

#include "tables/definition.h"

namespace freshet::remote {

// Equal, in whatever order the projected attributes are named: engines return them in an order of their own.
bool is_same_index(const IndexDefinition& one, const IndexDefinition& other);

// True if `definition` has an index that is_same_index().
bool has_same_index(const TableDefinition& definition, const IndexDefinition& index);

// Equal billing and throughput, with those of the indexes that both have.
bool is_same_capacity(const TableDefinition& a, const TableDefinition& b);

// "STANDARD" if the definition names none.
std::string_view class_of(const TableDefinition& table);

// The definition that a table which is `now` like that is to have. The caller saw it as `seen`, and asks for `wanted`:
// what differs between those two is its change. Everything else stays as it is now, for example an index that another
// daemon has made since then.
TableDefinition merged(const TableDefinition& seen, const TableDefinition& wanted, const TableDefinition& now);

}  // namespace freshet::remote
