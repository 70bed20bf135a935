// Definitions of filtered queues, from a file of JSON. The form: docs/filtered-queue.md.
#pragma once

#include <string_view>
#include <vector>

#include "functions/filtered/settings.h"

namespace freshet::filtered {

// At least one. kValidation naming the member: unknown ones, wrong types, settings that validate() refuses, or that
// need more than a transaction can hold, with the calculation.
Result<std::vector<Settings>> read_definitions(std::string_view json);

}  // namespace freshet::filtered
