#include "wire/service/service_routes.h"

#include <utility>

#include "wire/api/openapi.h"
#include "wire/http/own_error.h"
#include "wire/http/simple_route.h"
#include "wire/service/api_route.h"

namespace freshet {
namespace {

HttpResponse text(std::string body) {
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

HttpResponse readiness(const ServiceView& view) {
  if (!view.ready()) return overloaded(ApiKind::kOwn, "not ready: the daemon starts or stops");
  std::string why = view.broken ? view.broken() : std::string();
  if (why.empty()) return text("ready\n");
  why.pop_back();
  for (size_t end = 0; (end = why.find('\n', end)) != std::string::npos;) why.replace(end, 1, "; ");
  return overloaded(ApiKind::kOwn, "not ready: " + why);
}

Async<HttpResponse> metrics(std::function<Async<std::string>()> source) {
  std::string body = co_await source();
  HttpResponse response = text(std::move(body));
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  co_return response;
}

}  // namespace

std::vector<std::unique_ptr<Route>> make_service_routes(ServiceView view) {
  std::vector<std::unique_ptr<Route>> routes;
  // The service's answer at its root; some clients look there.
  const auto root = [](const HttpRequest& request) -> Async<HttpResponse> {
    return text("healthy: " + std::string(header(request.headers, "Host")) + " ");
  };
  routes.push_back(make_simple_route("GET", "/", root, {.post_elsewhere = true}));  // By the AWS protocols.
  routes.push_back(
      make_api_route(ApiCall::kHealth, [](const HttpRequest&) -> Async<HttpResponse> { return text("ok\n"); }));
  routes.push_back(make_api_route(ApiCall::kReadiness,
                                  [view](const HttpRequest&) -> Async<HttpResponse> { return readiness(view); }));
  routes.push_back(
      make_api_route(ApiCall::kMetrics, [source = view.metrics](const HttpRequest&) { return metrics(source); }));
  routes.push_back(make_api_route(ApiCall::kOpenApi, [](const HttpRequest&) -> Async<HttpResponse> {
    HttpResponse response;
    response.body = openapi_json();
    return response;
  }));
  return routes;
}

}  // namespace freshet
