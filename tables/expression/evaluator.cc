// Conditions on stored items. Values are compared as they are encoded, because equal values have equal encodings
// (item_ref.h): whole attributes of any size are not decoded. Attributes with paths into them (a.b, a[3]) are, once.
#include <algorithm>
#include <cstring>
#include <memory>

#include "tables/expression/operators.h"
#include "tables/expression/paths.h"
#include "tables/expression/text.h"
#include "tables/value/encoding.h"

namespace freshet {
namespace expression {
namespace {

// With more names than this, one walk over the item finds all of them.
constexpr size_t kFewNames = 8;
// Decoding, and comparing decoded values, in units of Effort for each byte of the encoding.
constexpr uint64_t kDecoding = 8;
constexpr uint64_t kDecoded = 4;
constexpr uint64_t kElement = 2;  // Skipping an element of a list or set.

// An operand: a type with the bytes that stand behind it in an encoding, or a decoded value.
struct Seen {
  Type type = Type::kNull;
  std::string_view content;
  const Value* decoded = nullptr;
  uint64_t bytes = 0;                // Size of its encoding, or of the attribute around it.
  const Operand* operand = nullptr;  // The source of `content`.
};

class Stored {
 public:
  Stored(const BoundCondition& condition, const ItemRef& item, Effort& effort, std::vector<std::string>& given)
      : bindings_(condition.bindings), item_(item), effort_(effort), given_(given) {}

  // The values of an item with many attributes, found earlier.
  void know(const std::vector<std::string>& names, const std::vector<std::string_view>& values) {
    names_ = &names;
    values_ = &values;
  }

  bool equal(const std::vector<Operand>& operands) {
    Value storage[2];
    const auto left = see(operands[0], storage[0]);
    const auto right = left ? see(operands[1], storage[1]) : std::nullopt;
    return right && equal(*left, *right);
  }

  bool in(const std::vector<Operand>& operands) {
    Value storage;
    const auto left = see(operands[0], storage);
    if (!left) return false;
    return std::any_of(operands.begin() + 1, operands.end(), [&](const Operand& candidate) {
      Value candidate_storage;
      const auto right = see(candidate, candidate_storage);
      return right && equal(*left, *right);
    });
  }

  bool ordered(Operator op, const std::vector<Operand>& operands) {
    Value storage[2];
    const auto left = see(operands[0], storage[0]);
    const auto right = left ? see(operands[1], storage[1]) : std::nullopt;
    return right && says(op, order(*left, *right));
  }

  bool between(const std::vector<Operand>& operands) {
    Value storage[3];
    const auto middle = see(operands[0], storage[0]);
    const auto lower = middle ? see(operands[1], storage[1]) : std::nullopt;
    const auto upper = lower ? see(operands[2], storage[2]) : std::nullopt;
    return upper && order(*middle, *lower) >= 0 && order(*middle, *upper) <= 0;
  }

  bool call(const Operand& function) {
    Value storage[2];
    const auto first = see(function.arguments[0], storage[0]);
    if (function.function == Function::kAttributeExists) return first.has_value();
    if (function.function == Function::kAttributeNotExists) return !first;
    const auto second = first ? see(function.arguments[1], storage[1]) : std::nullopt;
    if (!second) return false;
    if (function.function == Function::kBeginsWith) return begins_with(*first, *second);
    if (function.function == Function::kContains) return contains(*first, *second);
    return second->type == Type::kString && text_of(*second) == type_name(first->type);
  }

 private:
  static bool is_text(Type type) { return type == Type::kString || type == Type::kBinary; }
  static std::string_view text_of(const Seen& seen) {
    if (!seen.decoded) return seen.content;
    const auto* text = seen.decoded->get_if<std::string>();
    return text ? *text : std::string_view(seen.decoded->get_if<Binary>()->bytes);
  }

  // --- Operands ---

