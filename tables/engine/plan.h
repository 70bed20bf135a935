// Plans of writes: the checks of the item store, and the change that follows. Planning changes nothing.
// Loop thread only.
#pragma once

#include <optional>

#include "base/result.h"
#include "tables/engine/catalog.h"
#include "tables/expression/expression.h"
#include "tables/tables.h"

namespace freshet {

struct Plan {
  std::optional<Change> change;  // Empty when the item stays as it is.
  ItemRef unchanged;             // The item then; null if there is none.
  WriteOutput output;
};

// The key of an input, or the item that has it.
inline const Item& input_key(const PutItemInput& input) {
  return input.item;
}
template <class Input>
const Item& input_key(const Input& input) {
  return input.key;
}

// kValidation, kResourceNotFound, kConditionalCheckFailed (with ConditionFailed if requested). Looking at the item uses
// up `effort`; kValidation also when there is not enough.
// Inputs may be emptied.
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, PutItemInput& input);
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, UpdateItemInput& input);
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, EditItemInput& input);
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, DeleteItemInput& input);
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, ConditionCheckInput& input);
inline Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, WriteInput& input) {
  return std::visit([&](auto& write) { return plan(catalog, cache, effort, write); }, input);
}

}  // namespace freshet
