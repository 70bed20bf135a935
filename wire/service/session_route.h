// Signing in and out with a browser, and who is signed in: POST, DELETE and GET /session (docs/security.md).
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
  // Not empty: why nobody may sign in here, and what to do about it.
  std::string refusal;
  EventLog log;  // Logs who signs in and out.
};

// With sessions, the server must have a gate with the same ones.
std::unique_ptr<Route> make_session_route(SessionRouteOptions options);

}  // namespace freshet
