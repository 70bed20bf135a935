// The item store's expression language: conditions, filters, updates, key conditions, projections.
// Source: Amazon DynamoDB Developer Guide, "Using expressions in DynamoDB" and the API reference; docs/compatibility.md
// says where this differs.
//
// How a request uses it:
//     Expressions expressions(cache, input.placeholders);      // the input outlives everything bound from it
//     auto condition = expressions.condition(input.condition); // Result<BoundCondition>
//     auto update = expressions.update(input.update);
//     auto used = expressions.finish();                        // every placeholder used?
//     ... evaluate(*condition, old) ... apply(*update, std::move(base)) ...
//
// Compilation uses the text alone and is cached. Placeholders are bound per request; checks that depend on
// them (undefined names, operand types of literal values, overlapping paths) run at that point. All errors
// are kValidation with the service's own text unless said otherwise. Threading: the cache and Expressions
// belong to the loop thread. Compiled expressions are immutable; evaluation is pure and may run on any
// thread.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tables/definition.h"
#include "tables/value/item_ref.h"
#include "tables/value/value.h"

namespace freshet {

struct Placeholders;  // tables/tables.h
namespace expression {
struct Compiled;
}

// The use of an expression; its errors start with "Invalid <name>: ".
enum class ExpressionKind : uint8_t { kCondition, kFilter, kUpdate, kKeyCondition, kProjection };
std::string_view expression_name(ExpressionKind kind);  // "ConditionExpression", ...

// Parsed expressions. Opaque; made by the compile functions, or from the cache.
class CompiledCondition;  // For kCondition, kFilter and kKeyCondition.
class CompiledUpdate;
class CompiledProjection;

// `kind` is one of the three kinds of CompiledCondition.
Result<std::shared_ptr<const CompiledCondition>> compile_condition(std::string_view text, ExpressionKind kind);
Result<std::shared_ptr<const CompiledUpdate>> compile_update(std::string_view text);
Result<std::shared_ptr<const CompiledProjection>> compile_projection(std::string_view text);

// Compiled expressions by kind and text; the least recently used is dropped first. Bounded in number and, against
// floods of long texts, in bytes of text. Failures are not cached.
class ExpressionCache {
 public:
  explicit ExpressionCache(size_t capacity_per_kind = 1000);
  ~ExpressionCache();
  ExpressionCache(const ExpressionCache&) = delete;
  ExpressionCache& operator=(const ExpressionCache&) = delete;

  Result<std::shared_ptr<const CompiledCondition>> condition(std::string_view text, ExpressionKind kind);
  Result<std::shared_ptr<const CompiledUpdate>> update(std::string_view text);
  Result<std::shared_ptr<const CompiledProjection>> projection(std::string_view text);

  uint64_t hits() const;
  uint64_t misses() const;
  size_t size() const;  // The number of cached expressions of all kinds.

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The names and values of an expression's "#n" and ":v" in one request: views into that request's Placeholders.
struct Bindings {
  absl::InlinedVector<std::string_view, 4> names;  // By slot of the compiled expression.
  absl::InlinedVector<const Value*, 4> values;     // By slot; never null.
  // Sorted copies of values that held sets out of order; `values` then points here.
  std::vector<std::shared_ptr<const Value>> sorted;
};

// Bound expressions: valid as long as the Placeholders they were bound from; free to copy. Default-constructed ones
// stand for "no expression": a condition that holds, an update that changes nothing, a projection of everything.
struct BoundCondition {
  std::shared_ptr<const CompiledCondition> compiled;
  Bindings bindings;
  explicit operator bool() const { return compiled != nullptr; }
};
struct BoundUpdate {
  std::shared_ptr<const CompiledUpdate> compiled;
  Bindings bindings;
  explicit operator bool() const { return compiled != nullptr; }
};
struct BoundProjection {
  std::shared_ptr<const CompiledProjection> compiled;
  Bindings bindings;
  explicit operator bool() const { return compiled != nullptr; }
};

// All expressions of one request, which share their placeholders. Each is bound at most once; empty text gives the
// default-constructed bound expression. One per request (of a transaction or write_many: one per action).
class Expressions {
 public:
  // Both outlive this object.
  Expressions(ExpressionCache& cache, const Placeholders& placeholders);

