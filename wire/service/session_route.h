// Lets a browser sign in, sign out and see who is signed in: POST, DELETE and GET /session (docs/security.md).
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "runtime/ports.h"
#include "wire/auth/sessions.h"

namespace freshet {

struct SessionRouteOptions {
  std::shared_ptr<Sessions> sessions;  // Null: the daemon asks nobody for a key.
  std::string cookie;                  // Its name: session_cookie_name().
  bool tls = false;
  // Not empty if nobody may sign in here: tells why, and what to do about it.
  std::string refusal;
  EventLog log;  // Logs who signs in and out.
};

// If there are sessions, the server's gate must use the same object.
std::unique_ptr<Route> make_session_route(SessionRouteOptions options);

}  // namespace freshet
