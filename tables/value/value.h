// Attribute values and items in their decoded form: what expressions and callers work on.
// The stored form is the immutable ItemRef of item_ref.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tables/value/decimal.h"

namespace freshet {

class Value;

// Name -> value, sorted by name (bytewise), names unique. An item and the M type. A value type.
class Map {
 public:
  using Entry = std::pair<std::string, Value>;
  Map();
  Map(std::initializer_list<Entry> entries);            // For tests and built-in functions; later names win.
  static Map from_entries(std::vector<Entry> entries);  // In any order; if names are equal, the last one wins.
  Map(const Map&);
  Map(Map&&) noexcept;
  Map& operator=(const Map&);
  Map& operator=(Map&&) noexcept;
  ~Map();

  const Value* find(std::string_view name) const;  // Null if absent. Valid until the map changes.
  Value* find(std::string_view name);
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string_view name, Value value);
  bool erase(std::string_view name);
  // The caller promises that `name` sorts after all existing names (decoders).
  void append_sorted(std::string name, Value value);
  void reserve(size_t entries);
  // The member if it exists and has that type; else empty, or the fallback.
  std::string_view string_or(std::string_view name, std::string_view fallback = {}) const;
  int64_t int_or(std::string_view name, int64_t fallback) const;

  size_t size() const;
  bool empty() const { return size() == 0; }
  const Entry* begin() const;
  const Entry* end() const;
  std::span<Entry> entries();  // Lets you change values in place; the names must stay unchanged.
  bool operator==(const Map&) const;

 private:
  std::vector<Entry> entries_;
};
using Item = Map;

struct Null {
  bool operator==(const Null&) const = default;
};
struct Binary {
  std::string bytes;
  auto operator<=>(const Binary&) const = default;
};
// Sets: sorted, unique, never empty once validated.
struct StringSet {
  std::vector<std::string> members;
  bool operator==(const StringSet&) const = default;
};
struct NumberSet {
  std::vector<Decimal> members;
  bool operator==(const NumberSet&) const = default;
};
struct BinarySet {
  std::vector<std::string> members;
  bool operator==(const BinarySet&) const = default;
};
struct List {
  std::vector<Value> elements;
  bool operator==(const List&) const;
};

// The ten types, in the order of this variant.
enum class Type : uint8_t { kString, kNumber, kBinary, kBool, kNull, kMap, kList, kStringSet, kNumberSet, kBinarySet };

// The protocol's name of a type: "S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS".
std::string_view type_name(Type type);

// One attribute value. A value type.
class Value {
 public:
  using Variant = std::variant<std::string, Decimal, Binary, bool, Null, Map, List, StringSet, NumberSet, BinarySet>;

  Value() : v_(Null{}) {}
  Value(std::string s) : v_(std::move(s)) {}         // NOLINT(google-explicit-constructor)
  Value(std::string_view s) : v_(std::string(s)) {}  // NOLINT
  Value(const char* s) : v_(std::string(s)) {}       // NOLINT
  Value(std::nullptr_t) = delete;                    // So that Value(0) does not compile: see number().
  Value(Decimal n) : v_(n) {}                        // NOLINT
  Value(Binary b) : v_(std::move(b)) {}              // NOLINT
  Value(Null n) : v_(n) {}                           // NOLINT
  Value(Map m) : v_(std::move(m)) {}                 // NOLINT
  Value(List l) : v_(std::move(l)) {}                // NOLINT
  Value(StringSet s) : v_(std::move(s)) {}           // NOLINT
  Value(NumberSet s) : v_(std::move(s)) {}           // NOLINT
  Value(BinarySet s) : v_(std::move(s)) {}           // NOLINT
  static Value number(int64_t n) { return Value(Decimal(n)); }
  static Value boolean(bool b) {
    Value v;
    v.v_ = b;
    return v;
  }

  Type type() const { return static_cast<Type>(v_.index()); }
  bool is(Type t) const { return type() == t; }

  // The member of that type, or null.
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&v_);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&v_);
  }
  const Variant& variant() const { return v_; }

  bool operator==(const Value& other) const { return v_ == other.v_; }

 private:
  Variant v_;
};

// Order of two values of the same scalar type S, N or B (strings and binaries bytewise, unsigned). Unordered otherwise.
std::partial_ordering compare(const Value& a, const Value& b);

// Size as the service counts it (Developer Guide, "DynamoDB item sizes and formats"); limits are in base/limits.h.
size_t billed_size(const Value& value);
size_t billed_size(const Item& item);
// The service's error for an item above limits::kMaxItemBytes: one that is put, or the result of an
// update.
tl::unexpected<Error> too_large_item(bool by_update);

// Refuses values that no item may hold: empty sets, nesting deeper than limits::kMaxNesting. Sorts sets and refuses
// duplicates in them. `where` names the value in messages.
Result<void> normalize(Value& value, std::string_view where);

}  // namespace freshet
