// The state that a template asks for, as plain values. It does not depend on the current state, which apply.h reads.
// docs/templates.md lists the supported resources, properties and forms.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/deploy/template.h"
#include "runtime/invoke/definitions.h"
#include "runtime/invoke/function.h"
#include "streams/subscription.h"
#include "tables/definition.h"

namespace freshet {

// `--set FUNCTION.VARIABLE=VALUE`.
struct EnvironmentOverride {
  std::string function;  // The function's logical id or name.
  std::string variable;
  std::string value;
  bool operator==(const EnvironmentOverride&) const = default;
};
Result<EnvironmentOverride> parse_override(std::string_view text);

struct Deployment;

// A fault of a function that its host finds, beyond the template's own rules.
struct FunctionFault {
  std::string property;  // Relative to the resource, such as "Environment.Variables.QUEUE_TABLE".
  std::string message;
  bool warning = false;  // True: a warning. False: an error, and nothing is deployed.
};

struct DeploymentInput {
  TemplateInput source;
  std::vector<EnvironmentOverride> overrides;
  // True if the daemon keeps traces; then a template that asks for them gets no warning.
  bool traces_kept = false;
  // The handlers that Runtime `native` knows. Empty: they are not checked.
  std::set<std::string> native_handlers;
  // Returns the environment variables that a native function reads; empty: it takes any. Not set: they are not checked.
  std::function<std::vector<std::string>(const FunctionDefinition&)> known_variables;
  // Checks a native function within the whole deployment. Not set: no check.
  std::function<std::vector<FunctionFault>(const FunctionDefinition&, const Deployment&)> check_function;
};

// The place where a template defines something.
struct TemplatePlace {
  int line = 0;
  std::string resource;  // Logical id.
};

struct Deployment {
  std::vector<TableDefinition> tables;
  std::vector<TopicDefinition> topics;
  std::vector<SubscriptionDefinition> subscriptions;
  // Subscriptions in a topic's list have ids made from their content. This maps "TOPIC:ID" to the beginning of the id
  // that an earlier version gave by position in the list; subscriptions may still exist under those ids.
  std::map<std::string, std::string> listed_subscriptions;
  std::vector<FunctionDefinition> functions;
  std::vector<AliasDefinition> aliases;
  std::vector<MappingDefinition> mappings;
  std::vector<ScheduleDefinition> schedules;
  std::vector<std::string> queues;  // Names of the tables that are queues.
  std::vector<Output> outputs;
  // The definition of each "table NAME", "function NAME" and the like.
  std::map<std::string, TemplatePlace> places;
  // All parts of the template that have no effect here, in the order of the file.
  std::vector<Diagnostic> warnings;
};

// kValidation with one line for each error, "FILE:LINE: RESOURCE.PROPERTY: what and what would be right".
Result<Deployment> resolve_deployment(const DeploymentInput& input);

}  // namespace freshet