  Result<BoundCondition> condition(std::string_view text);
  Result<BoundCondition> filter(std::string_view text);
  Result<BoundCondition> key_condition(std::string_view text);
  Result<BoundUpdate> update(std::string_view text);
  Result<BoundProjection> projection(std::string_view text);
  // Call it after all have been bound: refuses placeholders that no expression uses. If there is no expression at all,
  // `absent` names the possible ones: "ConditionExpression is null".
  Result<void> finish(std::string_view absent = {});

 private:
  Result<BoundCondition> bind_condition(std::string_view text, ExpressionKind kind);
  Result<void> check_placeholders();
  Result<void> bind(const expression::Compiled& compiled, Bindings& out);
  size_t find_name(std::string_view placeholder) const;  // Index in placeholders_.names, its size if absent.

  ExpressionCache& cache_;
  const Placeholders& placeholders_;
  absl::InlinedVector<bool, 8> used_names_;   // Parallel to placeholders_.names.
  absl::InlinedVector<bool, 8> used_values_;  // Parallel to placeholders_.values.
  std::vector<size_t> names_in_order_;        // The order of placeholders_.names, if there are many.
  bool checked_ = false;
  bool any_ = false;
};

// --- Conditions and filters ---

// An absent item is an empty Item. An operator that does not support a value's type is false, never an error.
bool evaluate(const BoundCondition& condition, const Item& item);

// Bounds the item data that may still be examined, so that no request holds up the loop: a unit is about 1 ns.
class Effort {
 public:
  explicit Effort(uint64_t most) : left_(most) {}
  // Spends units on the next step. Returns false if too few are left; then none are left.
  bool spend(uint64_t units) {
    spent_ = spent_ || units > left_;
    left_ = spent_ ? 0 : left_ - units;
    return !spent_;
  }
  // Counts work that the size of the item itself bounds: it adds to the length of a turn, but is never refused.
  void note(uint64_t units) { noted_ += units; }
  bool is_spent() const { return spent_; }
  uint64_t left() const { return left_; }
  uint64_t noted() const { return noted_; }

 private:
  uint64_t left_;
  uint64_t noted_ = 0;
  bool spent_ = false;
};
// The bounds for the conditions of one write or a filter on one item, and for all conditions of a transaction together.
inline constexpr uint64_t kMostItemEffort = 32u << 20;
inline constexpr uint64_t kMostTransactionEffort = 128u << 20;
// kValidation, with a message of Freshet's own.
tl::unexpected<Error> too_much_effort(ExpressionKind kind);

// Evaluates a condition on one stored item after the other, and decodes no more than it needs.
class Evaluator {
 public:
  explicit Evaluator(const BoundCondition& condition);  // Outlives this.
  // A null ref is an absent item. Ignore the result if `effort` is used up afterwards.
  bool holds(const ItemRef& item, Effort& effort);

