// The Lambda API, REST JSON: what clients call to invoke functions and to look at them.
//
//   POST /2015-03-31/functions/NAME/invocations    Invoke: RequestResponse, Event, DryRun; the tail of the log
//   GET  /2015-03-31/functions                     ListFunctions
//   GET  /2015-03-31/functions/NAME                GetFunction
//   GET  /2015-03-31/functions/NAME/configuration  GetFunctionConfiguration
//
// NAME is a name or an ARN, either with a version or an alias behind it, or with that in the parameter Qualifier. What
// makes and changes functions, versions and aliases is management_route.h; all else is answered with NotImplemented.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/invoke/invoker.h"
#include "streams/arn.h"

namespace freshet {

struct LambdaPlace {
  Account account;
  uint64_t seed = 0;  // Seeds the request ids.
  // Clients may not change functions, so they do not see their variables either: these hold passwords.
  bool hides_environment = false;
};

// `functions` lists what there is, on the loop. Invoker and function outlive the route.
std::unique_ptr<Route> make_lambda_route(Invoker& invoker, std::function<std::vector<FunctionDefinition>()> functions,
                                         LambdaPlace place);

}  // namespace freshet
