#include "functions/cancelled.h"

#include "tables/tables.h"

namespace freshet {

Error cause_of_failure(const Error& error) {
  if (error.code != ErrorCode::kTransactionCanceled) return error;
  if (const auto* cancelled = dynamic_cast<const TransactionCanceled*>(error.detail.get())) {
    for (const auto& reason : cancelled->reasons) {
      const bool lost = reason.code == "ConditionalCheckFailed" || reason.code == "TransactionConflict";
      if (reason.code == "ValidationError") return {ErrorCode::kValidation, reason.message, nullptr};
      if (reason.code != "None" && !lost) return error;
    }
  }
  return {ErrorCode::kConditionalCheckFailed, error.message, nullptr};
}

}  // namespace freshet
