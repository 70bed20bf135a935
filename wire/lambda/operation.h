// One call of the Lambda API that changes or describes something: parsed on an I/O thread, run on the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/async.h"
#include "base/result.h"
#include "runtime/runtime.h"
#include "tables/value/json_reader.h"
#include "wire/lambda/answer.h"
#include "wire/lambda/code_store.h"
#include "wire/lambda/fleet_code.h"
#include "wire/lambda/function_json.h"

namespace freshet::lambda {

// The objects that operations use; all of them outlive the operation.
struct Backend {
  Runtime& runtime;
  CodeStore& code;
  const Clock& clock;
  FleetCode* fleet = nullptr;  // Null without a fleet.
};

class Operation {
 public:
  virtual ~Operation() = default;
  virtual Async<Result<HttpResponse>> run(Backend& backend) = 0;  // Loop thread; call it once.
};

struct Request {
  const Account& account;  // The owner of the functions.
  std::string name;        // The part of the path that names a function or a mapping; "" if there is none.
  std::string qualifier;   // A version or an alias of that function; "" for $LATEST.
  std::string part;        // The rest of the path: an alias, or a statement of a policy.
  std::map<std::string, std::string> query;
  std::optional<JsonView> body;  // An object; empty for methods without one.
  EnvironmentShown shown = EnvironmentShown::kYes;
};

using Parsed = Result<std::unique_ptr<Operation>>;
using Parser = Parsed (*)(const Request& request);

Parsed parse_create_function(const Request& request);
Parsed parse_update_code(const Request& request);
Parsed parse_update_configuration(const Request& request);
Parsed parse_delete_function(const Request& request);
Parsed parse_publish_version(const Request& request);
Parsed parse_list_versions(const Request& request);
Parsed parse_create_alias(const Request& request);
Parsed parse_get_alias(const Request& request);
Parsed parse_list_aliases(const Request& request);
Parsed parse_update_alias(const Request& request);
Parsed parse_delete_alias(const Request& request);
Parsed parse_add_permission(const Request& request);
Parsed parse_remove_permission(const Request& request);
Parsed parse_get_policy(const Request& request);
Parsed parse_code_signing(const Request& request);
Parsed parse_put_concurrency(const Request& request);
Parsed parse_get_concurrency(const Request& request);
Parsed parse_delete_concurrency(const Request& request);
Parsed parse_put_invoke_config(const Request& request);
Parsed parse_update_invoke_config(const Request& request);
Parsed parse_get_invoke_config(const Request& request);
Parsed parse_list_invoke_configs(const Request& request);
Parsed parse_delete_invoke_config(const Request& request);
Parsed parse_create_mapping(const Request& request);
Parsed parse_get_mapping(const Request& request);
Parsed parse_list_mappings(const Request& request);
Parsed parse_update_mapping(const Request& request);
Parsed parse_delete_mapping(const Request& request);

inline constexpr std::string_view kRevisionMismatch =
    "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to retrieve the "
    "latest Revision Id";
// kResourceNotFound in the service's words. `name` with or without a qualifier.
Result<FunctionDefinition> function_named(Runtime& runtime, const std::string& name);
// Changes an existing function in its current state, and returns the result; errors of `change` too.
using FunctionChange = std::function<Result<void>(FunctionDefinition&)>;
Async<Result<FunctionDefinition>> change_function(Runtime& runtime, std::string name, FunctionChange change);
// "MaxItems" and "Marker" of a list: at most `most`.
struct Page {
  size_t most = 0;
  std::string after;  // Only entries behind it, in order.
};
Result<Page> page_of(const Request& request, size_t most);
int64_t wall_ms(const Clock& clock);
HttpResponse answer_with(int status, std::string body);

}  // namespace freshet::lambda
