// Serves the tables with ordered writes on the daemon's port: /ordered/... (docs/ordered-writes.md).
#pragma once

#include <memory>

#include "runtime/api/ordered_writes.h"
#include "runtime/ports.h"

namespace freshet {

// The tables outlive the route.
std::unique_ptr<Route> make_ordered_route(OrderedDirectory& tables);

}  // namespace freshet
