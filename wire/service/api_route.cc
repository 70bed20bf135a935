#include "wire/service/api_route.h"

#include <string>
#include <utility>

namespace freshet {

std::unique_ptr<Route> make_api_route(ApiCall call, std::function<Async<HttpResponse>(const HttpRequest&)> answer,
                                      SimpleRouteOptions options) {
  const ApiLine& line = api_line(call);
  return make_simple_route(std::string(line.method), std::string(line.path), std::move(answer), options);
}

}  // namespace freshet
