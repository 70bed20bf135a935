#include "wire/service/service_routes.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

HttpResponse ask(const std::vector<std::unique_ptr<Route>>& routes, const char* method, const std::string& path) {
  HttpRequest request;
  request.method = method;
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

HttpResponse get(const std::vector<std::unique_ptr<Route>>& routes, const std::string& path) {
  return ask(routes, "GET", path);
}

TEST(ServiceRoutes, OtherMethodsAreNotAllowed) {
  ServiceView view;
  view.ready = [] { return true; };
  view.metrics = []() -> Async<std::string> { return std::string(); };
  const auto routes = make_service_routes(view);
  for (const auto& [path, allow] : {std::pair("/healthz", "GET, HEAD"), std::pair("/metrics?x=1", "GET, HEAD"),
                                    std::pair("/readyz", "GET, HEAD"), std::pair("/", "GET, HEAD, POST")}) {
    const HttpResponse response = ask(routes, "DELETE", path);
    EXPECT_EQ(response.status, 405) << path;
    EXPECT_EQ(header(response.headers, "Allow"), allow) << path;
  }
}

TEST(ServiceRoutes, AParameterThatIsNotThereIsRefusedButNotOfProbesAndScrapers) {
  ServiceView view;
  view.ready = [] { return true; };
  view.metrics = []() -> Async<std::string> { return std::string(); };
  const auto routes = make_service_routes(view);
  for (const char* path :
       {"/healthz?x=1", "/readyz?x=1", "/metrics?x=1", "/openapi.json", "/openapi.json?X-Amz-Date=1"}) {
    EXPECT_EQ(get(routes, path).status, 200) << path;
  }
  const HttpResponse stray = get(routes, "/openapi.json?x=1");
  EXPECT_EQ(stray.status, 400);
  EXPECT_NE(stray.body.find("'x' in the query of GET /openapi.json: there are no parameters"), std::string::npos)
      << stray.body;
}

TEST(ServiceRoutes, ReadyzSaysWhyItIsNotReady) {
  bool ready = false;
  std::string broken = "the table of queue 'Q' lacks an index\nand another\n";
  ServiceView view;
  view.ready = [&] { return ready; };
  view.metrics = []() -> Async<std::string> { return std::string(); };
  view.broken = [&] { return broken; };
  const auto routes = make_service_routes(view);
  EXPECT_EQ(get(routes, "/readyz").status, 503);
  EXPECT_NE(get(routes, "/readyz").body.find("not ready: the daemon starts or stops"), std::string::npos)
      << "draining: nothing else matters";
  ready = true;
  EXPECT_EQ(get(routes, "/readyz").status, 503);
  EXPECT_EQ(
      get(routes, "/readyz")
          .body.rfind(
              R"({"error":{"code":"ServiceUnavailableException","message":"not ready: the table of queue 'Q' lacks an )"
              R"(index; and another"},)",
              0),
      0u)
      << get(routes, "/readyz").body;
  EXPECT_EQ(get(routes, "/healthz").status, 200) << "the process lives";
  broken.clear();
  EXPECT_EQ(get(routes, "/readyz").status, 200);
  EXPECT_EQ(get(routes, "/readyz").body, "ready\n");
}

}  // namespace
}  // namespace freshet
