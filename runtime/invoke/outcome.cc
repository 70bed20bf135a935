#include "runtime/invoke/outcome.h"

#include <algorithm>

#include "runtime/invoke/native_host.h"
#include "tables/value/json_quoted.h"
#include "tables/value/json_reader.h"

namespace freshet {

std::string as_json(std::string body) {
  if (body.empty()) return "null";
  JsonDocument document;
  if (document.parse(body)) return body;
  return json_quoted(body);
}

bool says_handled(std::string_view type) {
  constexpr std::string_view kHandled = "handled";
  return std::equal(type.begin(), type.end(), kHandled.begin(), kHandled.end(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

std::string_view kind_of(const FunctionError& error) {
  return error.handled ? "Handled" : "Unhandled";
}

InvokeOutcome reported_failure(std::string_view type, std::string body) {
  const std::string fallback(type.empty() ? "Runtime.Unknown" : type);
  JsonDocument document;
  const auto parsed = document.parse(body);
  if (!parsed || !parsed->is(JsonKind::kObject)) {
    InvokeOutcome outcome = failed_outcome(fallback, std::move(body));
    outcome.error->handled = says_handled(type);
    return outcome;
  }
  const auto text = [&](std::string_view name, std::string_view otherwise) {
    const auto member = parsed->string_or(name, otherwise);
    return std::string(member ? *member : otherwise);
  };
  FunctionError error{text("errorType", fallback), text("errorMessage", ""), says_handled(type)};
  return InvokeOutcome{std::move(body), std::move(error)};
}

}  // namespace freshet
