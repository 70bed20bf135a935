// Projections, and the rules for key attributes in the paths of any expression.

#include <algorithm>

#include "tables/expression/paths.h"
#include "tables/expression/text.h"
#include "tables/expression/walk.h"

namespace freshet {
namespace {

bool is_key(std::string_view name, const KeySchema& keys) {
  if (name == keys.partition.name || (keys.sort && name == keys.sort->name)) return true;
  const auto has = [&](const std::vector<KeyAttribute>& more) {
    return std::any_of(more.begin(), more.end(), [&](const KeyAttribute& key) { return key.name == name; });
  };
  return has(keys.more_partition) || has(keys.more_sort);
}

bool is_index_key(std::string_view name, const TableDefinition& table) {
  return std::any_of(table.indexes.begin(), table.indexes.end(),
                     [&](const IndexDefinition& index) { return is_key(name, index.keys); });
}

// Keeps the error of the first path that looks into a key attribute.
class KeyPaths {
 public:
  KeyPaths(const Bindings& bindings, const TableDefinition& table) : bindings_(bindings), table_(table) {}

  void operator()(const expression::Path& path) {
    if (path.size() == 1 || !done_) return;
    const auto name = expression::element_name(path[0], bindings_);
    const bool own = is_key(name, table_.keys);
    if (!own && !is_index_key(name, table_)) return;
    done_ = invalid(expression::concat(
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: ",
        own ? "Key: " : "IndexKey: ", name));
  }
  Result<void> take() { return std::move(done_); }

 private:
  const Bindings& bindings_;
  const TableDefinition& table_;
  Result<void> done_;
};

std::vector<std::string_view> root_names(const expression::Compiled& compiled, const Bindings& bindings) {
  std::vector<std::string_view> names;
  names.reserve(compiled.roots.size());
  for (const auto* root : compiled.roots) names.push_back(expression::element_name(*root, bindings));
  return names;
}

}  // namespace

Result<void> check_keys(const BoundCondition& condition, const TableDefinition& table) {
  if (!condition) return {};
  KeyPaths paths(condition.bindings, table);
  expression::each_path(condition.compiled->root, paths);
  return paths.take();
}

Result<void> check_keys(const BoundProjection& projection, const TableDefinition& table) {
  if (!projection) return {};
  KeyPaths paths(projection.bindings, table);
  for (const auto& path : projection.compiled->paths) paths(path);
  return paths.take();
}

Result<void> check_filter(const BoundCondition& filter, const KeySchema& keys) {
  for (const auto name : top_level_attributes(filter)) {
    if (!is_key(name, keys)) continue;
    return invalid(expression::concat(
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: ", name));
  }
  return {};
}

Result<void> check_update(const BoundUpdate& update, const TableDefinition& table) {
  if (!update) return {};
  KeyPaths paths(update.bindings, table);
  for (const auto& action : update.compiled->actions) expression::each_path(action, paths);
  if (auto scalars = paths.take(); !scalars) return scalars;
  for (const auto* path : update.compiled->written) {
    const auto name = expression::element_name((*path)[0], update.bindings);
    if (!is_key(name, table.keys)) continue;
    return invalid(expression::concat("One or more parameter values were invalid: Cannot update attribute ", name,
                                      ". This attribute is part of the key"));
  }
  return {};
}

Item project(const BoundProjection& projection, const Item& item) {
  if (!projection) return item;
  return expression::extract(projection.compiled->written, item, projection.bindings);
}

Item project(const BoundProjection& projection, const ItemRef& item) {
  if (!projection) return item.decode();
  const auto& paths = projection.compiled->paths;
  const bool whole = std::all_of(paths.begin(), paths.end(), [](const auto& path) { return path.size() == 1; });
  if (!whole) return expression::extract(projection.compiled->written, item, projection.bindings);
  auto views = top_level_attributes(projection);
  expression::sort_unique(views);
  const std::vector<std::string> names(views.begin(), views.end());
  std::vector<std::string_view> values(names.size());
  item.pick(names, values.data());
  Item wanted;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!values[i].empty()) wanted.append_sorted(names[i], ValueView(values[i]).decode());
  }
  return wanted;
}

std::vector<std::string_view> top_level_attributes(const BoundProjection& projection) {
  return projection ? root_names(*projection.compiled, projection.bindings) : std::vector<std::string_view>();
}

std::vector<std::string_view> top_level_attributes(const BoundUpdate& update) {
  if (!update) return {};
  auto names = root_names(*update.compiled, update.bindings);
  expression::sort_unique(names);
  return names;
}

size_t weight(const BoundProjection& projection) {
  return projection ? projection.compiled->paths.size() : 0;
}

std::vector<std::string_view> top_level_attributes(const BoundCondition& condition) {
  return condition ? root_names(*condition.compiled, condition.bindings) : std::vector<std::string_view>();
}

}  // namespace freshet
