// The Lambda API, REST JSON: the calls that invoke functions and read them.
//
//   POST /2015-03-31/functions/NAME/invocations    Invoke: RequestResponse, Event, DryRun; the tail of the log
//   GET  /2015-03-31/functions                     ListFunctions
//   GET  /2015-03-31/functions/NAME                GetFunction
//   GET  /2015-03-31/functions/NAME/configuration  GetFunctionConfiguration
//
// NAME is a name or an ARN, followed by a version or an alias, or with that in the parameter Qualifier.
// management_route.h makes and changes functions, versions and aliases; all other calls are answered with
// NotImplemented.
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
  // Hides variables, which may hold passwords: clients that may not change functions do not see them either.
  bool hides_environment = false;
  // Called with a function that this daemon does not have, before it is looked for again; see Runtime::look_for().
  // Null: not called.
  std::function<Async<void>(std::string)> look_for = nullptr;
};

// `functions` lists all functions, on the loop. Invoker and `functions` outlive the route.
std::unique_ptr<Route> make_lambda_route(Invoker& invoker, std::function<std::vector<FunctionDefinition>()> functions,
                                         LambdaPlace place);

}  // namespace freshet
