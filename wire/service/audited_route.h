// A route whose changes have lines in the audit log.
#pragma once

#include <memory>

#include "base/clock.h"
#include "runtime/api/audit_log.h"
#include "runtime/ports.h"

namespace freshet {

// A recording of a table (GET /record) ends when its client has sent no request for this time.
constexpr milliseconds kRecordingPatience = std::chrono::minutes(1);

// Writes a line for these requests before they are carried out, whatever their outcome:
//   - those that need the role `operate` or `admin` (wire/auth/roles.h);
//   - those of a web page that change anything: a person made them.
// The usual calls of workers and producers have no line: they would push everything else out of the log. Calls of the
// task API and deployments write a better line by themselves. A client that reads a recording piece by piece has one
// line, and another one after a break of kRecordingPatience. If the line cannot be written, the request is refused.
// `is_signed`: as for actor_of(). accept() may be called on any thread; the exchange runs on the loop. The log must
// outlive the route.
std::unique_ptr<Route> make_audited_route(std::unique_ptr<Route> inner, AuditLog& log, bool is_signed);

}  // namespace freshet
