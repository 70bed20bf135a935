// Checks a request alone, without its table: items too large, sets with duplicates, invalid expressions, placeholders
// that are not defined or not used. The service does all of these checks before it looks for the table. Loop thread
// only.
#pragma once

#include "tables/expression/expression.h"
#include "tables/tables.h"

namespace freshet {

// Checks an item that is put: its size, and sets with duplicates. Sorts its sets.
Result<void> check_put_item(Item& item);
// Checks the values that result from an update or a put.
Result<void> normalize_item(Item& item);
Result<void> check_item_size(const Item& item, bool update);

// Checks the expressions of a write.
Result<void> check_expressions(ExpressionCache& cache, const PutItemInput& input);
Result<void> check_expressions(ExpressionCache& cache, const UpdateItemInput& input);
Result<void> check_expressions(ExpressionCache& cache, const DeleteItemInput& input);
Result<void> check_expressions(ExpressionCache& cache, const ConditionCheckInput& input);

Result<void> check_request(ExpressionCache& cache, PutItemInput& input);
template <class Input>  // Checks the expressions of an update, a delete or a condition check.
Result<void> check_request(ExpressionCache& cache, const Input& input) {
  return check_expressions(cache, input);
}
Result<void> check_request(ExpressionCache& cache, const QueryInput& input);
Result<void> check_request(ExpressionCache& cache, const ScanInput& input);

// Selects the error to report for a read that has failed with `found`: a fault of the request itself comes first. Only
// a failed request pays for this order.
template <class Input>
Error first_fault(ExpressionCache& cache, const Input& input, Error found) {
  if (found.code != ErrorCode::kValidation && found.code != ErrorCode::kResourceNotFound) return found;
  auto fine = check_request(cache, input);
  return fine ? std::move(found) : std::move(fine.error());
}

// The same for a write: faults of its expressions come first.
template <class Input>
Error first_write_fault(ExpressionCache& cache, Input& input, Error found) {
  if (found.code != ErrorCode::kValidation && found.code != ErrorCode::kResourceNotFound) return found;
  if (auto fine = check_expressions(cache, input); !fine) return std::move(fine.error());
  auto fine = check_request(cache, input);
  return fine ? std::move(found) : std::move(fine.error());
}

}  // namespace freshet
