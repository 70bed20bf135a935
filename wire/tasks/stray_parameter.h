// Names in the query of a call of our own API that it does not have. Any thread.
#pragma once

#include <optional>

#include "base/result.h"
#include "runtime/ports.h"
#include "wire/api/calls.h"
#include "wire/http/target.h"

namespace freshet::tasks {

// The refusal of the first of them. That of kListTasks is list_input()'s. A signature in the query is for the gate.
std::optional<Error> stray_parameter(const ApiLine& line, const HttpRequest& request, const Target& target);

}  // namespace freshet::tasks
