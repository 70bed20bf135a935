// A route for one call of Freshet's own API (wire/api/calls.h) whose work is one function on the loop.
#pragma once

#include <functional>
#include <memory>

#include "wire/api/calls.h"
#include "wire/http/simple_route.h"

namespace freshet {

// `answer` runs on the loop; everything that it captures outlives the route. Other methods than the call's are 405. A
// parameter that the call does not have is refused, but for health, readiness and metrics.
std::unique_ptr<Route> make_api_route(ApiCall call, std::function<Async<HttpResponse>(const HttpRequest&)> answer,
                                      SimpleRouteOptions options = {});

}  // namespace freshet
