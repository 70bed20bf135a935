#include "base/result.h"

#include "base/check.h"

namespace freshet {

namespace {
// Names of the codes that the item store's protocol does not define.
std::string_view own_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kTooManyRequests:
      return "TooManyRequestsException";
    case ErrorCode::kRequestTooLarge:
      return "RequestTooLargeException";
    case ErrorCode::kNotFound:
      return "NotFoundException";
    case ErrorCode::kConflict:
      return "ConflictException";
    case ErrorCode::kUnavailable:
      return "ServiceUnavailableException";
    case ErrorCode::kTimeout:
      return "TimeoutException";
    case ErrorCode::kUnknownOutcome:
      return "UnknownOutcomeException";
    case ErrorCode::kCancelled:
      return "CancelledException";
    case ErrorCode::kIo:
      return "IoException";
    case ErrorCode::kDiskFull:
      return "DiskFullException";
    case ErrorCode::kCorruption:
      return "CorruptionException";
    case ErrorCode::kUnsupportedFormat:
      return "UnsupportedFormatException";
    default:
      FRESHET_CHECK(false, "an ErrorCode outside the enumeration");
  }
}
}  // namespace

std::string_view error_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kValidation:
      return "ValidationException";
    case ErrorCode::kSerialization:
      return "SerializationException";
    case ErrorCode::kConditionalCheckFailed:
      return "ConditionalCheckFailedException";
    case ErrorCode::kResourceNotFound:
      return "ResourceNotFoundException";
    case ErrorCode::kResourceInUse:
      return "ResourceInUseException";
    case ErrorCode::kLimitExceeded:
      return "LimitExceededException";
    case ErrorCode::kThroughputExceeded:
      return "ProvisionedThroughputExceededException";
    case ErrorCode::kRequestLimitExceeded:
      return "RequestLimitExceeded";
    case ErrorCode::kTransactionCanceled:
      return "TransactionCanceledException";
    case ErrorCode::kTransactionConflict:
      return "TransactionConflictException";
    case ErrorCode::kTransactionInProgress:
      return "TransactionInProgressException";
    case ErrorCode::kIdempotentParameterMismatch:
      return "IdempotentParameterMismatchException";
    case ErrorCode::kItemCollectionSizeLimitExceeded:
      return "ItemCollectionSizeLimitExceededException";
    case ErrorCode::kTableNotFound:
      return "TableNotFoundException";
    case ErrorCode::kTableAlreadyExists:
      return "TableAlreadyExistsException";
    case ErrorCode::kTableInUse:
      return "TableInUseException";
    case ErrorCode::kBackupNotFound:
      return "BackupNotFoundException";
    case ErrorCode::kBackupInUse:
      return "BackupInUseException";
    case ErrorCode::kTrimmedDataAccess:
      return "TrimmedDataAccessException";
    case ErrorCode::kExpiredIterator:
      return "ExpiredIteratorException";
    case ErrorCode::kUnknownOperation:
      return "UnknownOperationException";
    case ErrorCode::kAccessDenied:
      return "AccessDeniedException";
    case ErrorCode::kInternal:
      return "InternalServerError";
    default:
      return own_name(code);
  }
}

bool is_passing(const Error& error) {
  switch (error.code) {
    case ErrorCode::kThroughputExceeded:
    case ErrorCode::kRequestLimitExceeded:
    case ErrorCode::kTransactionConflict:
    case ErrorCode::kTransactionCanceled:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kUnknownOutcome:
      return true;
    default:
      return false;
  }
}

}  // namespace freshet
