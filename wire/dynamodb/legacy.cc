#include "wire/dynamodb/legacy.h"

#include <algorithm>
#include <optional>

#include "tables/expression/expression.h"

namespace freshet::dynamodb {

namespace {

constexpr size_t kMaxEntries = 1000;
constexpr size_t kMaxValues = 100;

enum class Takes { kNone, kOne, kTwo, kSome };

struct Operator {
  std::string_view name;
  Takes takes;
  std::string_view types;  // The allowed types of its values, between spaces; empty for all.
};

constexpr std::string_view kScalars = " S N B ";
constexpr Operator kOperators[] = {
    {"IN", Takes::kSome, kScalars},
    {"NULL", Takes::kNone, ""},
    {"BETWEEN", Takes::kTwo, kScalars},
    {"LT", Takes::kOne, kScalars},
    {"NOT_CONTAINS", Takes::kOne, kScalars},
    {"EQ", Takes::kOne, ""},
    {"GT", Takes::kOne, kScalars},
    {"NOT_NULL", Takes::kNone, ""},
    {"NE", Takes::kOne, ""},
    {"LE", Takes::kOne, kScalars},
    {"BEGINS_WITH", Takes::kOne, " S B "},
    {"GE", Takes::kOne, kScalars},
    {"CONTAINS", Takes::kOne, kScalars},
};

std::string operator_of(const Input& in, Need need) {
  return in.choice("ComparisonOperator",
                   {"IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH",
                    "GE", "CONTAINS"},
                   need);
}

bool fits(Takes takes, size_t values) {
  switch (takes) {
    case Takes::kNone:
      return values == 0;
    case Takes::kOne:
      return values == 1;
    case Takes::kTwo:
      return values == 2;
    default:
      return values > 0 && values <= kMaxValues;
  }
}

// False, and said so, if the operator does not take these.
bool check_values(const Input& in, const Operator& op, const std::vector<Value>& values) {
  const std::string name(op.name);
  if (!fits(op.takes, values.size())) {
    refuse_parameter(in, "Invalid number of argument(s) for the " + name + " ComparisonOperator");
    return false;
  }
  for (const Value& value : values) {
    if (value.type() != values[0].type()) {
      refuse_parameter(in, "AttributeValues inside AttributeValueList must be of same type");
      return false;
    }
    if (!op.types.empty() &&
        op.types.find(" " + std::string(type_name(value.type())) + " ") == std::string_view::npos) {
      refuse_parameter(in, "ComparisonOperator " + name + " is not valid for " + std::string(type_name(value.type())) +
                               " AttributeValue type");
      return false;
    }
  }
  if (op.takes == Takes::kTwo && compare(values[0], values[1]) == std::partial_ordering::greater) {
    in.checks().add({ErrorCode::kValidation,
                     "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
                     nullptr});
    return false;
  }
  return true;
}

// Hands out placeholders, beside those that a request with KeyConditions may have for its expressions.
class Writer {
 public:
  explicit Writer(Placeholders& placeholders) : placeholders_(placeholders) {}

  std::string name(const std::string& attribute) {
    const auto known = std::find_if(placeholders_.names.begin(), placeholders_.names.end(),
                                    [&](const auto& entry) { return entry.second == attribute; });
    if (known != placeholders_.names.end()) return known->first;
    const auto taken = [&](const std::string& key) {
      return std::any_of(placeholders_.names.begin(), placeholders_.names.end(),
                         [&](const auto& entry) { return entry.first == key; });
    };
    placeholders_.names.emplace_back(fresh("#n", placeholders_.names.size(), taken), attribute);
    return placeholders_.names.back().first;
  }
  std::string value(Value value) {
    const auto taken = [&](const std::string& key) { return placeholders_.values.contains(key); };
    std::string placeholder = fresh(":v", placeholders_.values.size(), taken);
    placeholders_.values.set(placeholder, std::move(value));
    return placeholder;
  }

