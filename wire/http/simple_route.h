// A route for one method and path whose work is one function on the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/ports.h"

namespace freshet {

struct SimpleRouteOptions {
  bool post_elsewhere = false;  // Other routes serve POST at that path, and this one ignores it.
  bool get_changes = false;     // A GET changes something; see Route::changes().
};

// `answer` runs on the loop; everything that it captures outlives the route. `method` is GET (a server calls it for
// HEAD, too) or POST; others are 405.
std::unique_ptr<Route> make_simple_route(std::string method, std::string path,
                                         std::function<Async<HttpResponse>(const HttpRequest&)> answer,
                                         SimpleRouteOptions options = {});

}  // namespace freshet
