#include "runtime/invoke/outcome.h"

#include "runtime/invoke/native_host.h"
#include "tables/value/json.h"

namespace freshet {

std::string as_json(std::string body) {
  if (body.empty()) return "null";
  const auto parsed = parse_plain_json(body);
  if (parsed || parsed.error().code != ErrorCode::kSerialization) return body;
  std::string text;
  append_json_string(text, body);
  return text;
}

InvokeOutcome reported_failure(std::string_view type, std::string body) {
  const std::string fallback(type.empty() ? "Runtime.Unknown" : type);
  const auto parsed = parse_plain_json(body);
  const Map* document = parsed && parsed->is(Type::kMap) ? parsed->get_if<Map>() : nullptr;
  if (document == nullptr) return failed_outcome(fallback, std::move(body));
  FunctionError error{std::string(document->string_or("errorType", fallback)),
                      std::string(document->string_or("errorMessage"))};
  return InvokeOutcome{std::move(body), std::move(error)};
}

}  // namespace freshet
