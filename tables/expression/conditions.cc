// Conditions on decoded items, and the results of their operators. For stored items: evaluator.cc.
#include <string.h>  // memmem

#include <algorithm>

#include "tables/expression/operators.h"
#include "tables/expression/paths.h"
#include "tables/expression/walk.h"

namespace freshet {
namespace expression {

int64_t utf16_length(std::string_view text) {
  int64_t units = 0;
  for (unsigned char c : text) {
    if ((c & 0xC0) != 0x80) units += c >= 0xF0 ? 2 : 1;
  }
  return units;
}

std::optional<int64_t> size_of(const Value& value) {
  if (const auto* s = value.get_if<std::string>()) return utf16_length(*s);
  if (const auto* b = value.get_if<Binary>()) return static_cast<int64_t>(b->bytes.size());
  if (const auto* l = value.get_if<List>()) return static_cast<int64_t>(l->elements.size());
  if (const auto* m = value.get_if<Map>()) return static_cast<int64_t>(m->size());
  if (const auto* s = value.get_if<StringSet>()) return static_cast<int64_t>(s->members.size());
  if (const auto* s = value.get_if<NumberSet>()) return static_cast<int64_t>(s->members.size());
  if (const auto* s = value.get_if<BinarySet>()) return static_cast<int64_t>(s->members.size());
  return std::nullopt;
}

bool begins_with(const Value& value, const Value& prefix) {
  if (const auto* s = value.get_if<std::string>()) {
    const auto* start = prefix.get_if<std::string>();
    return start && s->starts_with(*start);
  }
  const auto* b = value.get_if<Binary>();
  const auto* start = prefix.get_if<Binary>();
  return b && start && b->bytes.starts_with(start->bytes);
}

// std::string::find compares the whole part wherever its first byte matches.
bool has_part(std::string_view text, std::string_view part) {
  return part.empty() || memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

namespace {
template <class Member, class Members>
bool has_member(const Members& members, const Member* member) {
  return member && std::binary_search(members.begin(), members.end(), *member);
}
}  // namespace

bool contains(const Value& value, const Value& part) {
  const auto* text = part.get_if<std::string>();
  const auto* binary = part.get_if<Binary>();
  if (const auto* s = value.get_if<std::string>()) return text && has_part(*s, *text);
  if (const auto* b = value.get_if<Binary>()) return binary && has_part(b->bytes, binary->bytes);
  if (const auto* s = value.get_if<StringSet>()) return has_member(s->members, text);
  if (const auto* s = value.get_if<NumberSet>()) return has_member(s->members, part.get_if<Decimal>());
  if (const auto* s = value.get_if<BinarySet>()) return has_member(s->members, binary ? &binary->bytes : nullptr);
  const auto* list = value.get_if<List>();
  return list && std::find(list->elements.begin(), list->elements.end(), part) != list->elements.end();
}

namespace {

class Decoded {
 public:
  Decoded(const Bindings& bindings, const Item& item) : bindings_(bindings), item_(item) {}

  // A missing value equals nothing.
  bool equal(const std::vector<Operand>& operands) const {
    Value storage[2];
    const Value* left = value(operands[0], storage[0]);
    const Value* right = value(operands[1], storage[1]);
    return left && right && *left == *right;
  }

  bool in(const std::vector<Operand>& operands) const {
    Value storage;
    const Value* left = value(operands[0], storage);
    return left && std::any_of(operands.begin() + 1, operands.end(), [&](const Operand& candidate) {
             Value candidate_storage;
             const Value* right = value(candidate, candidate_storage);
             return right && *left == *right;
           });
  }

  bool ordered(Operator op, const std::vector<Operand>& operands) const {
    Value storage[2];
    const Value* left = value(operands[0], storage[0]);
    const Value* right = value(operands[1], storage[1]);
    return left && right && says(op, compare(*left, *right));
  }

  bool between(const std::vector<Operand>& operands) const {
    Value storage[3];
    const Value* middle = value(operands[0], storage[0]);
    const Value* lower = value(operands[1], storage[1]);
    const Value* upper = value(operands[2], storage[2]);
    return middle && lower && upper && compare(*middle, *lower) >= 0 && compare(*middle, *upper) <= 0;
  }

  bool call(const Operand& function) const {
    Value storage[2];
    const Value* first = value(function.arguments[0], storage[0]);
    if (function.function == Function::kAttributeExists) return first;
    if (function.function == Function::kAttributeNotExists) return !first;
    const Value* second = first ? value(function.arguments[1], storage[1]) : nullptr;
    if (!second) return false;
    if (function.function == Function::kBeginsWith) return begins_with(*first, *second);
    if (function.function == Function::kContains) return contains(*first, *second);
    const auto* name = second->get_if<std::string>();
    return name && type_name(first->type()) == *name;
  }

 private:
  // Null for a missing value; `storage` holds computed ones.
  const Value* value(const Operand& operand, Value& storage) const {
    if (operand.kind == Operand::Kind::kValue) return bindings_.values[operand.slot];
    if (operand.kind == Operand::Kind::kPath) return find(operand.path, item_, bindings_);
    Value argument_storage;  // Only size() is an operand.
    const Value* argument = value(operand.arguments[0], argument_storage);
    const auto size = argument ? size_of(*argument) : std::nullopt;
    if (!size) return nullptr;
    storage = Value::number(*size);
    return &storage;
  }

  const Bindings& bindings_;
  const Item& item_;
};

}  // namespace
}  // namespace expression

bool evaluate(const BoundCondition& condition, const Item& item) {
  if (!condition) return true;
  expression::Decoded operands(condition.bindings, item);
  return expression::holds(condition.compiled->root, operands);
}

size_t weight(const BoundCondition& condition) {
  return condition ? expression::count_operands(condition.compiled->root) : 0;
}

}  // namespace freshet
