// The roles of access keys: which requests a key may send. docs/security.md has the table for readers.
//
// A request that is not in the table needs kAdmin, so a new route is closed to all other keys until it has a line
// there. tests/wire/auth/roles_test.cc finds calls without a line in the sources that it names.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/ports.h"
#include "wire/auth/credentials.h"

namespace freshet {

// The least role that may send the request; empty if the table does not have it. Pure; any thread. The body matters
// only for the query protocol of SNS, and the action of a compressed body is unknown.
std::optional<Role> role_in_table(const HttpRequest& request);

// The same, kAdmin for a request that is not in the table.
Role role_needed(const HttpRequest& request);

}  // namespace freshet
