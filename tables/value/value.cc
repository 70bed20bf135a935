#include "tables/value/value.h"

#include <algorithm>
#include <type_traits>

#include "base/limits.h"
#include "tables/value/billed.h"
#include "tables/value/nesting.h"
#include "tables/value/text.h"

namespace freshet {
namespace {

constexpr size_t kShownCollection = 1000;  // Bytes of a refused set in the message.

std::string at(std::string_view where) {
  if (where.empty()) return {};
  return " (at " + std::string(where) + ")";
}

std::string shown(const std::string& member, Type type) {
  if (type != Type::kBinarySet) return member;
  std::string text;
  append_base64(text, member);
  return text;
}

std::string shown_collection(const std::vector<std::string>& members, Type type) {
  std::string text = "[";
  for (const auto& member : members) {
    if (text.size() > 1) text += ", ";
    if (text.size() > kShownCollection) return text + "...]";
    text += shown(member, type).substr(0, kShownCollection);
  }
  return text + "]";
}

// Sorts; true if all members differ.
template <class T>
bool sort_unique(std::vector<T>& members) {
  auto before = [](const T& a, const T& b) { return a < b; };
  if (!std::is_sorted(members.begin(), members.end(), before)) std::sort(members.begin(), members.end(), before);
  return std::adjacent_find(members.begin(), members.end()) == members.end();
}

Result<void> normalize_texts(std::vector<std::string>& members, Type type, std::string_view where) {
  bool binary = type == Type::kBinarySet;
  constexpr std::string_view kPrefix = "One or more parameter values were invalid: ";
  auto refuse = [&](std::string_view text) { return invalid(std::string(kPrefix) + std::string(text) + at(where)); };
  if (members.empty()) return refuse(binary ? "Binary sets should not be empty" : "An string set  may not be empty");
  std::vector<std::string> sorted = members;
  if (!sort_unique(sorted)) {
    return refuse("Input collection " + shown_collection(members, type) +
                  (binary ? "of type BS contains duplicates." : " contains duplicates."));
  }
  members = std::move(sorted);
  return {};
}

Result<void> normalize_at(Value& value, std::string_view where, size_t depth);

Result<void> enter(std::string_view where, size_t depth) {
  if (depth < kMaxContainers) return {};
  return invalid(
      "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported "
      "limit" +
      at(where));
}

Result<void> normalize_numbers(NumberSet& set, std::string_view where) {
  if (set.members.empty()) {
    return invalid("One or more parameter values were invalid: An number set  may not be empty" + at(where));
  }
  if (!sort_unique(set.members)) return invalid("Input collection contains duplicates" + at(where));
  return {};
}

Result<void> normalize_at(Value& value, std::string_view where, size_t depth) {
  if (auto* strings = value.get_if<StringSet>()) return normalize_texts(strings->members, value.type(), where);
  if (auto* binaries = value.get_if<BinarySet>()) return normalize_texts(binaries->members, value.type(), where);
  if (auto* numbers = value.get_if<NumberSet>()) return normalize_numbers(*numbers, where);
  if (auto* map = value.get_if<Map>()) {
    if (auto entered = enter(where, depth); !entered) return entered;
    for (auto& [name, member] : map->entries()) {
      if (auto done = normalize_at(member, where, depth + 1); !done) return done;
    }
  } else if (auto* list = value.get_if<List>()) {
    if (auto entered = enter(where, depth); !entered) return entered;
    for (auto& element : list->elements) {
      if (auto done = normalize_at(element, where, depth + 1); !done) return done;
    }
  }
  return {};
}

// A stable sort. A few entries are inserted one by one, because std::stable_sort would allocate memory first.
void sort_by_name(std::vector<Map::Entry>& entries) {
  constexpr size_t kFew = 16;
  auto before = [](const Map::Entry& a, const Map::Entry& b) { return a.first < b.first; };
  if (entries.size() > kFew) return std::stable_sort(entries.begin(), entries.end(), before);
  for (auto it = entries.begin(); it != entries.end(); ++it) {
    const auto place = std::upper_bound(entries.begin(), it, *it, before);
    if (place != it) std::rotate(place, it, it + 1);
  }
}

}  // namespace

Map::Map() = default;
Map::Map(std::initializer_list<Entry> entries) {
  entries_.reserve(entries.size());
  for (const auto& [name, value] : entries) set(name, value);
}
Map Map::from_entries(std::vector<Entry> entries) {
  auto not_rising = [](const Entry& a, const Entry& b) { return a.first >= b.first; };
  if (std::adjacent_find(entries.begin(), entries.end(), not_rising) != entries.end()) {
    sort_by_name(entries);
    auto keep = entries.begin();
    for (auto it = entries.begin(); it != entries.end(); ++it) {
      auto next = it + 1;
      if (next != entries.end() && next->first == it->first) continue;
      if (keep != it) *keep = std::move(*it);
      ++keep;
    }
    entries.erase(keep, entries.end());
  }
  Map map;
  map.entries_ = std::move(entries);
  return map;
}
Map::Map(const Map&) = default;
Map::Map(Map&&) noexcept = default;
Map& Map::operator=(const Map&) = default;
Map& Map::operator=(Map&&) noexcept = default;
Map::~Map() = default;

const Value* Map::find(std::string_view name) const {
  // A linear search is fastest among few names: most differ in length already, but an order needs a comparison of
  // bytes.
  constexpr size_t kFew = 8;
  if (entries_.size() <= kFew) {
    for (const Entry& entry : entries_) {
      if (entry.first == name) return &entry.second;
    }
    return nullptr;
  }
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& entry, std::string_view wanted) { return entry.first < wanted; });
  return it != entries_.end() && it->first == name ? &it->second : nullptr;
}

