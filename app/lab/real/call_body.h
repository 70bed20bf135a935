// Parses the calls that a queue under test makes, and builds their responses. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "runtime/ports.h"

namespace freshet::lab {

// The number of a task, below `tasks`, in the member `taskId` of the JSON object `body`, as text. Empty: none.
std::optional<size_t> number_of(const std::string& body, size_t tasks);

// A response with that status and JSON.
HttpResponse answer_of(int status, std::string body);

}  // namespace freshet::lab
