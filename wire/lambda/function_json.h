// The JSON of a function in the Lambda API. Any thread.
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
// A UUID that changes with every shown property of the function.
std::string revision_id(const FunctionDefinition& function, const Account& account,
                        EnvironmentShown shown = EnvironmentShown::kYes);

}  // namespace freshet
