#include "tables/engine/catalog.h"

namespace freshet {

Result<Table*> Catalog::find(const std::string& name) const {
  Table* table = find_any(name);
  if (!table || table->is_restoring()) return fail(ErrorCode::kResourceNotFound, "Requested resource not found");
  return table;
}

Table* Catalog::find_any(const std::string& name) const {
  const auto it = tables_.find(name);
  return it == tables_.end() ? nullptr : it->second.get();
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
  auto found = tables_.find(table.definition().name);
  removed_.push_back(std::move(found->second));
  tables_.erase(found);
}

void Catalog::bury(size_t items) {
  while (!removed_.empty() && items > 0) {
    const size_t done = removed_.back()->drop(items);
    items -= done;
    if (done == 0) removed_.pop_back();
  }
}

}  // namespace freshet
