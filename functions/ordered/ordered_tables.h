// The tables with ordered writes of this daemon, by name. Loop thread. The store and the clock outlive it; it outlives
// every Async that one of them returned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "functions/by_name.h"
#include "functions/ordered/guarded_table.h"

namespace freshet::ordered {

class OrderedTables final : public OrderedDirectory {
 public:
  OrderedTables(Tables& tables, const Clock& clock) : tables_(tables), clock_(clock) {}
  OrderedTables(const OrderedTables&) = delete;
  OrderedTables& operator=(const OrderedTables&) = delete;

  // Errors as GuardedTable::open(); kConflict for a name or a table that is in use: a table can have only one
  // definition.
  Async<Result<GuardedTable*>> open(Definition definition);

  OrderedWrites* find(std::string_view name) override { return by_name_.find(name); }
  std::vector<std::string> names() const override { return by_name_.names(); }

 private:
  Tables& tables_;
  const Clock& clock_;
  ByName<GuardedTable> by_name_;
};

}  // namespace freshet::ordered
