// How the Lambda API shows a function. Any thread.
#pragma once

#include <string>

#include "runtime/invoke/function.h"
#include "streams/arn.h"

namespace freshet {

// Selects if the values of a function's environment variables are shown.
enum class EnvironmentShown { kYes, kNo };

// FunctionConfiguration.
std::string function_configuration_json(const FunctionDefinition& function, const Account& account,
                                        EnvironmentShown shown = EnvironmentShown::kYes);
// {"Configuration": ..., "Code": ..., "Concurrency": ...}
std::string function_json(const FunctionDefinition& function, const Account& account,
                          EnvironmentShown shown = EnvironmentShown::kYes);
// Changes with whatever is shown of the function; a UUID.
std::string revision_id(const FunctionDefinition& function, const Account& account,
                        EnvironmentShown shown = EnvironmentShown::kYes);

}  // namespace freshet
