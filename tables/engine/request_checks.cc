#include "tables/engine/request_checks.h"

#include "base/limits.h"
#include "tables/engine/cost.h"

namespace freshet {
namespace {

Result<void> check_condition(Expressions& expressions, const std::string& text,
                             std::string_view absent = "ConditionExpression is null") {
  if (auto condition = expressions.condition(text); !condition) return fail(condition.error());
  return expressions.finish(absent);
}

template <class Input>  // Checks the expressions of a query or a scan.
Result<void> check_page(Expressions& expressions, const Input& input, std::string_view absent) {
  if (auto filter = expressions.filter(input.filter); !filter) return fail(filter.error());
  if (auto projection = expressions.projection(input.projection); !projection) return fail(projection.error());
  return expressions.finish(absent);
}

}  // namespace

Result<void> normalize_item(Item& item) {
  for (const auto& [name, value] : item) {
    // Scalars are always normal; the map hands out its values by name for changes.
    if (value.type() <= Type::kNull) continue;
    if (auto ok = normalize(*item.find(name), name); !ok) return ok;
  }
  return {};
}

// As the service counts it.
Result<void> check_item_size(const Item& item, bool update) {
  if (billed_size(item) <= limits::kMaxItemBytes) return {};
  return too_large_item(update);
}

Result<void> check_put_item(Item& item) {
  if (auto ok = normalize_item(item); !ok) return ok;
  return check_item_size(item, false);
}

Result<void> check_expressions(ExpressionCache& cache, const PutItemInput& input) {
  Expressions expressions(cache, input.placeholders);
  return check_condition(expressions, input.condition);
}

Result<void> check_expressions(ExpressionCache& cache, const UpdateItemInput& input) {
  Expressions expressions(cache, input.placeholders);
  if (auto update = expressions.update(input.update); !update) return fail(update.error());
  return check_condition(expressions, input.condition, "UpdateExpression and ConditionExpression are null");
}

Result<void> check_expressions(ExpressionCache& cache, const DeleteItemInput& input) {
  Expressions expressions(cache, input.placeholders);
  return check_condition(expressions, input.condition);
}

Result<void> check_expressions(ExpressionCache& cache, const ConditionCheckInput& input) {
  Expressions expressions(cache, input.placeholders);
  return check_condition(expressions, input.condition);
}

Result<void> check_request(ExpressionCache& cache, PutItemInput& input) {
  if (auto ok = check_put_item(input.item); !ok) return ok;
  return check_expressions(cache, input);
}

Result<void> check_request(ExpressionCache& cache, const QueryInput& input) {
  Expressions expressions(cache, input.placeholders);
  auto condition = expressions.key_condition(input.key_condition);
  if (!condition) return fail(condition.error());
  if (auto ok = check_page(expressions, input, "FilterExpression and KeyConditionExpression are null"); !ok) return ok;
  return check_key_condition(*condition);
}

Result<void> check_request(ExpressionCache& cache, const ScanInput& input) {
  Expressions expressions(cache, input.placeholders);
  return check_page(expressions, input, "FilterExpression is null");
}

}  // namespace freshet
