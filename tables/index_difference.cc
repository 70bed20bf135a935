#include "tables/index_difference.h"

#include <algorithm>
#include <utility>

namespace freshet {

namespace {

constexpr std::string_view kProjections[] = {"ALL", "KEYS_ONLY", "INCLUDE"};

std::string keys_text(const KeySchema& keys) {
  std::string out;
  for (const KeyAttribute* key : keys.attributes()) {
    out.append(out.empty() ? "(" : ", ").append(key->name).append(" ").append(type_name(key->type));
  }
  return out + ")";
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

std::string projection_text(const IndexDefinition& index) {
  std::string out(kProjections[static_cast<size_t>(index.projection)]);
  const char* between = " ";
  for (const std::string& name : sorted(index.included)) out.append(std::exchange(between, ", ")).append(name);
  return out;
}

void append_part(std::string& out, const std::string& part, const char* between) {
  out.append(out.empty() ? "" : between).append(part);
}

}  // namespace

std::string index_difference(const IndexDefinition& is, const IndexDefinition& wanted) {
  std::string out;
  if (is.keys != wanted.keys) {
    append_part(out, "keys " + keys_text(is.keys) + " and not " + keys_text(wanted.keys), "; ");
  }
  if (is.projection != wanted.projection || sorted(is.included) != sorted(wanted.included)) {
    append_part(out, "projection " + projection_text(is) + " and not " + projection_text(wanted), "; ");
  }
  return out;
}

std::string lacking_indexes(const TableDefinition& is, const TableDefinition& wanted) {
  std::string out;
  for (const IndexDefinition& index : wanted.indexes) {
    const IndexDefinition* there = is.index(index.name);
    const std::string name = "index '" + index.name + "'";
    const std::string difference = there == nullptr ? "" : index_difference(*there, index);
    if (there == nullptr) append_part(out, name, ", ");
    if (!difference.empty()) append_part(out, name + " (it has " + difference + ")", ", ");
  }
  return out;
}

}  // namespace freshet
