// Plans writes: runs the item store's checks and returns the resulting change. Planning changes nothing. Loop thread
// only.
#pragma once

#include <optional>

#include "base/result.h"
#include "tables/engine/catalog.h"
#include "tables/expression/expression.h"
#include "tables/tables.h"

namespace freshet {

struct Plan {
  std::optional<Change> change;  // Empty if the item stays unchanged.
  ItemRef unchanged;             // The item in that case; null if there is none.
  WriteOutput output;
};

// The key of an input, or the item that contains it.
inline const Item& input_key(const PutItemInput& input) {
  return input.item;
}
template <class Input>
const Item& input_key(const Input& input) {
  return input.key;
}

// kValidation, kResourceNotFound, kConditionalCheckFailed (with ConditionFailed if requested).
// Examining the item uses up `effort`; kValidation if there is not enough. Inputs may be
// emptied.
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, PutItemInput& input);
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, UpdateItemInput& input);
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, EditItemInput& input);
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, DeleteItemInput& input);
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, ConditionCheckInput& input);
inline Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, WriteInput& input) {
  return std::visit([&](auto& write) { return plan(catalog, cache, effort, write); }, input);
}

}  // namespace freshet
