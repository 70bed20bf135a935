#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "streams/arn.h"
#include "tables/value/text.h"
#include "wire/sns/operation.h"

namespace freshet::sns {

ErrorForm form_of(const Error& error) {
  if (const auto* known = dynamic_cast<const TopicErrorName*>(error.detail.get())) {
    static constexpr std::string_view kForbidden[] = {"AuthorizationError", "FilterPolicyLimitExceeded",
                                                      "SubscriptionLimitExceeded", "TopicLimitExceeded"};
    const bool forbidden = std::find(std::begin(kForbidden), std::end(kForbidden), known->name) != std::end(kForbidden);
    return {forbidden ? 403 : known->name == "ResourceNotFound" ? 404 : 400, known->name};
  }
  switch (error.code) {
    case ErrorCode::kValidation:
    case ErrorCode::kRequestTooLarge:
      return {400, "InvalidParameter"};
    case ErrorCode::kNotFound:
      return {404, "NotFound"};
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kThroughputExceeded:
    case ErrorCode::kDiskFull:
      return {429, "Throttled"};
    case ErrorCode::kUnavailable:
      return {503, "ServiceUnavailable"};
    default:
      return {};
  }
}

tl::unexpected<Error> named(std::string_view name, std::string message) {
  return fail(ErrorCode::kValidation, std::move(message), std::make_shared<TopicErrorName>(name));
}

Result<std::string> required(const QueryForm& form, std::string_view name) {
  const std::string* value = form.find(name);
  if (value && !value->empty()) return *value;
  return invalid(fmt::format("Invalid parameter: {} Reason: no value for required parameter", name));
}

Result<std::string> topic_in(const QueryForm& form, const ServerAddress& place, std::string_view parameter) {
  auto text = required(form, parameter);
  if (!text) return text;
  const auto wrong = [&](std::string_view reason) {
    return invalid(fmt::format("Invalid parameter: {} Reason: {}", parameter, reason));
  };
  const auto arn = parse_arn(*text);
  if (!arn) return wrong("An ARN must have six parts, like arn:aws:sns:REGION:ACCOUNT:NAME");
  if (arn->service != "sns" || arn->resource.find(':') != std::string::npos) return wrong("not the ARN of a topic");
  if (arn->region != place.account.region) {
    return wrong(fmt::format("the region is {}, not {}", place.account.region, arn->region.substr(0, 100)));
  }
  if (arn->account != place.account.id) {
    return named("AuthorizationError",
                 fmt::format("The account is {}, which has no access to {}", place.account.id, text->substr(0, 300)));
  }
  return arn->resource;
}

std::map<std::string, std::string> pairs_in(const QueryForm& form, std::string_view list, std::string_view name,
                                            std::string_view value) {
  std::map<std::string, std::string> pairs;
  for (const std::string& entry : form.entries(list)) {
    pairs[form.text(fmt::format("{}.{}", entry, name))] = form.text(fmt::format("{}.{}", entry, value));
  }
  return pairs;
}

Result<std::string> read_token(const QueryForm& form) {
  const std::string* token = form.find("NextToken");
  std::string last;
  if (!token || token->empty()) return last;
  if (!append_from_base64(last, *token).empty() || !is_utf8(last)) {
    return invalid("Invalid parameter: NextToken Reason: it is none that this server gave");
  }
  return last;
}

void write_token(XmlWriter& xml, std::string_view last) {
  std::string token;
  append_base64(token, last);
  xml.element("NextToken", token);
}

}  // namespace freshet::sns
