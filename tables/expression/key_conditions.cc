// Key conditions: checked for their form, then for their keys.

#include <algorithm>

#include "tables/expression/parser.h"
#include "tables/expression/paths.h"
#include "tables/expression/text.h"

namespace freshet {
namespace expression {

Operator mirrored(Operator op) {
  switch (op) {
    case Operator::kLess:
      return Operator::kGreater;
    case Operator::kLessOrEqual:
      return Operator::kGreaterOrEqual;
    case Operator::kGreater:
      return Operator::kLess;
    case Operator::kGreaterOrEqual:
      return Operator::kLessOrEqual;
    default:
      return op;
  }
}

namespace {

// One condition on one key attribute, the attribute on its left.
struct KeyTest {
  std::string_view attribute;
  Operator op;  // kFunction is begins_with.
  const Value* first = nullptr;
  const Value* second = nullptr;  // For kBetween.
};

std::string_view name_of(const Condition& test) {
  return test.op == Operator::kFunction ? function_name(test.operands[0].function) : operator_name(test.op);
}

tl::unexpected<Error> refuse(std::string_view text) {
  return fail(expression_error(ExpressionKind::kKeyCondition, text));
}

Result<void> collect(const Condition& condition, std::vector<const Condition*>& tests) {
  if (condition.op == Operator::kAnd) {
    for (const auto& child : condition.children) {
      if (auto done = collect(child, tests); !done) return done;
    }
    return {};
  }
  const bool begins_with =
      condition.op == Operator::kFunction && condition.operands[0].function == Function::kBeginsWith;
  const bool refused = condition.op == Operator::kOr || condition.op == Operator::kNot ||
                       condition.op == Operator::kIn || condition.op == Operator::kNotEqual ||
                       (condition.op == Operator::kFunction && !begins_with);
  if (refused) return refuse(concat("Invalid operator used in KeyConditionExpression: ", name_of(condition)));
  tests.push_back(&condition);
  return {};
}

Result<KeyTest> read_test(const Condition& condition, const Bindings& bindings) {
  const bool call = condition.op == Operator::kFunction;
  const auto& operands = call ? condition.operands[0].arguments : condition.operands;
  if ((call || condition.op == Operator::kBetween) && operands[0].kind == Operand::Kind::kValue) {
    return refuse(concat("Invalid condition in KeyConditionExpression: ", name_of(condition),
                         " operator must have the key attribute as its first operand"));
  }
  KeyTest test;
  test.op = condition.op;
  bool named = false;
  for (const auto& operand : operands) {
    if (operand.kind == Operand::Kind::kFunction) {
      return refuse("KeyConditionExpressions cannot contain nested operations");
    }
    if (operand.kind == Operand::Kind::kValue) {
      (test.first ? test.second : test.first) = bindings.values[operand.slot];
      continue;
    }
    if (named)
      return refuse("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition");
    if (operand.path.size() > 1) return refuse("KeyConditionExpressions cannot have conditions on nested attributes");
    named = true;
    test.attribute = element_name(operand.path[0], bindings);
    if (&operand != &operands[0]) test.op = mirrored(test.op);
  }
  if (!named) return refuse("Invalid condition in KeyConditionExpression: No key attribute specified");
  return test;
}

Result<std::vector<KeyTest>> read_tests(const BoundCondition& bound) {
  std::vector<const Condition*> conditions;
  if (auto done = collect(bound.compiled->root, conditions); !done) return fail(done.error());
  std::vector<KeyTest> tests;
  for (const auto* condition : conditions) {
    auto test = read_test(*condition, bound.bindings);
    if (!test) return fail(test.error());
    tests.push_back(*test);
  }
  for (size_t i = 0; i < tests.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (tests[i].attribute == tests[j].attribute) {
        return refuse("KeyConditionExpressions must only contain one condition per key");
      }
    }
  }
  return tests;
}

Result<void> check_types(const KeyTest& test, const KeyAttribute& key) {
  for (const auto* value : {test.first, test.second}) {
    if (!value) continue;
    if (!value->is(key.type)) {
      return invalid("One or more parameter values were invalid: Condition parameter type does not match schema type");
    }
    const auto* text = value->get_if<std::string>();
    const auto* binary = value->get_if<Binary>();
    // An empty prefix or bound is fine; an empty key cannot be.
    if (test.op == Operator::kEqual && ((text && text->empty()) || (binary && binary->bytes.empty()))) {
      return invalid(concat(
          "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty ",
          text ? "string" : "binary", " value. Key: ", key.name));
    }
  }
  return {};
}

void narrow(const KeyTest& test, KeyRange& range) {
  switch (test.op) {
    case Operator::kEqual:
      range.lower = KeyBound{*test.first, true};
      range.upper = KeyBound{*test.first, true};
      break;
    case Operator::kLess:
    case Operator::kLessOrEqual:
      range.upper = KeyBound{*test.first, test.op == Operator::kLessOrEqual};
      break;
    case Operator::kGreater:
    case Operator::kGreaterOrEqual:
      range.lower = KeyBound{*test.first, test.op == Operator::kGreaterOrEqual};
      break;
    case Operator::kBetween:
      range.lower = KeyBound{*test.first, true};
      range.upper = KeyBound{*test.second, true};
      break;
    default:
      range.prefix = *test.first;
  }
}

const KeyTest* find_test(const std::vector<KeyTest>& tests, std::string_view attribute) {
  const auto it = std::find_if(tests.begin(), tests.end(), [&](const KeyTest& t) { return t.attribute == attribute; });
  return it == tests.end() ? nullptr : &*it;
}

auto missed(const KeyAttribute& key) {
  return invalid(concat("Query condition missed key schema element: ", key.name));
}

// All tests except those of the partition must be on the first sort attributes.
Result<void> check_known(const std::vector<KeyTest>& tests, const KeySchema& keys) {
  const auto attributes = keys.sort_attributes();
  const size_t given = tests.size() - keys.partition_attributes().size();
  for (size_t i = 0; i < given; ++i) {
    if (!find_test(tests, attributes[i]->name)) return missed(*attributes[i]);
  }
  return {};
}

bool is_equality(const KeyTest* test) {
  return test && test->op == Operator::kEqual;
}

std::string joined_names(const std::vector<std::string_view>& names) {
  std::string out;
  for (const auto name : names) out += concat(out.empty() ? "" : ", ", name);
  return out;
}

// The rules of an index whose parts have several attributes: each HASH attribute has one value, and so has each RANGE
// attribute before the last one with a condition.
Result<void> check_composite(const std::vector<KeyTest>& tests, const KeySchema& keys) {
  std::vector<std::string_view> wrong;
  for (const auto* key : keys.partition_attributes()) {
    if (!is_equality(find_test(tests, key->name))) wrong.push_back(key->name);
  }
  if (!wrong.empty()) {
    return invalid(
        concat("HASH key attributes ", joined_names(wrong), " must have equality conditions specified in the query"));
  }
  const auto attributes = keys.sort_attributes();
  size_t last = attributes.size();
  while (last > 0 && !find_test(tests, attributes[last - 1]->name)) --last;
  for (size_t i = 0; i + 1 < last; ++i) {
    if (!is_equality(find_test(tests, attributes[i]->name))) wrong.push_back(attributes[i]->name);
  }
  if (wrong.empty()) return {};
  return invalid(concat("RANGE key attributes ", joined_names(wrong),
                        " must have equality conditions specified in the query because a condition is present on key "
                        "attribute ",
                        attributes[last - 1]->name));
}

// Each of its attributes has one value.
Result<void> read_partition(const std::vector<KeyTest>& tests, const KeySchema& keys, KeyRange& range) {
  const auto attributes = keys.partition_attributes();
  for (const auto* key : attributes) {
    if (!find_test(tests, key->name)) return missed(*key);
  }
  // Faults of the other attributes are reported before the operator of this part.
  if (auto done = check_known(tests, keys); !done) return done;
  for (const auto* key : attributes) {
    const KeyTest& test = *find_test(tests, key->name);
    if (test.op != Operator::kEqual) return invalid("Query key condition not supported");
    if (auto typed = check_types(test, *key); !typed) return typed;
    if (key == &keys.partition) {
      range.partition = *test.first;
    } else {
      range.more_partition.push_back(*test.first);
    }
  }
  return {};
}

// The sort attributes from the left, without a gap; only the last one given need not be an equality.
Result<void> read_sort(const std::vector<KeyTest>& tests, const KeySchema& keys, KeyRange& range) {
  const auto attributes = keys.sort_attributes();
  const size_t given = tests.size() - keys.partition_attributes().size();
  for (size_t i = 0; i < given; ++i) {
    const KeyTest& test = *find_test(tests, attributes[i]->name);
    if (auto typed = check_types(test, *attributes[i]); !typed) return typed;
    if (i + 1 == given) {
      narrow(test, range);
    } else if (test.op != Operator::kEqual) {
      return invalid("Query key condition not supported");
    } else {
      range.first_sort.push_back(*test.first);
    }
  }
  return {};
}

}  // namespace
}  // namespace expression

