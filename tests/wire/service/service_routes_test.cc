#include "wire/service/service_routes.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

HttpResponse get(const std::vector<std::unique_ptr<Route>>& routes, const std::string& path) {
  HttpRequest request;
  request.method = "GET";
  request.target = path;
  for (const auto& route : routes) {
    if (!route->matches(request)) continue;
    auto exchange = route->accept(request);
    auto work = exchange->run();
    EXPECT_TRUE(work.is_ready());
    return exchange->respond();
  }
  ADD_FAILURE() << "no route for " << path;
  return {};
}

TEST(ServiceRoutes, ReadyzSaysWhyItIsNotReady) {
  bool ready = false;
  std::string broken = "the table of queue 'Q' lacks an index\n";
  ServiceView view;
  view.ready = [&] { return ready; };
  view.metrics = []() -> Async<std::string> { return std::string(); };
  view.broken = [&] { return broken; };
  const auto routes = make_service_routes(view);
  EXPECT_EQ(get(routes, "/readyz").status, 503);
  EXPECT_EQ(get(routes, "/readyz").body, "not ready\n") << "draining: nothing else matters";
  ready = true;
  EXPECT_EQ(get(routes, "/readyz").status, 503);
  EXPECT_EQ(get(routes, "/readyz").body, "not ready\nthe table of queue 'Q' lacks an index\n");
  EXPECT_EQ(get(routes, "/healthz").status, 200) << "the process lives";
  broken.clear();
  EXPECT_EQ(get(routes, "/readyz").status, 200);
  EXPECT_EQ(get(routes, "/readyz").body, "ready\n");
}

}  // namespace
}  // namespace freshet