 private:
  template <class Taken>
  static std::string fresh(const std::string& kind, size_t number, const Taken& taken) {
    std::string key = kind + std::to_string(number);
    while (taken(key)) key = kind + std::to_string(++number);
    return key;
  }

  Placeholders& placeholders_;
};

std::string comparison(Writer& writer, const std::string& attribute, std::string_view op, std::vector<Value> values) {
  const std::string name = writer.name(attribute);
  std::vector<std::string> operands;
  for (Value& value : values) operands.push_back(writer.value(std::move(value)));
  if (op == "NULL") return "attribute_not_exists(" + name + ")";
  if (op == "NOT_NULL") return "attribute_exists(" + name + ")";
  if (op == "CONTAINS") return "contains(" + name + "," + operands[0] + ")";
  // Unlike NE, it does not hold for an attribute that is not there.
  if (op == "NOT_CONTAINS")
    return "(attribute_exists(" + name + ") AND NOT contains(" + name + "," + operands[0] + "))";
  if (op == "BEGINS_WITH") return "begins_with(" + name + "," + operands[0] + ")";
  if (op == "BETWEEN") return name + " BETWEEN " + operands[0] + " AND " + operands[1];
  if (op == "IN") {
    std::string list;
    for (const auto& operand : operands) list += (list.empty() ? "" : ",") + operand;
    return name + " IN (" + list + ")";
  }
  constexpr std::pair<std::string_view, std::string_view> kSymbols[] = {{"EQ", "="},  {"NE", "<>"}, {"LT", "<"},
                                                                        {"LE", "<="}, {"GT", ">"},  {"GE", ">="}};
  for (const auto& [word, symbol] : kSymbols) {
    if (op == word) return name + std::string(symbol) + operands[0];
  }
  return {};  // No operator: it was refused.
}

// One condition of KeyConditions, QueryFilter, ScanFilter, or an Expected with an operator. Empty if it was refused.
std::string condition(const Input& in, const std::string& attribute, Writer& writer, std::vector<Value> values) {
  const std::string name = operator_of(in, Need::kRequired);
  const auto* op = std::find_if(std::begin(kOperators), std::end(kOperators),
                                [&](const Operator& known) { return known.name == name; });
  if (op == std::end(kOperators) || !check_values(in, *op, values)) return {};
  return comparison(writer, attribute, name, std::move(values));
}

// An Expected without an operator: the value that must be there, or that there is none.
std::string plain_expectation(const Input& in, const std::string& attribute, Writer& writer) {
  const bool has_value = in.has("Value");
  const bool exists = in.flag("Exists", true);
  const std::string place = " for Attribute: " + attribute;
  if (in.has("AttributeValueList")) {
    refuse_parameter(in, "AttributeValueList can only be used with a ComparisonOperator" + place);
  } else if (exists && !has_value) {
    refuse_parameter(
        in, std::string("Value must be provided when Exists is ") + (in.has("Exists") ? "true" : "null") + place);
  } else if (!exists && has_value) {
    refuse_parameter(in, "Value cannot be used when Exists is false" + place);
  }
  if (!exists) return comparison(writer, attribute, "NULL", {});
  auto value = in.value("Value");
  if (!value) return {};
  std::vector<Value> values;
  values.push_back(std::move(*value));
  return comparison(writer, attribute, "EQ", std::move(values));
}

std::string expectation(const Input& in, const std::string& attribute, Writer& writer) {
  if (!in.has("ComparisonOperator")) return plain_expectation(in, attribute, writer);
  const std::string place = " for Attribute: " + attribute;
  if (in.has("Exists")) {
    refuse_parameter(in, "Exists and ComparisonOperator cannot be used together" + place);
  } else if (in.has("Value") && in.has("AttributeValueList")) {
    refuse_parameter(in, "Value and AttributeValueList cannot be used together" + place);
  }
  const std::string op = in.text("ComparisonOperator");
  if (op != "NULL" && op != "NOT_NULL" && !in.has("Value") && !in.has("AttributeValueList")) {
    refuse_parameter(in, "Value or AttributeValueList must be used with ComparisonOperator: " + op + place);
  }
  std::vector<Value> values = in.values("AttributeValueList");
  if (auto value = in.value("Value")) values.push_back(std::move(*value));
  return condition(in, attribute, writer, std::move(values));
}

// The entries of such a parameter. What is far beyond an expression's bounds is not even written as one.
std::vector<std::pair<std::string, Input>> entries(const Input& in, std::string_view member) {
  auto all = in.map(member, Need::kOptional, {});
  if (all.size() <= kMaxEntries) return all;
  refuse_parameter(in, std::string(member) + " names more than " + std::to_string(kMaxEntries) + " attributes");
  return {};
}

// ConditionalOperator between the conditions.
std::string joined(const Input& in, const std::vector<std::string>& conditions) {
  const std::string between = in.choice("ConditionalOperator", {"OR", "AND"}) == "OR" ? " OR " : " AND ";
  if (in.has("ConditionalOperator") && conditions.size() < 2) {
    in.checks().add({ErrorCode::kValidation,
                     "ConditionalOperator can only be used when Filter or Expected has two or more elements", nullptr});
  }
  std::string out;
  for (const auto& one : conditions) out += (out.empty() ? "" : between) + one;
  return out;
}

struct UpdateParts {
  std::string set;
  std::string remove;
  std::string add;
  std::string drop;
};

void append_part(std::string& part, const std::string& text) {
  part += (part.empty() ? "" : ",") + text;
}

void update_of(const Input& in, const std::string& attribute, Writer& writer, UpdateParts& parts) {
  const std::string action = in.choice("Action", {"ADD", "PUT", "DELETE"});
  std::optional<Value> value = in.value("Value");
  const std::string name = writer.name(attribute);
  if (!value) {
    if (action == "DELETE") return append_part(parts.remove, name);
    return refuse_parameter(in, "Only DELETE action is allowed when no attribute value is specified");
  }
  const Type type = value->type();
  const bool is_set = type == Type::kStringSet || type == Type::kNumberSet || type == Type::kBinarySet;
  if (action == "DELETE") {
    if (is_set) return append_part(parts.drop, name + " " + writer.value(std::move(*value)));
    return refuse_parameter(in,
                            "DELETE action with value is not supported for the type " + std::string(type_name(type)));
  }
  if (action != "ADD") return append_part(parts.set, name + "=" + writer.value(std::move(*value)));
  if (type == Type::kList) {
    const std::string empty = writer.value(Value(List{}));
    const std::string more = writer.value(std::move(*value));
    return append_part(parts.set, name + "=list_append(if_not_exists(" + name + "," + empty + ")," + more + ")");
  }
  if (is_set || type == Type::kNumber) return append_part(parts.add, name + " " + writer.value(std::move(*value)));
  refuse_parameter(in, "ADD action is not supported for the type " + std::string(type_name(type)));
}

std::string listed(const Input& in, std::initializer_list<std::string_view> names) {
  std::string out;
  for (const auto name : names) {
    if (in.has(name)) out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out;
}

// Which of these expressions there could be for values to stand in: ": ConditionExpression is null".
std::string absent(std::initializer_list<std::string_view> expressions) {
  std::string out;
  size_t count = 0;
  for (const auto name : expressions) {
    if (name == "ProjectionExpression") continue;  // Has no values.
    out += (count++ == 0 ? ": " : " and ") + std::string(name);
  }
  return count == 0 ? out : out + (count == 1 ? " is null" : " are null");
}

}  // namespace

bool has_legacy(const Input& in, std::initializer_list<std::string_view> legacy,
                std::initializer_list<std::string_view> expressions) {
  const std::string old = listed(in, legacy);
  if (old.empty()) return false;
  const std::string modern = listed(in, expressions);
  const auto refuse = [&](std::string text) { in.checks().add({ErrorCode::kValidation, std::move(text), nullptr}); };
  if (!modern.empty()) {
    refuse(
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {" +
        old + "} Expression parameters: {" + modern + "}");
  }
  if (in.has("ExpressionAttributeNames")) {
    refuse("ExpressionAttributeNames can only be specified when using expressions");
  }
  if (in.has("ExpressionAttributeValues")) {
    refuse("ExpressionAttributeValues can only be specified when using expressions" + absent(expressions));
  }
  return true;
}

std::string legacy_condition(const Input& in, Placeholders& placeholders) {
  Writer writer(placeholders);
  std::vector<std::string> conditions;
  for (const auto& [attribute, entry] : entries(in, "Expected")) {
    conditions.push_back(expectation(entry, attribute, writer));
  }
  return joined(in, conditions);
}

std::string legacy_filter(const Input& in, std::string_view member, Placeholders& placeholders) {
  Writer writer(placeholders);
  std::vector<std::string> conditions;
  for (const auto& [attribute, entry] : entries(in, member)) {
    conditions.push_back(condition(entry, attribute, writer, entry.values("AttributeValueList")));
  }
  return joined(in, conditions);
}

std::string legacy_key_condition(const Input& in, Placeholders& placeholders) {
  Writer writer(placeholders);
  std::vector<std::string> conditions;
  for (const auto& [attribute, entry] : entries(in, "KeyConditions")) {
    conditions.push_back(condition(entry, attribute, writer, entry.values("AttributeValueList")));
    constexpr std::string_view kNone[] = {"IN", "NULL", "NOT_NULL", "NE", "CONTAINS", "NOT_CONTAINS"};
    const std::string op = operator_of(entry, Need::kOptional);
    if (std::find(std::begin(kNone), std::end(kNone), op) != std::end(kNone)) {
      in.checks().add(
          {ErrorCode::kValidation, "Attempted conditional constraint is not an indexable operation", nullptr});
    }
  }
  if (in.has("KeyConditions") && conditions.empty()) {  // Too many are for the keys to say.
    in.checks().add({ErrorCode::kValidation, "Conditions can be of length 1 or 2 only", nullptr});
  }
  std::string out;
  for (const auto& one : conditions) out += (out.empty() ? "" : " AND ") + one;
  return out;
}

std::string legacy_update(const Input& in, Placeholders& placeholders) {
  Writer writer(placeholders);
  UpdateParts parts;
  for (const auto& [attribute, entry] : entries(in, "AttributeUpdates")) {
    update_of(entry, attribute, writer, parts);
  }
  std::string out;
  const auto add = [&](std::string_view word, const std::string& part) {
    if (!part.empty()) out += (out.empty() ? "" : " ") + std::string(word) + " " + part;
  };
  add("SET", parts.set);
  add("REMOVE", parts.remove);
  add("ADD", parts.add);
  add("DELETE", parts.drop);
  return out;
}

Error legacy_query_error(Error error) {
  if (error.message.starts_with("The number of query conditions ")) error.message = "Query key condition not supported";
  return error;
}

Error legacy_update_error(Error error) {
  // Only ADD and DELETE ask for a type there.
  if (error.message == kOperandType) error.message = "Type mismatch for attribute to update";
  return error;
}

std::string legacy_projection(const Input& in, Placeholders& placeholders, std::vector<std::string>* names) {
  Writer writer(placeholders);
  std::vector<std::string> attributes = in.texts("AttributesToGet", {1, INT64_MAX});
  if (attributes.size() > kMaxEntries) {
    refuse_parameter(in, "AttributesToGet names more than " + std::to_string(kMaxEntries) + " attributes");
    return {};
  }
  std::string out;
  for (auto attribute = attributes.begin(); attribute != attributes.end(); ++attribute) {
    if (std::find(attributes.begin(), attribute, *attribute) != attribute) {
      refuse_parameter(in, "Duplicate value in attribute name: " + *attribute);
    }
    out += (out.empty() ? "" : ",") + writer.name(*attribute);
  }
  if (names) *names = std::move(attributes);
  return out;
}

}  // namespace freshet::dynamodb
