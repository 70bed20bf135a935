// A take that another member of the fleet answers. A take waits for up to a minute, so its member may die, freeze or
// lose the queue meanwhile, and nobody would answer.
#pragma once

#include <string>

#include "app/fleet/queue_units.h"

namespace freshet {

bool is_take(const HttpRequest& request);

// Passes the take on to the member at `url`. Once the fleet has known for a second that this member is dead or no
// longer serves the queue, the answer is that of a take that found nothing; kUnknownOutcome if the take settles tasks
// first. Other errors as MemberCalls::pass_on(). Loop thread. All must outlive the Async.
Async<Result<HttpResponse>> pass_take_on(const HttpRequest& request, std::string queue, std::string url,
                                         QueueUnits& units, MemberCalls& calls);

}  // namespace freshet
