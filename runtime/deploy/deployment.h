// What a template deploys, as plain values: what is to be there, no matter what is there now (that is apply.h).
// Which resources, properties and forms are understood: docs/templates.md.
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
  std::string function;  // Logical id or name.
  std::string variable;
  std::string value;
  bool operator==(const EnvironmentOverride&) const = default;
};
Result<EnvironmentOverride> parse_override(std::string_view text);

struct Deployment;

// What is wrong with a function for its host's taste, beyond what templates know.
struct FunctionFault {
  std::string property;  // Below the resource's, such as "Environment.Variables.QUEUE_TABLE".
  std::string message;
  bool warning = false;  // Else nothing is deployed.
};

struct DeploymentInput {
  TemplateInput source;
  std::vector<EnvironmentOverride> overrides;
  // Whether the daemon keeps traces: then a template that asks for them needs no warning.
  bool traces_kept = false;
  // The names that Runtime `native` knows. Empty: they are not checked.
  std::set<std::string> native_handlers;
  // The environment variables that a native function reads; nothing: it takes any. Not set: they are not checked.
  std::function<std::vector<std::string>(const FunctionDefinition&)> known_variables;
  // Looks at a native function within all that is deployed. Not set: nobody does.
  std::function<std::vector<FunctionFault>(const FunctionDefinition&, const Deployment&)> check_function;
};

// Where a template defines something.
struct TemplatePlace {
  int line = 0;
  std::string resource;  // Logical id.
};

struct Deployment {
  std::vector<TableDefinition> tables;
  std::vector<TopicDefinition> topics;
  std::vector<SubscriptionDefinition> subscriptions;
  // Subscriptions in a topic's list have ids made from their content. This maps "TOPIC:ID" to the beginning of the id
  // from when ids were numbered by place in the list; subscriptions may still exist under those ids.
  std::map<std::string, std::string> listed_subscriptions;
  std::vector<FunctionDefinition> functions;
  std::vector<AliasDefinition> aliases;
  std::vector<MappingDefinition> mappings;
  std::vector<ScheduleDefinition> schedules;
  std::vector<std::string> queues;  // Names of the tables that are queues.
  std::vector<Output> outputs;
  // "table NAME", "function NAME" and the like, each where it is defined.
  std::map<std::string, TemplatePlace> places;
  // Everything that the template says and that has no effect here, in the order of the file.
  std::vector<Diagnostic> warnings;
};

// kValidation with one line for each error, "FILE:LINE: RESOURCE.PROPERTY: what and what would be right".
Result<Deployment> resolve_deployment(const DeploymentInput& input);

// An empty deployment: what the daemon runs without a template.
inline Deployment empty_deployment() {
  return {};
}

}  // namespace freshet
