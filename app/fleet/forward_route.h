// Requests for queues that another member of the fleet serves go to that member.
#pragma once

#include <memory>

#include "app/fleet/queue_units.h"
#include "app/fleet/shared_runs.h"

namespace freshet {

// Wraps the route `here`, whose requests have paths /queues/NAME/…. It answers a request by `here` if this member
// serves the queue, and passes it on otherwise. GET /queues lists the queues of all living members. All must outlive
// the route.
std::unique_ptr<Route> make_forward_route(std::unique_ptr<Route> here, QueueUnits& units, MemberCalls& calls);

// GET /fleet, and POST /fleet/nudge.
// `trouble` returns why the daemon is not ready; empty: it is.
std::vector<std::unique_ptr<Route>> make_fleet_routes(QueueUnits& units, const SharedRuns& runs,
                                                      std::function<std::string()> trouble);

}  // namespace freshet
