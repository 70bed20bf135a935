// Errors are values. Every operation that can fail for a reason outside the program returns Result<T>.
//
// An Error carries a code with the standard name that clients of the item store know (error_name), a message for a
// person (what was wrong, where, what would be right) and, for a few codes, a typed detail.
// Broken invariants of our own are not errors: they abort (base/check.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace freshet {

enum class ErrorCode {
  // Names that the item store's protocol defines.
  kValidation,
  kSerialization,
  kConditionalCheckFailed,
  kResourceNotFound,
  kResourceInUse,
  kLimitExceeded,
  kThroughputExceeded,  // The client should back off and retry: a cap is reached, or the disk reserve is in use.
  kRequestLimitExceeded,
  kTransactionCanceled,
  kTransactionConflict,
  kTransactionInProgress,
  kIdempotentParameterMismatch,
  kItemCollectionSizeLimitExceeded,
  kTrimmedDataAccess,
  kTableNotFound,  // Backups have names of their own in the protocol.
  kTableAlreadyExists,
  kTableInUse,
  kBackupNotFound,
  kBackupInUse,
  kExpiredIterator,
  kUnknownOperation,
  kAccessDenied,
  kInternal,
  // Names of the runtime and the task API.
  kTooManyRequests,
  kRequestTooLarge,
  kNotFound,
  kConflict,
  kUnavailable,
  kTimeout,
  kUnknownOutcome,  // A write whose answer never came: it may have taken effect, may still do so, or never will.
  kCancelled,
  // Failures of the machine.
  kIo,
  kDiskFull,
  kCorruption,
  kUnsupportedFormat,
};

// The standard exception name, e.g. "ConditionalCheckFailedException". Never empty.
std::string_view error_name(ErrorCode code);

// Base of typed error details (e.g. the item that failed a condition). Immutable once made.
struct ErrorDetail {
  virtual ~ErrorDetail() = default;
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::shared_ptr<const ErrorDetail> detail;
};

template <class T>
using Result = tl::expected<T, Error>;

// True if the same call may succeed a little later, without a change by anybody.
bool is_passing(const Error& error);

// Makes the failing side of any Result: `return fail(ErrorCode::kValidation, "...")`.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message,
                                  std::shared_ptr<const ErrorDetail> detail = nullptr) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(detail)});
}
inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}
inline tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kValidation, std::move(message));
}

}  // namespace freshet
