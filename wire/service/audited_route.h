// A route that writes its changes to the audit log.
#pragma once

#include <memory>
#include <string>

#include "runtime/audit_log.h"
#include "runtime/ports.h"

namespace freshet {

// Each request but GET and HEAD has its line before it is carried out, whatever comes of it: `what`, and its method and
// path. If the line cannot be written, the request is refused. `is_signed` as actor_of() says. The log outlives it.
std::unique_ptr<Route> make_audited_route(std::unique_ptr<Route> inner, std::string what, AuditLog& log,
                                          bool is_signed);

}  // namespace freshet