 private:
  const BoundCondition& condition_;
  std::vector<std::string> names_;        // Sorted names of the attributes that it examines, if there are many.
  std::vector<std::string_view> values_;  // Values of one item, by name.
  std::vector<std::string> given_;        // Stored forms of the request's values, by slot, made when needed.
};
// Evaluates one item with an effort of kMostItemEffort; returns false if that is used up.
bool evaluate(const BoundCondition& condition, const ItemRef& item);
// The most operands that it examines; 0 for no condition.
size_t weight(const BoundCondition& condition);
// A query's filter may not use the keys of the table or index that is read.
Result<void> check_filter(const BoundCondition& filter, const KeySchema& keys);
// No path may lead into a key attribute of the table or of its indexes: keys are scalars.
Result<void> check_keys(const BoundCondition& condition, const TableDefinition& table);
Result<void> check_keys(const BoundProjection& projection, const TableDefinition& table);

// --- Updates ---

// The item after the update. `item` is the old item, or only the key for an absent one. All operands are read from the
// item as it was before. Refuses results larger than limits::kMaxItemBytes or nested deeper than limits::kMaxNesting.
// After a failure the input must not be used.
Result<Item> apply(const BoundUpdate& update, Item item);
// True if the update creates an item where there is none. One that only removes (REMOVE, DELETE) does not, and leaves
// nothing behind. An error of apply() on the key alone is still reported.
bool creates(const BoundUpdate& update);
// The edits of an update that only sets whole attributes to values of the request, or removes some: sorted by name.
// Empty optional for an update that does more. The values live as long as the inputs that the update was bound from.
using ItemEdits = absl::InlinedVector<ItemEdit, 8>;
std::optional<ItemEdits> plain_edits(const BoundUpdate& update);
// The message of apply() if an operand, or the value it is added to, has the wrong type for the action.
inline constexpr std::string_view kOperandType = "An operand in the update expression has an incorrect data type";
// An update may not write key attributes of the table, nor lead into key attributes of the table or an index.
Result<void> check_update(const BoundUpdate& update, const TableDefinition& table);
// UPDATED_OLD: the old item's values at the update's paths, with the maps and lists around them. Leaves out paths that
// do not exist.
Item updated_attributes(const BoundUpdate& update, const Item& before);
Item updated_attributes(const BoundUpdate& update, const ItemRef& before);
// UPDATED_NEW: the same for the new item that apply() made of the old one. Finds a value that was set at its present
// place: appended to its list, or moved up by the removal of elements before it. Leaves out removed values.
Item updated_attributes(const BoundUpdate& update, const Item& before, const Item& after);
Item updated_attributes(const BoundUpdate& update, const ItemRef& before, const ItemRef& after);

// --- Key conditions ---

// Checks the form alone, whatever the keys are: the operators, and that each condition is about one attribute.
Result<void> check_key_condition(const BoundCondition& key_condition);

struct KeyBound {
  Value value;
  bool inclusive = true;
};
// The sort keys that a query reads. At most one of prefix and (lower, upper) is set; none of them means all. `=` is
// lower == upper, both inclusive.
struct KeyRange {
  Value partition;
  std::optional<KeyBound> lower;
  std::optional<KeyBound> upper;
  std::optional<Value> prefix;  // S or B.
  bool contains(const Value& sort_key) const;

  // For keys with several attributes: the values of the partition's other attributes, and of the first attributes of
  // the sort key. Bounds and prefix apply to the attribute that follows them.
  std::vector<Value> more_partition{};
  std::vector<Value> first_sort{};
  // True if the key matches.
  bool contains(const Item& key, const KeySchema& keys) const;
};
// Checks the condition's form and its values' types against the keys of the table or index.
Result<KeyRange> key_range(const BoundCondition& key_condition, const KeySchema& keys);

// --- Projections ---

Item project(const BoundProjection& projection, const Item& item);
// The same on the stored form; decodes only what is needed. `item` is not null.
Item project(const BoundProjection& projection, const ItemRef& item);
// The number of paths that it looks for; 0 for no projection.
size_t weight(const BoundProjection& projection);
// The top-level attributes that the projection reads, in its order: they tell if an index has them all. Each once,
// unless placeholders give one name twice.
std::vector<std::string_view> top_level_attributes(const BoundProjection& projection);
// The attributes that an update reads or writes, sorted: apply() gives the same result on an item with only these.
std::vector<std::string_view> top_level_attributes(const BoundUpdate& update);
// The attributes that a filter reads.
std::vector<std::string_view> top_level_attributes(const BoundCondition& condition);

}  // namespace freshet
