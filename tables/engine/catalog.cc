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
  count(added);
  return added;
}

void Catalog::remove(Table& table) {
  by_number_.erase(table.number());
  auto found = tables_.find(table.definition().name);
  removed_.push_back(std::move(found->second));
  tables_.erase(found);
}

ClosedEntry& Catalog::close_stream(Table& table, WallTime at) {
  const TableDefinition& definition = table.definition();  // Not describe(): replay may not be through with the items.
  ClosedEntry entry;
  entry.table = table.number();
  entry.stream = table.detach_stream();
  entry.description = {definition.name,
                       table.stream_label(),
                       *definition.stream,
                       definition.keys,
                       at,
                       {entry.stream->bounds().oldest, entry.stream->next()}};
  closed_.push_back(std::move(entry));
  return closed_.back();
}

void Catalog::add_closed(ClosedEntry entry) {
  closed_.push_back(std::move(entry));
}

ClosedEntry* Catalog::find_closed(std::string_view table, std::string_view label) {
  for (auto& entry : closed_) {
    if (entry.description.table == table && entry.description.label == label) return &entry;
  }
  return nullptr;
}

ChangeStream* Catalog::stream_of(uint32_t table, uint64_t sequence) {
  for (auto& entry : closed_) {
    if (entry.table == table && sequence < entry.description.bounds.next) return entry.stream.get();
  }
  Table* open = find_number(table);
  return open ? &open->stream() : nullptr;
}

void Catalog::forget_closed(const std::function<bool(const ClosedEntry&)>& is_kept, size_t records) {
  constexpr size_t kMost = 500;  // Every checkpoint contains them.
  while (!closed_.empty() && (closed_.size() > kMost || !is_kept(closed_.front()))) {
    records -= closed_.front().stream->forget(records);
    if (records == 0) return;
    closed_.pop_front();
  }
}

void Catalog::bury(size_t items) {
  while (!removed_.empty() && items > 0) {
    const size_t done = removed_.back()->drop(items);
    items -= done;
    count(*removed_.back());
    if (done != 0) continue;
    table_memory_ -= removed_.back()->memory();
    removed_.pop_back();
  }
}

}  // namespace freshet
