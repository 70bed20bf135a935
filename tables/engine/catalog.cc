#include "tables/engine/catalog.h"

namespace freshet {

Result<Table*> Catalog::find(const std::string& name) const {
  const auto it = tables_.find(name);
  if (it == tables_.end()) return fail(ErrorCode::kResourceNotFound, "Requested resource not found");
  return it->second.get();
}

Table* Catalog::find_number(uint32_t number) const {
  const auto it = by_number_.find(number);
  return it == by_number_.end() ? nullptr : it->second;
}

Table& Catalog::add(uint32_t number, TableDescription description) {
  std::string name = description.definition.name;
  auto table = std::make_unique<Table>(number, std::move(description), counters.hash_seed, stream_memory_);
  Table& added = *table;
  by_number_[number] = &added;
  tables_[std::move(name)] = std::move(table);
  return added;
}

void Catalog::remove(Table& table) {
  by_number_.erase(table.number());
  tables_.erase(tables_.find(table.definition().name));
}

}  // namespace freshet
