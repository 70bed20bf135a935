#include "tables/expression/paths.h"
#include "tables/expression/text.h"
#include "tables/value/encoding.h"

#include <algorithm>
#include <numeric>

namespace freshet::expression {
namespace {

enum class Relation { kApart, kOverlap, kConflict };

Relation relation(const Path& a, const Path& b, const Bindings& bindings) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    if (is_index(a[i]) != is_index(b[i])) return Relation::kConflict;
    if (compare_elements(a[i], b[i], bindings) != std::strong_ordering::equal) return Relation::kApart;
  }
  return Relation::kOverlap;
}

// Visits pairs (i, j), i < j, with at least one that clashes if any does. For few paths, all pairs. For many,
// neighbours in sorted order: a path that starts with another follows it, and where names turn to indexes two
// neighbours conflict.
template <class Visit>
void each_candidate_pair(const std::vector<const Path*>& paths, const Bindings& bindings, Visit visit) {
  constexpr size_t kFew = 16;
  if (paths.size() <= kFew) {
    for (size_t j = 1; j < paths.size(); ++j) {
      for (size_t i = 0; i < j; ++i) visit(i, j);
    }
    return;
  }
  std::vector<size_t> order(paths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto by_path = compare_paths(*paths[a], *paths[b], bindings);
    return by_path == 0 ? a < b : by_path < 0;
  });
  for (size_t k = 1; k < order.size(); ++k) {
    visit(std::min(order[k - 1], order[k]), std::max(order[k - 1], order[k]));
  }
}

// One wanted path within a container, from `depth` on.
struct Wanted {
  const Path* path;
  size_t depth;
};

Value extract_value(std::vector<Wanted> wanted, const Value& value, const Bindings& bindings, bool& found);

// The wanted paths grouped by their next element; the groups in the order of their elements.
template <class Visit>
void each_group(std::vector<Wanted>& wanted, const Bindings& bindings, Visit visit) {
  auto order = [&](const Wanted& a, const Wanted& b) {
    return compare_elements((*a.path)[a.depth], (*b.path)[b.depth], bindings);
  };
  std::stable_sort(wanted.begin(), wanted.end(),
                   [&](const Wanted& a, const Wanted& b) { return order(a, b) == std::strong_ordering::less; });
  for (size_t first = 0; first < wanted.size();) {
    size_t end = first + 1;
    while (end < wanted.size() && order(wanted[first], wanted[end]) == std::strong_ordering::equal) ++end;
    std::vector<Wanted> group(wanted.begin() + static_cast<ptrdiff_t>(first),
                              wanted.begin() + static_cast<ptrdiff_t>(end));
    const PathElement& element = (*group[0].path)[group[0].depth];
    for (auto& entry : group) ++entry.depth;
    visit(element, std::move(group));
    first = end;
  }
}

bool extract_map(std::vector<Wanted> wanted, const Map& map, const Bindings& bindings, Map& out) {
  bool any = false;
  each_group(wanted, bindings, [&](const PathElement& element, std::vector<Wanted> group) {
    if (is_index(element)) return;
    const auto name = element_name(element, bindings);
    const Value* member = map.find(name);
    bool found = false;
    if (!member) return;
    Value part = extract_value(std::move(group), *member, bindings, found);
    if (found) out.append_sorted(std::string(name), std::move(part));
    any = any || found;
  });
  return any;
}

Value extract_value(std::vector<Wanted> wanted, const Value& value, const Bindings& bindings, bool& found) {
  if (wanted[0].depth == wanted[0].path->size()) {
    found = true;
    return value;
  }
  if (const auto* map = value.get_if<Map>()) {
    Map part;
    found = extract_map(std::move(wanted), *map, bindings, part);
    return Value(std::move(part));
  }
  List part;
  if (const auto* list = value.get_if<List>()) {
    each_group(wanted, bindings, [&](const PathElement& element, std::vector<Wanted> group) {
      if (!is_index(element) || element.number >= list->elements.size()) return;
      bool here = false;
      Value member = extract_value(std::move(group), list->elements[element.number], bindings, here);
      if (here) part.elements.push_back(std::move(member));
      found = found || here;
    });
  }
  return Value(std::move(part));
}

// --- The same on the stored form ---

Value extract_view(std::vector<Wanted> wanted, const ValueView& view, const Bindings& bindings, bool& found);

struct Group {
  const PathElement* element;
  std::vector<Wanted> wanted;
};

std::vector<Group> groups_of(std::vector<Wanted>& wanted, const Bindings& bindings) {
  std::vector<Group> groups;
  each_group(wanted, bindings, [&](const PathElement& element, std::vector<Wanted> group) {
    groups.push_back({&element, std::move(group)});
  });
  return groups;
}

// `in` has the entries of a map or an item; one walk finds all groups, as both are sorted.
bool extract_entries(std::vector<Wanted>& wanted, std::string_view in, const Bindings& bindings, Map& out) {
  std::vector<Group> groups = groups_of(wanted, bindings);
  std::erase_if(groups, [](const Group& group) { return is_index(*group.element); });
  bool any = false;
  encoding::take_varint(in);
  for (size_t next = 0; next < groups.size() && !in.empty();) {
    const std::string_view name = encoding::take_text(in);
    const ValueView value(encoding::take_value(in));
    while (next < groups.size() && element_name(*groups[next].element, bindings) < name) ++next;
    if (next == groups.size() || element_name(*groups[next].element, bindings) != name) continue;
    bool found = false;
    Value part = extract_view(std::move(groups[next++].wanted), value, bindings, found);
    if (found) out.append_sorted(std::string(name), std::move(part));
    any = any || found;
  }
  return any;
}

