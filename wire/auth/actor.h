// Determines who sent a request, for the audit log.
#pragma once

#include "runtime/ports.h"
#include "runtime/queue_admin.h"

namespace freshet {

// `is_signed`: every request must have a valid signature, so the access key that this one names has signed it,
// or is the key of its session (session_authorization()).
// Otherwise `who` is "local" for a client on this machine and "unsigned" for others. Any thread.
Actor actor_of(const HttpRequest& request, bool is_signed);

}  // namespace freshet
