// Conditions and filters on items, decoded or stored.
#include <string.h>  // memmem

#include <algorithm>
#include <memory>

#include "tables/expression/paths.h"
#include "tables/expression/walk.h"

namespace freshet {
namespace expression {
namespace {

// Where top-level attributes come from.
class ItemSource {
 public:
  explicit ItemSource(const Item& item) : item_(item) {}
  const Value* attribute(std::string_view name) { return item_.find(name); }
  bool equals(std::string_view name, const Value& value) {
    const Value* held = item_.find(name);
    return held && *held == value;
  }

 private:
  const Item& item_;
};

// Decodes an attribute when it is looked at, once.
class RefSource {
 public:
  explicit RefSource(const ItemRef& item) : item_(item) {}

  const Value* attribute(std::string_view name) {
    for (const auto& [known, value] : decoded_) {
      if (known == name) return value.get();
    }
    const auto view = view_of(name);
    if (!view) return nullptr;
    decoded_.emplace_back(name, std::make_unique<Value>(view->decode()));
    return decoded_.back().second.get();
  }

  // Strings, the common case, without decoding.
  bool equals(std::string_view name, const Value& value) {
    const auto* text = value.get_if<std::string>();
    if (!text) {
      const Value* held = attribute(name);
      return held && *held == value;
    }
    const auto view = view_of(name);
    return view && view->type() == Type::kString && view->bytes() == *text;
  }

 private:
  std::optional<ValueView> view_of(std::string_view name) const { return item_ ? item_.find(name) : std::nullopt; }

  const ItemRef& item_;
  absl::InlinedVector<std::pair<std::string_view, std::unique_ptr<Value>>, 4> decoded_;
};

// The service counts UTF-16 code units.
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

template <class Member, class Members>
bool has_member(const Members& members, const Member* member) {
  return member && std::binary_search(members.begin(), members.end(), *member);
}

// std::string::find compares the whole part at every place where its first byte stands.
bool has_part(const std::string& text, const std::string& part) {
  return memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

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

bool ordered(Operator op, const Value& a, const Value& b) {
  const auto order = compare(a, b);
  switch (op) {
    case Operator::kLess:
      return order < 0;
    case Operator::kLessOrEqual:
      return order <= 0;
    case Operator::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

template <class Source>
class Evaluation {
 public:
  Evaluation(const Bindings& bindings, Source& source) : bindings_(bindings), source_(source) {}

  bool holds(const Condition& condition) {
    const auto& operands = condition.operands;
    switch (condition.op) {
      case Operator::kEqual:
        return equal(operands[0], operands[1]);
      case Operator::kNotEqual:
        return !equal(operands[0], operands[1]);
      case Operator::kBetween:
        return between(operands);
      case Operator::kIn:
        return std::any_of(operands.begin() + 1, operands.end(),
                           [&](const Operand& candidate) { return equal(operands[0], candidate); });
      case Operator::kFunction:
        return call(operands[0]);
      case Operator::kAnd:
        return std::all_of(condition.children.begin(), condition.children.end(),
                           [&](const Condition& child) { return holds(child); });
      case Operator::kOr:
        return std::any_of(condition.children.begin(), condition.children.end(),
                           [&](const Condition& child) { return holds(child); });
      case Operator::kNot:
        return !holds(condition.children[0]);
      default: {
        Value left_storage;
        Value right_storage;
        const Value* left = value(operands[0], left_storage);
        const Value* right = value(operands[1], right_storage);
        return left && right && ordered(condition.op, *left, *right);
      }
    }
  }

 private:
  // Null for what is not there; `storage` holds computed ones.
  const Value* value(const Operand& operand, Value& storage) {
    if (operand.kind == Operand::Kind::kValue) return bindings_.values[operand.slot];
    if (operand.kind == Operand::Kind::kPath) {
      const auto& path = operand.path;
      return follow(path, path.size(), source_.attribute(element_name(path[0], bindings_)), bindings_);
    }
    Value argument_storage;  // Only size() is an operand.
    const Value* argument = value(operand.arguments[0], argument_storage);
    const auto size = argument ? size_of(*argument) : std::nullopt;
    if (!size) return nullptr;
    storage = Value::number(*size);
    return &storage;
  }

  // What is not there equals nothing.
  bool equal(const Operand& a, const Operand& b) {
    if (a.kind == Operand::Kind::kPath && a.path.size() == 1 && b.kind == Operand::Kind::kValue) {
      return source_.equals(element_name(a.path[0], bindings_), *bindings_.values[b.slot]);
    }
    Value a_storage;
    Value b_storage;
    const Value* left = value(a, a_storage);
    const Value* right = value(b, b_storage);
    return left && right && *left == *right;
  }

  bool between(const std::vector<Operand>& operands) {
    Value storage[3];
    const Value* middle = value(operands[0], storage[0]);
    const Value* lower = value(operands[1], storage[1]);
    const Value* upper = value(operands[2], storage[2]);
    return middle && lower && upper && compare(*middle, *lower) >= 0 && compare(*middle, *upper) <= 0;
  }

  bool call(const Operand& function) {
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

  const Bindings& bindings_;
  Source& source_;
};

template <class Source>
bool evaluate_on(const BoundCondition& condition, Source source) {
  if (!condition) return true;
  return Evaluation<Source>(condition.bindings, source).holds(condition.compiled->root);
}

}  // namespace
}  // namespace expression

bool evaluate(const BoundCondition& condition, const Item& item) {
  return expression::evaluate_on(condition, expression::ItemSource(item));
}

bool evaluate(const BoundCondition& condition, const ItemRef& item) {
  return expression::evaluate_on(condition, expression::RefSource(item));
}

size_t weight(const BoundCondition& condition) {
  return condition ? expression::count_operands(condition.compiled->root) : 0;
}

}  // namespace freshet
