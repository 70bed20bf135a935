#include "wire/lambda/answer.h"

#include <utility>

#include "tables/value/json.h"

namespace freshet::lambda {

Refusal refusal_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kResourceNotFound:
    case ErrorCode::kNotFound:
      return {404, "ResourceNotFoundException", error.message};
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kThroughputExceeded:
      return {429, "TooManyRequestsException", error.message};
    case ErrorCode::kRequestTooLarge:
      return {413, "RequestTooLargeException", error.message};
    case ErrorCode::kValidation:
      return {400, "InvalidParameterValueException", error.message};
    case ErrorCode::kSerialization:
      return {400, "InvalidRequestContentException", "Could not parse request body into json: " + error.message};
    case ErrorCode::kConflict:
      return {409, "ResourceConflictException", error.message};
    case ErrorCode::kConditionalCheckFailed:
      return {412, "PreconditionFailedException", error.message};
    case ErrorCode::kLimitExceeded:
      return {400, "CodeStorageExceededException", error.message};
    case ErrorCode::kUnavailable:
      return {503, "ServiceUnavailableException", error.message};
    default:
      return {500, "ServiceException", error.message};
  }
}

HttpResponse answer_of(const Refusal& refusal) {
  HttpResponse response;
  response.status = refusal.status;
  response.headers.emplace_back("x-amzn-ErrorType", refusal.type);
  if (refusal.status == 503) response.headers.emplace_back("Retry-After", "1");
  response.body = refusal.status >= 500 ? R"({"Type":"Service","Message":)" : R"({"Type":"User","Message":)";
  append_json_string(response.body, refusal.message);
  response.body += '}';
  return response;
}

std::string value_in(const std::map<std::string, std::string>& query, const std::string& name) {
  const auto given = query.find(name);
  return given == query.end() ? std::string() : given->second;
}

Result<std::string> function_in(std::string_view text, std::string_view qualifier, const Account& account) {
  auto function = parse_function(text);
  if (!function) {
    return invalid("FunctionName '" + std::string(text.substr(0, 200)) +
                   "': it is a name, ACCOUNT:function:NAME or the ARN of a function");
  }
  if (!function->region.empty() && function->region != account.region) {
    return fail(ErrorCode::kResourceNotFound, "Functions from '" + function->region +
                                                  "' are not reachable in this region ('" + account.region + "')");
  }
  if (!function->account.empty() && function->account != account.id) {
    return fail(ErrorCode::kResourceNotFound,
                "Function not found: " + function_arn({account.region, function->account}, function->name));
  }
  if (!function->qualifier.empty() && !qualifier.empty() && function->qualifier != qualifier) {
    return invalid("The derived qualifier from the function name does not match the specified qualifier.");
  }
  if (qualifier.empty()) qualifier = function->qualifier;
  if (qualifier.empty() || qualifier == kLatestVersion) return std::move(function->name);
  return function->name + ":" + std::string(qualifier);
}

}  // namespace freshet::lambda
