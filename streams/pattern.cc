#include "streams/pattern.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "streams/text_match.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

enum class Op {
  kPrefix,
  kSuffix,
  kPrefixIgnoreCase,
  kSuffixIgnoreCase,
  kEqualIgnoreCase,
  kWildcard,
  kCidr,
  kNumeric,
  kExists,
  kAnythingBut,
};

struct Bound {
  std::string comparison;  // "=", "<", "<=", ">", ">=".
  Decimal value;
};

// Plain values: there may be many of them, and many values to compare.
class PlainValues {
 public:
  void add(const Value& value) {
    if (const auto* text = value.get_if<std::string>()) {
      texts_.insert(*text);
    } else if (const auto* number = value.get_if<Decimal>()) {
      numbers_.push_back(*number);
    } else if (const bool* flag = value.get_if<bool>()) {
      flags_[*flag ? 1 : 0] = true;
    } else {
      null_ = true;
    }
  }
  void end() { std::sort(numbers_.begin(), numbers_.end()); }  // Call it once, after the last add().
  bool empty() const { return texts_.empty() && numbers_.empty() && !flags_[0] && !flags_[1] && !null_; }
  bool contain(const Value& value) const {
    if (const auto* text = value.get_if<std::string>()) return texts_.contains(*text);
    if (const auto* number = value.get_if<Decimal>()) {
      return std::binary_search(numbers_.begin(), numbers_.end(), *number);
    }
    if (const bool* flag = value.get_if<bool>()) return flags_[*flag ? 1 : 0];
    return null_ && value.is(Type::kNull);
  }

 private:
  absl::flat_hash_set<std::string> texts_;
  std::vector<Decimal> numbers_;
  std::array<bool, 2> flags_{};
  bool null_ = false;
};

struct Matcher {
  Op op = Op::kPrefix;
  Value operand;                    // A string, for the string operators.
  bool exists = true;               // For kExists.
  std::vector<Bound> bounds;        // For kNumeric: all must hold.
  bool in_text = false;             // For kNumeric: also matches text that is a number.
  std::vector<std::string> pieces;  // For kWildcard.
  AddressRange range;               // For kCidr.
  std::vector<Matcher> refused;     // For kAnythingBut: none of these may match,
  PlainValues refused_values;       // and none of these may be it.
};

}  // namespace

struct Pattern::Node {
  std::map<std::string, Node, std::less<>> fields;
  // For a leaf: one of these must match or equal the value.
  std::vector<Matcher> matchers;
  PlainValues values;
  std::vector<std::vector<Node>> any_of;  // Each "$or": one alternative must match.
  bool is_leaf() const { return !matchers.empty() || !values.empty(); }
};

