// The difference between what a deployment wants and what is there, as a value that can be shown before it is done.
// Pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/deploy/deployment.h"

namespace freshet {

// The names of what one deployment made, so that the next can remove what is no longer wanted without touching what
// clients made. Kept in the system table.
struct DeployedNames {
  std::vector<std::string> tables;
  std::vector<std::string> parts;  // Of tables: "TABLE/stream", "TABLE/ttl", "TABLE/books", "TABLE/index/NAME".
  std::vector<std::string> topics;
  std::vector<std::string> subscriptions;  // "TOPIC:ID".
  std::vector<std::string> functions;
  std::vector<std::string> mappings;
  std::vector<std::string> schedules;
  std::vector<std::string> aliases;  // "FUNCTION:ALIAS".
  bool operator==(const DeployedNames&) const = default;
};

struct DeployedState {
  std::vector<TableDefinition> tables;  // Of those that the deployment names, the ones that are there.
  std::vector<TopicDefinition> topics;
  std::vector<SubscriptionDefinition> subscriptions;
  std::vector<FunctionDefinition> functions;
  std::vector<MappingDefinition> mappings;
  std::vector<ScheduleDefinition> schedules;
  std::vector<AliasDefinition> aliases;
  DeployedNames last;  // By the deployment before; empty if there was none.
};

struct DeploymentChange {
  enum class Kind { kCreate, kChange, kRemove, kKeep /* No longer wanted, but holds data: stays. */ };
  Kind kind = Kind::kCreate;
  std::string type;    // "table", "topic", "subscription", "function", "alias", "mapping" or "schedule".
  std::string name;    // A subscription's is "TOPIC:ID", an alias's "FUNCTION:ALIAS".
  std::string detail;  // Of kChange: which parts differ.
  bool operator==(const DeploymentChange&) const = default;
};

std::string_view change_name(DeploymentChange::Kind kind);  // "create", "change", "remove", "keep".

struct DeploymentPlan {
  std::vector<DeploymentChange> changes;  // In the order in which they are done.
  DeployedNames names;                    // What is recorded afterwards.
  // The tables as they will be: as wanted, and with the parts that somebody else gave them (a queue its own indexes, a
  // client another one). A part is taken away only if the deployment before had given it.
  std::vector<TableDefinition> tables;
  // The wanted subscriptions with their future ids: one in a topic's list keeps the id of an earlier version, so that
  // events that wait for it are delivered.
  std::vector<SubscriptionDefinition> subscriptions;
  // A line each: "+ table T", "~ function F: timeout, environment", "- schedule S", "= table T (no longer in ...)".
  std::string to_string() const;
};

// kValidation when a table would need other keys: nothing of the plan may be done then.
Result<DeploymentPlan> plan_deployment(const Deployment& wanted, const DeployedState& now);

// "TOPIC:ID", whether the definition names the topic or gives its ARN.
std::string subscription_name(const SubscriptionDefinition& subscription);
// The target of its deliveries: the name of the function, or the URL.
std::string endpoint_name(const SubscriptionDefinition& subscription);

}  // namespace freshet
