#include "wire/store/merge.h"

#include <algorithm>
#include <optional>

namespace freshet::remote {

namespace {

std::vector<IndexDefinition> merged_indexes(const TableDefinition& seen, const TableDefinition& wanted,
                                            const TableDefinition& now) {
  std::vector<IndexDefinition> out;
  for (const IndexDefinition& index : wanted.indexes) {
    const IndexDefinition* there = now.index(index.name);
    if (!has_same_index(seen, index)) {
      out.push_back(index);
    } else if (there != nullptr) {
      out.push_back(*there);
    }
  }
  for (const IndexDefinition& index : now.indexes) {
    if (wanted.index(index.name) == nullptr && seen.index(index.name) == nullptr) out.push_back(index);
  }
  return out;
}

// Sets the throughput of `out`, of the table and index by index.
void merge_capacity(const TableSettings& seen, const TableSettings& wanted, const TableSettings& now,
                    TableSettings& out) {
  out.throughput = seen.throughput == wanted.throughput ? now.throughput : wanted.throughput;
  out.index_throughput.clear();
  if (!out.throughput) return;  // Billed by request.
  const auto units_in = [](const TableSettings& settings, const std::string& index) {
    const auto found = settings.index_throughput.find(index);
    return found == settings.index_throughput.end() ? std::nullopt : std::optional(found->second);
  };
  for (const TableSettings* all : {&wanted, &now}) {
    for (const auto& [index, unused] : all->index_throughput) {
      const bool is_changed = units_in(seen, index) != units_in(wanted, index);
      const auto units = units_in(is_changed ? wanted : now, index);
      if (units) out.index_throughput.insert_or_assign(index, *units);
    }
  }
}

}  // namespace

bool is_same_index(const IndexDefinition& one, const IndexDefinition& other) {
  IndexDefinition a = one;
  IndexDefinition b = other;
  std::sort(a.included.begin(), a.included.end());
  std::sort(b.included.begin(), b.included.end());
  return a == b;
}

bool has_same_index(const TableDefinition& definition, const IndexDefinition& index) {
  const auto* known = definition.index(index.name);
  return known != nullptr && is_same_index(*known, index);
}

bool is_same_capacity(const TableDefinition& a, const TableDefinition& b) {
  if (a.settings.throughput != b.settings.throughput) return false;
  const auto units = [](const TableDefinition& table, const std::string& index) {
    const auto own = table.settings.index_throughput.find(index);
    return own == table.settings.index_throughput.end() ? table.settings.throughput : own->second;
  };
  return std::all_of(a.indexes.begin(), a.indexes.end(), [&](const IndexDefinition& index) {
    return index.local || b.index(index.name) == nullptr || units(a, index.name) == units(b, index.name);
  });
}

std::string_view class_of(const TableDefinition& table) {
  return table.settings.table_class.empty() ? "STANDARD" : std::string_view(table.settings.table_class);
}

TableDefinition merged(const TableDefinition& seen, const TableDefinition& wanted, const TableDefinition& now) {
  TableDefinition out = wanted;
  out.indexes = merged_indexes(seen, wanted, now);
  if (seen.stream == wanted.stream) out.stream = now.stream;
  if (seen.ttl_attribute == wanted.ttl_attribute) out.ttl_attribute = now.ttl_attribute;
  merge_capacity(seen.settings, wanted.settings, now.settings, out.settings);
  if (class_of(seen) == class_of(wanted)) out.settings.table_class = now.settings.table_class;
  if (seen.settings.deletion_protection == wanted.settings.deletion_protection) {
    out.settings.deletion_protection = now.settings.deletion_protection;
  }
  return out;
}

}  // namespace freshet::remote