Value* Map::find(std::string_view name) {
  return const_cast<Value*>(std::as_const(*this).find(name));
}

void Map::set(std::string_view name, Value value) {
  if (entries_.empty() || entries_.back().first < name) {
    entries_.emplace_back(name, std::move(value));
    return;
  }
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& entry, std::string_view wanted) { return entry.first < wanted; });
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.emplace(it, std::string(name), std::move(value));
  }
}

bool Map::erase(std::string_view name) {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const Entry& entry, std::string_view wanted) { return entry.first < wanted; });
  if (it == entries_.end() || it->first != name) return false;
  entries_.erase(it);
  return true;
}

void Map::append_sorted(std::string name, Value value) {
  entries_.emplace_back(std::move(name), std::move(value));
}
void Map::reserve(size_t entries) {
  entries_.reserve(entries);
}

std::string_view Map::string_or(std::string_view name, std::string_view fallback) const {
  const Value* value = find(name);
  const auto* text = value ? value->get_if<std::string>() : nullptr;
  return text ? std::string_view(*text) : fallback;
}

int64_t Map::int_or(std::string_view name, int64_t fallback) const {
  const Value* value = find(name);
  const auto* number = value ? value->get_if<Decimal>() : nullptr;
  if (!number) return fallback;
  bool fits = false;
  int64_t result = number->to_int64(fits);
  return fits ? result : fallback;
}

size_t Map::size() const {
  return entries_.size();
}
const Map::Entry* Map::begin() const {
  return entries_.data();
}
const Map::Entry* Map::end() const {
  return entries_.data() + entries_.size();
}
std::span<Map::Entry> Map::entries() {
  return entries_;
}
bool Map::operator==(const Map& other) const {
  return entries_ == other.entries_;
}

bool List::operator==(const List& other) const {
  return elements == other.elements;
}

std::string_view type_name(Type type) {
  constexpr std::string_view kNames[] = {"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"};
  return kNames[static_cast<size_t>(type)];
}

std::partial_ordering compare(const Value& a, const Value& b) {
  if (a.type() != b.type()) return std::partial_ordering::unordered;
  switch (a.type()) {
    case Type::kString:
      return a.get_if<std::string>()->compare(*b.get_if<std::string>()) <=> 0;
    case Type::kNumber:
      return *a.get_if<Decimal>() <=> *b.get_if<Decimal>();
    case Type::kBinary:
      return a.get_if<Binary>()->bytes.compare(b.get_if<Binary>()->bytes) <=> 0;
    default:
      return std::partial_ordering::unordered;
  }
}

size_t billed_size(const Value& value) {
  auto sum_texts = [](const std::vector<std::string>& members) {
    size_t sum = 0;
    for (const auto& member : members) sum += member.size();
    return sum;
  };
  switch (value.type()) {
    case Type::kString:
      return value.get_if<std::string>()->size();
    case Type::kNumber:
      return value.get_if<Decimal>()->billed_size();
    case Type::kBinary:
      return value.get_if<Binary>()->bytes.size();
    case Type::kBool:
    case Type::kNull:
      return 1;
    case Type::kMap: {
      const Map& map = *value.get_if<Map>();
      return kContainerOverhead + kElementOverhead * map.size() + billed_size(map);
    }
    case Type::kList: {
      size_t sum = kContainerOverhead;
      for (const auto& element : value.get_if<List>()->elements) sum += kElementOverhead + billed_size(element);
      return sum;
    }
    case Type::kStringSet:
      return sum_texts(value.get_if<StringSet>()->members);
    case Type::kBinarySet:
      return sum_texts(value.get_if<BinarySet>()->members);
    case Type::kNumberSet: {
      size_t sum = 0;
      for (const auto& member : value.get_if<NumberSet>()->members) sum += member.billed_size();
      return sum;
    }
  }
  return 0;
}

size_t billed_size(const Item& item) {
  size_t sum = 0;
  for (const auto& [name, value] : item) sum += name.size() + billed_size(value);
  return sum;
}

tl::unexpected<Error> too_large_item(bool by_update) {
  return invalid(by_update ? "Item size to update has exceeded the maximum allowed size"
                           : "Item size has exceeded the maximum allowed size");
}

Result<void> normalize(Value& value, std::string_view where) {
  return normalize_at(value, where, 0);
}

}  // namespace freshet
