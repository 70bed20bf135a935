// A table with books, and items for it, for tests of stores.
#pragma once

#include <string>

#include "tables/definition.h"
#include "tables/value/value.h"

namespace freshet {

inline TableDefinition things() {
  TableDefinition d;
  d.name = "Things";
  d.keys.partition = {"id", Type::kString};
  IndexDefinition index;
  index.name = "by-state";
  index.keys.partition = {"state", Type::kString};
  index.keys.sort = KeyAttribute{"rank", Type::kNumber};
  d.indexes.push_back(index);
  d.books = BooksDefinition{"state", "TAKEN"};
  return d;
}
inline Item id_key(const std::string& id) {
  return Item{{"id", Value(id)}};
}
inline Item thing(const std::string& id, const std::string& state, int64_t rank) {
  return Item{{"id", Value(id)}, {"state", Value(state)}, {"rank", Value::number(rank)}};
}

}  // namespace freshet