Result<void> check_key_condition(const BoundCondition& key_condition) {
  if (!key_condition) return {};
  auto tests = expression::read_tests(key_condition);
  if (!tests) return fail(tests.error());
  return {};
}

Result<KeyRange> key_range(const BoundCondition& key_condition, const KeySchema& keys) {
  if (!key_condition) {
    return invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.");
  }
  auto tests = expression::read_tests(key_condition);
  if (!tests) return fail(tests.error());
  const size_t attributes = keys.attributes().size();
  if (tests->size() > attributes) {
    return invalid(expression::concat("The number of query conditions (", std::to_string(tests->size()),
                                      ") exceeds the number of key attributes defined in the schema (",
                                      std::to_string(attributes), ")"));
  }
  if (keys.is_composite()) {
    if (auto done = expression::check_composite(*tests, keys); !done) return fail(done.error());
  }
  KeyRange range;
  if (auto done = expression::read_partition(*tests, keys, range); !done) return fail(done.error());
  if (auto done = expression::read_sort(*tests, keys, range); !done) return fail(done.error());
  return range;
}

bool KeyRange::contains(const Item& key, const KeySchema& keys) const {
  const auto value = [&](const KeyAttribute& attribute) -> const Value& { return *key.find(attribute.name); };
  if (!(value(keys.partition) == partition)) return false;
  for (size_t i = 0; i < more_partition.size(); ++i) {
    if (!(value(keys.more_partition[i]) == more_partition[i])) return false;
  }
  const auto sort = keys.sort_attributes();
  for (size_t i = 0; i < first_sort.size(); ++i) {
    if (!(value(*sort[i]) == first_sort[i])) return false;
  }
  return first_sort.size() == sort.size() || contains(value(*sort[first_sort.size()]));
}

bool KeyRange::contains(const Value& sort_key) const {
  if (prefix) {
    if (const auto* text = prefix->get_if<std::string>()) {
      const auto* key = sort_key.get_if<std::string>();
      return key && key->starts_with(*text);
    }
    const auto* bytes = prefix->get_if<Binary>();
    const auto* key = sort_key.get_if<Binary>();
    return bytes && key && key->bytes.starts_with(bytes->bytes);
  }
  if (lower) {
    const auto order = compare(sort_key, lower->value);
    if (!(lower->inclusive ? order >= 0 : order > 0)) return false;
  }
  if (upper) {
    const auto order = compare(sort_key, upper->value);
    if (!(upper->inclusive ? order <= 0 : order < 0)) return false;
  }
  return true;
}

}  // namespace freshet
