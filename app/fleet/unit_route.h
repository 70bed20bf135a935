// Requests for a queue that another member of the fleet serves go to that member.
#pragma once

#include <memory>
#include <set>

#include "app/fleet/queue_units.h"
#include "app/fleet/unit_kind.h"
#include "wire/api/calls.h"

namespace freshet {

// Wraps the route `here`, whose requests have paths /KIND/NAME/…. `anywhere`: the calls that this member answers itself
// while nobody serves the queue, or its member cannot be reached. All others get 503 then. Everything must outlive the
// route.
std::unique_ptr<Route> make_unit_route(std::unique_ptr<Route> here, const UnitKind& kind, std::set<ApiCall> anywhere,
                                       QueueUnits& units, MemberCalls& calls);

}  // namespace freshet