  // Empty for a missing value; `storage` holds computed ones.
  std::optional<Seen> see(const Operand& operand, Value& storage) {
    if (operand.kind == Operand::Kind::kValue) return given(operand);
    if (operand.kind == Operand::Kind::kFunction) return size(operand, storage);
    const auto name = element_name(operand.path[0], bindings_);
    const auto whole = attribute(name);
    if (!whole) return std::nullopt;
    const uint64_t bytes = whole->encoded().size();
    if (operand.path.size() == 1) return Seen{whole->type(), whole->bytes(), nullptr, bytes, &operand};
    const Value* part = follow(operand.path, operand.path.size(), decoded(name, *whole), bindings_);
    if (!part) return std::nullopt;
    return Seen{part->type(), {}, part, bytes, nullptr};
  }

  std::optional<ValueView> attribute(std::string_view name) {
    if (!item_) return std::nullopt;
    if (!names_) {
      for (const auto& [known, value] : found_) {
        if (known == name) return value;
      }
      return found_.emplace_back(name, item_.find(name)).second;
    }
    const auto at = std::lower_bound(names_->begin(), names_->end(), name);
    const auto value = (*values_)[static_cast<size_t>(at - names_->begin())];
    return value.empty() ? std::nullopt : std::optional(ValueView(value));
  }

  // Null if there is no effort left for it.
  const Value* decoded(std::string_view name, const ValueView& view) {
    for (const auto& [known, value] : decoded_) {
      if (known == name) return value.get();
    }
    if (!effort_.spend(kDecoding * view.encoded().size())) return nullptr;
    return decoded_.emplace_back(name, std::make_unique<Value>(view.decode())).second.get();
  }

  Seen given(const Operand& operand) {
    const Value& value = *bindings_.values[operand.slot];
    const auto seen = [&](std::string_view content) {
      return Seen{value.type(), content, nullptr, content.size(), &operand};
    };
    switch (value.type()) {
      case Type::kString:
        return seen(*value.get_if<std::string>());
      case Type::kBinary:
        return seen(value.get_if<Binary>()->bytes);
      case Type::kBool:
        return seen(*value.get_if<bool>() ? std::string_view("\1", 1) : std::string_view("\0", 1));
      case Type::kNull:
        return seen({});
      default:
        break;
    }
    if (given_.size() <= operand.slot) given_.resize(bindings_.values.size());
    std::string& encoded = given_[operand.slot];
    if (encoded.empty()) append_encoded(encoded, value);
    return seen(encoding::content_of(encoded));
  }

  std::optional<Seen> size(const Operand& call, Value& storage) {
    Value argument_storage;
    const auto argument = see(call.arguments[0], argument_storage);
    const auto size = argument ? size_of(*argument) : std::nullopt;
    if (!size) return std::nullopt;
    storage = Value::number(*size);
    return Seen{Type::kNumber, {}, &storage, sizeof(Decimal), nullptr};
  }

  std::optional<int64_t> size_of(const Seen& seen) {
    if (seen.type == Type::kString) {
      if (!effort_.spend(text_of(seen).size())) return std::nullopt;
      return utf16_length(text_of(seen));
    }
    if (seen.decoded) return expression::size_of(*seen.decoded);
    if (seen.type == Type::kBinary) return static_cast<int64_t>(seen.content.size());
    if (seen.type < Type::kMap) return std::nullopt;
    return static_cast<int64_t>(count(seen));
  }
  // The number of members of a set, list or map that is not decoded.
  static size_t count(const Seen& seen) {
    const char* at = seen.content.data();
    return encoding::take_varint(at);
  }

  // The operand as a value, decoded if needed. Null if there is no effort left for it.
  const Value* value_of(const Seen& seen) {
    if (seen.decoded) return seen.decoded;
    if (seen.operand->kind == Operand::Kind::kValue) return bindings_.values[seen.operand->slot];
    const auto name = element_name(seen.operand->path[0], bindings_);
    return decoded(name, *attribute(name));
  }

  // --- Comparisons ---

  bool equal(const Seen& a, const Seen& b) {
    if (a.type != b.type) return false;
    if (!a.decoded && !b.decoded) {
      if (a.content.size() != b.content.size() || !effort_.spend(1 + a.content.size() / 8)) return false;
      return a.content == b.content;
    }
    const Value* left = value_of(a);
    const Value* right = value_of(b);
    if (!left || !right || !effort_.spend(1 + kDecoded * std::min(a.bytes, b.bytes))) return false;
    return *left == *right;
  }

