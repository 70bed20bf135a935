#include "wire/service/api_route.h"

#include <optional>
#include <string>
#include <utility>

#include "wire/http/target.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/stray_parameter.h"

namespace freshet {
namespace {

// Probes and scrapers are set up by others, and may send what they like.
bool takes_any_parameter(ApiCall call) {
  return call == ApiCall::kHealth || call == ApiCall::kReadiness || call == ApiCall::kMetrics;
}

// A broken target is for `answer`, if it looks at it.
std::optional<Error> stray_parameter(const ApiLine& line, const HttpRequest& request) {
  if (takes_any_parameter(line.call)) return std::nullopt;
  const auto target = parse_target(request.target);
  return target ? tasks::stray_parameter(line, request, *target) : std::nullopt;
}

}  // namespace

std::unique_ptr<Route> make_api_route(ApiCall call, std::function<Async<HttpResponse>(const HttpRequest&)> answer,
                                      SimpleRouteOptions options) {
  const ApiLine& line = api_line(call);
  auto strict = [&line, answer = std::move(answer)](const HttpRequest& request) -> Async<HttpResponse> {
    if (const auto stray = stray_parameter(line, request)) return tasks::error_answer(*stray);
    return answer(request);
  };
  return make_simple_route(std::string(line.method), std::string(line.path), std::move(strict), options);
}

}  // namespace freshet