namespace {

using Node = Pattern::Node;

std::string at(const std::string& path) {
  return path.empty() ? std::string("at the top level") : fmt::format("at \"{}\"", path);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// ---- parsing

// {"prefix": {"equals-ignore-case": s}}: the operand of the inner operator.
const Value* ignoring_case(Op op, const Value& operand) {
  const Map* map = operand.get_if<Map>();
  if ((op != Op::kPrefix && op != Op::kSuffix) || !map || map->size() != 1) return nullptr;
  return map->begin()->first == "equals-ignore-case" ? &map->begin()->second : nullptr;
}

Result<Matcher> string_matcher(Op op, const std::string& name, const Value& operand, const std::string& path) {
  if (const Value* inner = ignoring_case(op, operand)) {
    return string_matcher(op == Op::kPrefix ? Op::kPrefixIgnoreCase : Op::kSuffixIgnoreCase, name, *inner, path);
  }
  const auto* text = operand.get_if<std::string>();
  if (!text) return invalid(fmt::format("Pattern {}: {} wants a string", at(path), name));
  Matcher matcher;
  matcher.op = op;
  matcher.operand = operand;
  if (op == Op::kWildcard) {
    auto pieces = parse_wildcard(*text);
    if (!pieces) {
      return invalid(fmt::format(
          "Pattern {}: wildcard wants text with single stars; a backslash stands before a star or a backslash only",
          at(path)));
    }
    matcher.pieces = std::move(*pieces);
  }
  if (op == Op::kCidr) {
    const auto range = parse_address_range(*text);
    if (!range) {
      return invalid(
          fmt::format("Pattern {}: cidr wants an address range like 10.0.0.0/24 or 2001:db8::/32", at(path)));
    }
    matcher.range = *range;
  }
  return matcher;
}

std::optional<Op> string_operator(std::string_view name) {
  if (name == "prefix") return Op::kPrefix;
  if (name == "suffix") return Op::kSuffix;
  if (name == "equals-ignore-case") return Op::kEqualIgnoreCase;
  if (name == "wildcard") return Op::kWildcard;
  if (name == "cidr") return Op::kCidr;
  return std::nullopt;
}

Result<Matcher> numeric_matcher(const Value& operand, const std::string& path) {
  const auto wrong = [&] {
    return invalid(fmt::format(
        R"(Pattern {}: numeric wants pairs of a comparison (=, <, <=, >, >=) and a number, like [">=", 1, "<", 5])",
        at(path)));
  };
  const List* list = operand.get_if<List>();
  if (!list || list->elements.empty() || list->elements.size() % 2 != 0 || list->elements.size() > 4) return wrong();
  Matcher matcher;
  matcher.op = Op::kNumeric;
  for (size_t i = 0; i < list->elements.size(); i += 2) {
    const auto* comparison = list->elements[i].get_if<std::string>();
    const auto* value = list->elements[i + 1].get_if<Decimal>();
    if (!comparison || !value) return wrong();
    if (*comparison != "=" && *comparison != "<" && *comparison != "<=" && *comparison != ">" && *comparison != ">=") {
      return wrong();
    }
    matcher.bounds.push_back({*comparison, *value});
  }
  return matcher;
}

bool is_plain(const Value& value) {
  return value.is(Type::kString) || value.is(Type::kNumber) || value.is(Type::kBool) || value.is(Type::kNull);
}

// {"anything-but": ...}: a value, a list of values, or {"prefix": s or [s, ...]} and the like.
Result<Matcher> anything_but(const Value& operand, const std::string& path) {
  Matcher matcher;
  matcher.op = Op::kAnythingBut;
  std::optional<Op> op;
  std::string name;
  const Value* what = &operand;
  if (const Map* map = operand.get_if<Map>()) {
    if (map->size() == 1) {
      name = map->begin()->first;
      op = string_operator(name);
      what = &map->begin()->second;
    }
    if (!op) return invalid(fmt::format("Pattern {}: anything-but does not know this operator", at(path)));
  }
  std::vector<Value> operands{*what};
  if (const List* list = what->get_if<List>()) operands = list->elements;
  if (operands.empty()) return invalid(fmt::format("Pattern {}: anything-but wants at least one value", at(path)));
  for (const Value& one : operands) {
    if (op) {
      auto inner = string_matcher(*op, name, one, path);
      if (!inner) return inner;
      matcher.refused.push_back(std::move(*inner));
    } else if (is_plain(one)) {
      matcher.refused_values.add(one);
    } else {
      return invalid(fmt::format("Pattern {}: anything-but wants plain values", at(path)));
    }
  }
  matcher.refused_values.end();
  return matcher;
}

Result<Matcher> parse_matcher(const Value& value, const std::string& path) {
  const Map* map = value.get_if<Map>();
  if (!map || map->size() != 1) {
    return invalid(fmt::format("Pattern {}: a matcher is a plain value or one operator in an object", at(path)));
  }
  const auto& [name, operand] = *map->begin();
  if (const auto op = string_operator(name)) return string_matcher(*op, name, operand, path);
  if (name == "numeric") return numeric_matcher(operand, path);
  if (name == "anything-but") return anything_but(operand, path);
  if (name == "exists") {
    const bool* flag = operand.get_if<bool>();
    if (!flag) return invalid(fmt::format("Pattern {}: exists wants true or false", at(path)));
    Matcher matcher;
    matcher.op = Op::kExists;
    matcher.exists = *flag;
    return matcher;
  }
  return invalid(
      fmt::format("Pattern {}: unknown operator \"{}\"; there are prefix, suffix, equals-ignore-case, wildcard, "
                  "anything-but, numeric, cidr, exists",
                  at(path), name));
}

Result<Node> parse_node(const Map& map, const std::string& path);

Result<std::vector<Node>> parse_alternatives(const Value& value, const std::string& path) {
  const List* list = value.get_if<List>();
  if (!list || list->elements.empty()) {
    return invalid(fmt::format("Pattern {}: $or wants a list of patterns", at(path)));
  }
  std::vector<Node> alternatives;
  for (const Value& element : list->elements) {
    const Map* map = element.get_if<Map>();
    if (!map) return invalid(fmt::format("Pattern {}: $or wants a list of patterns", at(path)));
    auto node = parse_node(*map, path);
    if (!node) return fail(std::move(node.error()));
    alternatives.push_back(std::move(*node));
  }
  return alternatives;
}

Result<Node> parse_leaf(const List& list, const std::string& path) {
  if (list.elements.empty()) return invalid(fmt::format("Pattern {}: an empty list matches nothing", at(path)));
  Node leaf;
  for (const Value& element : list.elements) {
    if (is_plain(element)) {
      leaf.values.add(element);
      continue;
    }
    auto matcher = parse_matcher(element, path);
    if (!matcher) return fail(std::move(matcher.error()));
    leaf.matchers.push_back(std::move(*matcher));
  }
  leaf.values.end();
  return leaf;
}

Result<Node> parse_node(const Map& map, const std::string& path) {
  if (map.empty()) return invalid(fmt::format("Pattern {}: an empty object; name at least one field", at(path)));
  Node node;
  for (const auto& [name, value] : map) {
    if (name == "$or") {
      auto alternatives = parse_alternatives(value, path);
      if (!alternatives) return fail(std::move(alternatives.error()));
      node.any_of.push_back(std::move(*alternatives));
      continue;
    }
    const std::string below = path.empty() ? name : path + "." + name;
    const Map* inner = value.get_if<Map>();
    const List* list = value.get_if<List>();
    if (!inner && !list) {
      return invalid(
          fmt::format("Pattern {}: wants a list of values, like [\"x\"], or an object of fields", at(below)));
    }
    auto parsed = inner ? parse_node(*inner, below) : parse_leaf(*list, below);
    if (!parsed) return parsed;
    node.fields.emplace(name, std::move(*parsed));
  }
  return node;
}

// ---- matching

bool within(const Decimal& number, const Bound& bound) {
  const auto order = number <=> bound.value;
  if (bound.comparison == "=") return order == 0;
  if (bound.comparison == "<") return order < 0;
  if (bound.comparison == "<=") return order <= 0;
  if (bound.comparison == ">") return order > 0;
  return order >= 0;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

bool matches_text(const Matcher& matcher, std::string_view text) {
  const std::string_view operand = *matcher.operand.get_if<std::string>();
  const size_t shared = std::min(text.size(), operand.size());
  switch (matcher.op) {
    case Op::kPrefix:
      return text.starts_with(operand);
    case Op::kSuffix:
      return text.ends_with(operand);
    case Op::kPrefixIgnoreCase:
      return equal_ignoring_case(text.substr(0, shared), operand);
    case Op::kSuffixIgnoreCase:
      return equal_ignoring_case(text.substr(text.size() - shared), operand);
    case Op::kWildcard:
      return matches_wildcard(text, matcher.pieces);
    case Op::kCidr:
      return in_range(text, matcher.range);
    default:
      return equal_ignoring_case(text, operand);
  }
}

bool matches_numeric(const Matcher& matcher, const Value& value) {
  const auto holds = [&](const Decimal& number) {
    return std::all_of(matcher.bounds.begin(), matcher.bounds.end(),
                       [&](const Bound& bound) { return within(number, bound); });
  };
  if (const auto* number = value.get_if<Decimal>()) return holds(*number);
  const auto* text = matcher.in_text ? value.get_if<std::string>() : nullptr;
  const auto read = text ? Decimal::parse(*text) : Result<Decimal>(invalid("no number"));
  return read && holds(*read);
}

// The cost of examining a value once.
size_t steps_of(const Value& value) {
  const auto* text = value.get_if<std::string>();
  return 1 + (text ? text->size() / 64 : 0);
}

size_t steps_of(const Matcher& matcher, const Value& value) {
  const auto* text = value.get_if<std::string>();
  if (!text) return 1;
  const auto* operand = matcher.operand.get_if<std::string>();
  switch (matcher.op) {
    case Op::kPrefix:
    case Op::kSuffix:
      return 1 + std::min(text->size(), operand->size()) / 64;
    case Op::kEqualIgnoreCase:
      return text->size() == operand->size() ? 1 + text->size() / 16 : 1;
    case Op::kPrefixIgnoreCase:
    case Op::kSuffixIgnoreCase:
      return 1 + std::min(text->size(), operand->size()) / 16;
    case Op::kWildcard:
      return 1 + (text->size() + operand->size()) / 16;
    case Op::kNumeric:
    case Op::kAnythingBut:
      return 1 + text->size() / 16;
    case Op::kCidr:
    case Op::kExists:
      return 1;
  }
  return 1;
}

bool matches_plain(const Matcher& matcher, const Value& value, MatchWork& work) {
  if (!work.take(steps_of(matcher, value))) return false;
  switch (matcher.op) {
    case Op::kPrefix:
    case Op::kSuffix:
    case Op::kPrefixIgnoreCase:
    case Op::kSuffixIgnoreCase:
    case Op::kEqualIgnoreCase:
    case Op::kWildcard:
    case Op::kCidr: {
      const auto* text = value.get_if<std::string>();
      return text && matches_text(matcher, *text);
    }
    case Op::kNumeric:
      return matches_numeric(matcher, value);
    case Op::kExists:
      return matcher.exists;
    case Op::kAnythingBut:
      return !matcher.refused_values.contain(value) &&
             std::none_of(matcher.refused.begin(), matcher.refused.end(),
                          [&](const Matcher& refused) { return matches_plain(refused, value, work); });
  }
  return false;
}

bool matches_leaf(const Node& leaf, const Value* value, MatchWork& work) {
  if (!value || value->is(Type::kMap)) {
    return work.take(1 + leaf.matchers.size()) &&
           std::any_of(leaf.matchers.begin(), leaf.matchers.end(),
                       [](const Matcher& matcher) { return matcher.op == Op::kExists && !matcher.exists; });
  }
  if (const List* list = value->get_if<List>()) {
    return work.take(1) && std::any_of(list->elements.begin(), list->elements.end(), [&](const Value& element) {
             return !work.spent() && matches_leaf(leaf, &element, work);
           });
  }
  if (!work.take(steps_of(*value))) return false;
  return leaf.values.contain(*value) ||
         std::any_of(leaf.matchers.begin(), leaf.matchers.end(),
                     [&](const Matcher& matcher) { return !work.spent() && matches_plain(matcher, *value, work); });
}

bool matches_node(const Node& node, const Map& event, MatchWork& work);

bool matches_field(const Node& node, const Value* value, MatchWork& work) {
  static const Map nothing;
  if (node.is_leaf()) return matches_leaf(node, value, work);
  if (!value) return matches_node(node, nothing, work);
  if (const Map* map = value->get_if<Map>()) return matches_node(node, *map, work);
  if (const List* list = value->get_if<List>()) {
    return std::any_of(list->elements.begin(), list->elements.end(), [&](const Value& element) {
      return work.take(1) && element.is(Type::kMap) && matches_node(node, *element.get_if<Map>(), work);
    });
  }
  return matches_node(node, nothing, work);
}

bool matches_node(const Node& node, const Map& event, MatchWork& work) {
  for (const auto& [name, field] : node.fields) {
    if (!work.take(1 + name.size() / 64) || !matches_field(field, event.find(name), work)) return false;
  }
  return std::all_of(node.any_of.begin(), node.any_of.end(), [&](const std::vector<Node>& alternatives) {
    return std::any_of(alternatives.begin(), alternatives.end(),
                       [&](const Node& alternative) { return work.take(1) && matches_node(alternative, event, work); });
  });
}

bool node_looks_at(const Node& node, std::string_view field) {
  if (node.fields.find(field) != node.fields.end()) return true;
  for (const auto& alternatives : node.any_of) {
    for (const Node& alternative : alternatives) {
      if (node_looks_at(alternative, field)) return true;
    }
  }
  return false;
}

void look_into_text(Node& node) {
  for (Matcher& matcher : node.matchers) matcher.in_text = true;
  for (auto& [name, field] : node.fields) look_into_text(field);
  for (auto& alternatives : node.any_of) {
    for (Node& alternative : alternatives) look_into_text(alternative);
  }
}

}  // namespace

Result<Pattern> Pattern::parse(std::string_view json, PatternNumbers numbers) {
  auto value = parse_plain_json(json);
  if (!value) return invalid("Pattern is not JSON: " + value.error().message);
  const Map* map = value->get_if<Map>();
  if (!map) return invalid("Pattern: wants a JSON object");
  auto root = parse_node(*map, "");
  if (!root) return fail(std::move(root.error()));
  if (numbers == PatternNumbers::kAlsoInText) look_into_text(*root);
  return Pattern(std::make_shared<const Node>(std::move(*root)));
}

bool Pattern::matches(const Map& event) const {
  MatchWork work;
  return matches(event, work);
}

bool Pattern::matches(const Map& event, MatchWork& work) const {
  return matches_node(*root_, event, work);
}

bool Pattern::looks_at(std::string_view top_level_field) const {
  return node_looks_at(*root_, top_level_field);
}

}  // namespace freshet
