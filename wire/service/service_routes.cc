#include "wire/service/service_routes.h"

#include <utility>

#include "wire/http/simple_route.h"

namespace freshet {
namespace {

HttpResponse text(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

HttpResponse readiness(const ServiceView& view) {
  if (!view.ready()) return text(503, "not ready\n");
  const std::string why = view.broken ? view.broken() : std::string();
  return why.empty() ? text(200, "ready\n") : text(503, "not ready\n" + why);
}

Async<HttpResponse> metrics(std::function<Async<std::string>()> source) {
  std::string body = co_await source();
  HttpResponse response = text(200, std::move(body));
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  co_return response;
}

}  // namespace

std::vector<std::unique_ptr<Route>> make_service_routes(ServiceView view) {
  std::vector<std::unique_ptr<Route>> routes;
  // What the service answers at its root; some clients look there.
  routes.push_back(make_simple_route("GET", "/", [](const HttpRequest& request) -> Async<HttpResponse> {
    return text(200, "healthy: " + std::string(header(request.headers, "Host")) + " ");
  }));
  routes.push_back(make_simple_route("GET", "/healthz",
                                     [](const HttpRequest&) -> Async<HttpResponse> { return text(200, "ok\n"); }));
  routes.push_back(make_simple_route("GET", "/readyz",
                                     [view](const HttpRequest&) -> Async<HttpResponse> { return readiness(view); }));
  routes.push_back(
      make_simple_route("GET", "/metrics", [source = view.metrics](const HttpRequest&) { return metrics(source); }));
  return routes;
}

}  // namespace freshet
