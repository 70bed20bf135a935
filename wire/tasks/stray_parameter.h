// Finds query parameters that a call of our own API does not have. Any thread.
#pragma once

#include <optional>

#include "base/result.h"
#include "runtime/ports.h"
#include "wire/api/calls.h"
#include "wire/http/target.h"

namespace freshet::tasks {

// Refuses the first of them; empty if there is none. list_input() checks those of kListTasks. Parameters of a signature
// are allowed, because the gate checks them.
std::optional<Error> stray_parameter(const ApiLine& line, const HttpRequest& request, const Target& target);

}  // namespace freshet::tasks
