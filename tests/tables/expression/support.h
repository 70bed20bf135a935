// Short ways to run one expression as a request would.
#pragma once

#include <string>
#include <vector>

#include "tables/expression/expression.h"
#include "tables/tables.h"

namespace freshet::expression_test {

inline Value n(int64_t number) {
  return Value::number(number);
}
inline Value n(std::string_view number) {
  return Value(*Decimal::parse(number));
}
inline Value b(std::string bytes) {
  return Value(Binary{std::move(bytes)});
}
inline Value list(std::vector<Value> elements) {
  return Value(List{std::move(elements)});
}
inline Value strings(std::vector<std::string> members) {
  return Value(StringSet{std::move(members)});
}
inline Value numbers(std::vector<int64_t> members) {
  NumberSet set;
  for (auto member : members) set.members.emplace_back(member);
  return Value(std::move(set));
}
inline Value yes() {
  return Value::boolean(true);
}

using Names = std::vector<std::pair<std::string, std::string>>;

inline std::string text_of(const Error& error) {
  return error.code == ErrorCode::kValidation ? error.message : "wrong code: " + error.message;
}

// "true", "false" or the error; evaluated on the decoded and on the stored item, which have to agree.
inline std::string condition(std::string_view text, const Item& item, Names names = {}, Map values = {},
                             ExpressionKind kind = ExpressionKind::kCondition) {
  ExpressionCache cache;
  Placeholders placeholders{std::move(names), std::move(values)};
  Expressions expressions(cache, placeholders);
  auto bound = kind == ExpressionKind::kFilter         ? expressions.filter(text)
               : kind == ExpressionKind::kKeyCondition ? expressions.key_condition(text)
                                                       : expressions.condition(text);
  if (!bound) return text_of(bound.error());
  if (auto used = expressions.finish(); !used) return text_of(used.error());
  const bool decoded = evaluate(*bound, item);
  const bool stored = evaluate(*bound, item.empty() ? ItemRef() : ItemRef::encode(item));
  if (decoded != stored) return "the decoded and the stored item disagree";
  return decoded ? "true" : "false";
}

struct Updated {
  std::string error;  // Empty on success.
  Item item;
  Item updated_old;
  Item updated_new;
};

inline Updated update(std::string_view text, const Item& item, Map values = {}, Names names = {}) {
  ExpressionCache cache;
  Placeholders placeholders{std::move(names), std::move(values)};
  Expressions expressions(cache, placeholders);
  auto bound = expressions.update(text);
  if (!bound) return {text_of(bound.error()), {}, {}, {}};
  if (auto used = expressions.finish(); !used) return {text_of(used.error()), {}, {}, {}};
  auto result = apply(*bound, item);
  if (!result) return {text_of(result.error()), {}, {}, {}};
  return {{}, *result, updated_attributes(*bound, item), updated_attributes(*bound, item, *result)};
}

}  // namespace freshet::expression_test