bool extract_elements(std::vector<Wanted>& wanted, std::string_view in, const Bindings& bindings, List& out) {
  std::vector<Group> groups = groups_of(wanted, bindings);
  std::erase_if(groups, [](const Group& group) { return !is_index(*group.element); });
  bool any = false;
  encoding::take_varint(in);
  size_t next = 0;
  for (size_t i = 0; next < groups.size() && !in.empty(); ++i) {
    const ValueView value(encoding::take_value(in));
    if (groups[next].element->number != i) continue;
    bool found = false;
    Value part = extract_view(std::move(groups[next++].wanted), value, bindings, found);
    if (found) out.elements.push_back(std::move(part));
    any = any || found;
  }
  return any;
}

Value extract_view(std::vector<Wanted> wanted, const ValueView& view, const Bindings& bindings, bool& found) {
  if (wanted[0].depth == wanted[0].path->size()) {
    found = true;
    return view.decode();
  }
  if (view.type() == Type::kMap) {
    Map part;
    found = extract_entries(wanted, view.bytes(), bindings, part);
    return Value(std::move(part));
  }
  List part;
  if (view.type() == Type::kList) found = extract_elements(wanted, view.bytes(), bindings, part);
  return Value(std::move(part));
}

}  // namespace

std::strong_ordering compare_elements(const PathElement& a, const PathElement& b, const Bindings& bindings) {
  if (is_index(a) != is_index(b)) return is_index(a) ? std::strong_ordering::greater : std::strong_ordering::less;
  if (is_index(a)) return a.number <=> b.number;
  return element_name(a, bindings).compare(element_name(b, bindings)) <=> 0;
}

std::strong_ordering compare_paths(const Path& a, const Path& b, const Bindings& bindings) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const auto order = compare_elements(a[i], b[i], bindings);
    if (order != 0) return order;
  }
  return a.size() <=> b.size();
}

bool same_path(const Path& a, const Path& b, const Bindings& bindings) {
  return a.size() == b.size() && relation(a, b, bindings) == Relation::kOverlap;
}

std::string path_text(const Path& path, const Bindings& bindings) {
  std::string text = "[";
  for (const auto& element : path) {
    if (text.size() > 1) text += ", ";
    if (is_index(element)) {
      text += concat("[", std::to_string(element.number), "]");
    } else {
      text += element_name(element, bindings);
    }
  }
  return text + "]";
}

std::string overlap_message(const std::vector<const Path*>& paths, const Bindings& bindings) {
  // An overlap anywhere is reported before a conflict.
  std::pair<size_t, size_t> overlap{paths.size(), paths.size()};
  std::pair<size_t, size_t> conflict = overlap;
  each_candidate_pair(paths, bindings, [&](size_t i, size_t j) {
    const Relation between = relation(*paths[i], *paths[j], bindings);
    if (between == Relation::kApart) return;
    auto& first = between == Relation::kOverlap ? overlap : conflict;
    first = std::min(first, std::pair(j, i));
  });
  const bool overlaps = overlap.first < paths.size();
  const auto [second, first] = overlaps ? overlap : conflict;
  if (second == paths.size()) return {};
  return concat("Two document paths ", overlaps ? "overlap" : "conflict",
                " with each other; must remove or rewrite one of these paths; path one: ",
                path_text(*paths[first], bindings), ", path two: ", path_text(*paths[second], bindings));
}

const Value* follow(const Path& path, size_t end, const Value* value, const Bindings& bindings) {
  for (size_t i = 1; i < end && value; ++i) {
    if (is_index(path[i])) {
      const auto* list = value->get_if<List>();
      value = list && path[i].number < list->elements.size() ? &list->elements[path[i].number] : nullptr;
    } else {
      const auto* map = value->get_if<Map>();
      value = map ? map->find(element_name(path[i], bindings)) : nullptr;
    }
  }
  return value;
}

Item extract(const std::vector<const Path*>& paths, const Item& item, const Bindings& bindings) {
  Item out;
  if (std::all_of(paths.begin(), paths.end(), [](const Path* path) { return path->size() == 1; })) {
    std::vector<std::string_view> names;
    names.reserve(paths.size());
    for (const Path* path : paths) names.push_back(element_name((*path)[0], bindings));
    sort_unique(names);
    for (const auto name : names) {
      if (const Value* value = item.find(name)) out.append_sorted(std::string(name), *value);
    }
    return out;
  }
  std::vector<Wanted> wanted;
  for (const Path* path : paths) wanted.push_back({path, 0});
  extract_map(std::move(wanted), item, bindings, out);
  return out;
}

Item extract(const std::vector<const Path*>& paths, const ItemRef& item, const Bindings& bindings) {
  std::vector<Wanted> wanted;
  for (const Path* path : paths) wanted.push_back({path, 0});
  Item out;
  extract_entries(wanted, item.encoded(), bindings, out);
  return out;
}

}  // namespace freshet::expression
