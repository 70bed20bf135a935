// Document paths: naming them in messages, comparing them, following them into values.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tables/expression/ast.h"

namespace freshet::expression {

// Finds the text of a path element: `bindings` gives the names of placeholders.
inline std::string_view element_name(const PathElement& element, const Bindings& bindings) {
  return element.kind == PathElement::Kind::kName ? std::string_view(element.name) : bindings.names[element.number];
}
inline bool is_index(const PathElement& element) {
  return element.kind == PathElement::Kind::kIndex;
}
inline bool has_placeholder(const Path& path) {
  for (const auto& element : path) {
    if (element.kind == PathElement::Kind::kPlaceholder) return true;
  }
  return false;
}

inline void sort_unique(std::vector<std::string_view>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

// Names sort before indexes, names bytewise, indexes by number.
std::strong_ordering compare_elements(const PathElement& a, const PathElement& b, const Bindings& bindings);
// Element by element; a path sorts before those that start with it.
std::strong_ordering compare_paths(const Path& a, const Path& b, const Bindings& bindings);
bool same_path(const Path& a, const Path& b, const Bindings& bindings);
// The path as the service writes it in messages: "[a, b, [3]]".
std::string path_text(const Path& path, const Bindings& bindings);

// Empty if no two paths overlap (one is the other or above it) or conflict (one treats as a list what the other treats
// as a map); else the service's message about the first pair.
std::string overlap_message(const std::vector<const Path*>& paths, const Bindings& bindings);

// Follows the elements of a path after the first, up to `end`, from `value`; null if there is nothing.
const Value* follow(const Path& path, size_t end, const Value* value, const Bindings& bindings);
inline const Value* find(const Path& path, const Item& item, const Bindings& bindings) {
  return follow(path, path.size(), item.find(element_name(path[0], bindings)), bindings);
}
// The map or list that holds the path's last element. Only for paths of two elements and more.
inline const Value* find_parent(const Path& path, const Item& item, const Bindings& bindings) {
  return follow(path, path.size() - 1, item.find(element_name(path[0], bindings)), bindings);
}

// The values of `item` at the paths, with the maps and lists around them; elements of a list keep their order.
Item extract(const std::vector<const Path*>& paths, const Item& item, const Bindings& bindings);
// The same for a stored value; decodes only the part at the path. Not null.
Item extract(const std::vector<const Path*>& paths, const ItemRef& item, const Bindings& bindings);

}  // namespace freshet::expression
