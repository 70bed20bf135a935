#include "wire/lambda/answer.h"

#include <algorithm>
#include <utility>

#include "tables/value/json.h"

namespace freshet::lambda {

Refusal refusal_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kResourceNotFound:
    case ErrorCode::kNotFound:
      return {404, "ResourceNotFoundException", error.message};
    case ErrorCode::kTooManyRequests:
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
    default:
      return {500, "ServiceException", error.message};
  }
}

HttpResponse answer_of(const Refusal& refusal) {
  HttpResponse response;
  response.status = refusal.status;
  response.headers.emplace_back("x-amzn-ErrorType", refusal.type);
  response.body = refusal.status >= 500 ? R"({"Type":"Service","Message":)" : R"({"Type":"User","Message":)";
  append_json_string(response.body, refusal.message);
  response.body += '}';
  return response;
}

tl::expected<std::string, Refusal> function_in(std::string_view text, const std::map<std::string, std::string>& query) {
  constexpr std::string_view kBefore = "function:";
  const size_t before = text.find(kBefore);
  if (before == 0 || (before != text.npos && text[before - 1] == ':')) text.remove_prefix(before + kBefore.size());
  const size_t end = std::min(text.find(':'), text.size());
  std::string name(text.substr(0, end));
  std::string qualifier(text.substr(std::min(end + 1, text.size())));
  if (const auto asked = query.find("Qualifier"); asked != query.end()) qualifier = asked->second;
  if (qualifier.empty() || qualifier == kLatest) return name;
  return tl::unexpected<Refusal>(Refusal{404, "ResourceNotFoundException",
                                         "Function not found: " + name + ":" + qualifier + "; there are no versions"});
}

}  // namespace freshet::lambda