  std::partial_ordering order(const Seen& a, const Seen& b) {
    if (a.type != b.type || a.type > Type::kBinary) return std::partial_ordering::unordered;
    if (!effort_.spend(1 + std::min(a.bytes, b.bytes) / 8)) return std::partial_ordering::unordered;
    if (!a.decoded && !b.decoded) return a.content.compare(b.content) <=> 0;  // For numbers: the ordered form.
    const Value* left = value_of(a);
    const Value* right = value_of(b);
    return left && right ? compare(*left, *right) : std::partial_ordering::unordered;
  }

  bool begins_with(const Seen& a, const Seen& b) {
    if (a.type != b.type || !is_text(a.type)) return false;
    const auto prefix = text_of(b);
    return effort_.spend(1 + prefix.size() / 8) && text_of(a).starts_with(prefix);
  }

  bool contains(const Seen& all, const Seen& part) {
    if (is_text(all.type)) {
      if (all.type != part.type) return false;
      const auto text = text_of(all);
      return effort_.spend(1 + text.size()) && has_part(text, text_of(part));
    }
    constexpr size_t kSmallSet = 64;  // A larger set is decoded before it is searched.
    const bool set = all.type >= Type::kStringSet;
    if (!set && all.type != Type::kList) return false;
    if (!all.decoded && !part.decoded && (!set || count(all) <= kSmallSet)) return contains_encoded(all, part, set);
    const Value* whole = value_of(all);
    const Value* wanted = value_of(part);
    if (!whole || !wanted) return false;
    if (const auto* list = whole->get_if<List>()) {
      const uint64_t deep = wanted->type() > Type::kNull ? kDecoded * all.bytes : 0;
      if (!effort_.spend(1 + kElement * list->elements.size() + deep)) return false;
    }
    return expression::contains(*whole, *wanted);
  }

  bool contains_encoded(const Seen& all, const Seen& part, bool set) {
    if (!effort_.spend(1 + kElement * count(all) + all.content.size() / 8)) return false;
    std::string_view in = all.content;
    encoding::take_varint(in);
    if (!set) {
      while (!in.empty()) {
        const ValueView element(encoding::take_value(in));
        if (element.type() == part.type && element.bytes() == part.content) return true;
      }
      return false;
    }
    constexpr Type kMembers[] = {Type::kString, Type::kNumber, Type::kBinary};
    if (part.type != kMembers[static_cast<size_t>(all.type) - static_cast<size_t>(Type::kStringSet)]) return false;
    while (!in.empty()) {
      if (encoding::take_text(in) == part.content) return true;
    }
    return false;
  }

  const Bindings& bindings_;
  const ItemRef& item_;
  Effort& effort_;
  std::vector<std::string>& given_;
  const std::vector<std::string>* names_ = nullptr;
  const std::vector<std::string_view>* values_ = nullptr;
  absl::InlinedVector<std::pair<std::string_view, std::optional<ValueView>>, 4> found_;
  absl::InlinedVector<std::pair<std::string_view, std::unique_ptr<Value>>, 2> decoded_;
};

}  // namespace
}  // namespace expression

tl::unexpected<Error> too_much_effort(ExpressionKind kind) {
  return invalid(expression::concat(
      "Invalid ", expression_name(kind),
      ": The expression compares too much with large attributes; use fewer operands, or keep what it looks at small"));
}

Evaluator::Evaluator(const BoundCondition& condition) : condition_(condition) {
  if (!condition || condition.compiled->roots.size() <= expression::kFewNames) return;
  auto names = top_level_attributes(condition);
  expression::sort_unique(names);
  names_.assign(names.begin(), names.end());
}

bool Evaluator::holds(const ItemRef& item, Effort& effort) {
  if (!condition_) return true;
  expression::Stored operands(condition_, item, effort, given_);
  if (!names_.empty()) {
    values_.assign(names_.size(), {});
    if (item) item.pick(names_, values_.data());
    operands.know(names_, values_);
  }
  return expression::holds(condition_.compiled->root, operands);
}

bool evaluate(const BoundCondition& condition, const ItemRef& item) {
  Effort effort(kMostItemEffort);
  const bool holds = Evaluator(condition).holds(item, effort);
  return holds && !effort.is_spent();
}

}  // namespace freshet
