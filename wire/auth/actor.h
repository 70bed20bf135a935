// Determines who sent a request, for the audit log.
#pragma once

#include "runtime/api/queue_admin.h"
#include "runtime/ports.h"

namespace freshet {

// `is_signed`: the gate has checked every request, and its Authorization header names the key (session_cookie.h).
// Otherwise `who` is "local" for a client on this machine and "unsigned" for others. Any thread.
Actor actor_of(const HttpRequest& request, bool is_signed);

}  // namespace freshet
