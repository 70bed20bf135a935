// How the Lambda API shows a function. Any thread.
#pragma once

#include <string>

#include "runtime/invoke/function.h"
#include "streams/arn.h"

namespace freshet {

// FunctionConfiguration.
std::string function_configuration_json(const FunctionDefinition& function, const Account& account);
// {"Configuration": ..., "Code": ..., "Concurrency": ...}
std::string function_json(const FunctionDefinition& function, const Account& account);
// Changes with whatever is shown of the function.
std::string revision_id(const FunctionDefinition& function, const Account& account);

}  // namespace freshet
