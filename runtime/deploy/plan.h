// The difference between a deployment and the current state, as a value that can be shown before it is applied. Pure
// functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/deploy/deployment.h"

namespace freshet {

// The names of everything that one deployment made, so that the next one can remove what it no longer contains without
// touching what clients made. Stored in the system table.
struct DeployedNames {
  std::vector<std::string> tables;
  std::vector<std::string> parts;  // Parts of tables: "TABLE/stream", "TABLE/ttl", "TABLE/books", "TABLE/index/NAME".
  std::vector<std::string> topics;
  std::vector<std::string> subscriptions;  // "TOPIC:ID".
  std::vector<std::string> functions;
  std::vector<std::string> mappings;
  std::vector<std::string> schedules;
  std::vector<std::string> aliases;  // "FUNCTION:ALIAS".
  bool operator==(const DeployedNames&) const = default;
};

struct DeployedState {
  std::vector<TableDefinition> tables;  // The existing tables among those that the deployment names.
  std::vector<TopicDefinition> topics;
  std::vector<SubscriptionDefinition> subscriptions;
  std::vector<FunctionDefinition> functions;
  std::vector<MappingDefinition> mappings;
  std::vector<ScheduleDefinition> schedules;
  std::vector<AliasDefinition> aliases;
  DeployedNames last;  // The names of the previous deployment; empty if there was none.
};

struct DeploymentChange {
  enum class Kind { kCreate, kChange, kRemove, kKeep /* No longer wanted, but holds data: stays. */ };
  Kind kind = Kind::kCreate;
  std::string type;    // "table", "topic", "subscription", "function", "alias", "mapping" or "schedule".
  std::string name;    // For a subscription "TOPIC:ID", for an alias "FUNCTION:ALIAS".
  std::string detail;  // For kChange: the parts that differ.
  bool operator==(const DeploymentChange&) const = default;
};

std::string_view change_name(DeploymentChange::Kind kind);  // "create", "change", "remove", "keep".

struct DeploymentPlan {
  std::vector<DeploymentChange> changes;  // In the order in which they are applied.
  DeployedNames names;                    // The names to record afterwards.
  // The tables after the deployment: as wanted, plus the parts that others gave them (a queue its indexes, a client
  // another index). A part is removed only if the previous deployment had given it.
  std::vector<TableDefinition> tables;
  // The wanted subscriptions with their future ids: one in a topic's list keeps the id of an earlier version, so that
  // queued events for it are delivered.
  std::vector<SubscriptionDefinition> subscriptions;
  // One line each: "+ table T", "~ function F: timeout, environment", "- schedule S", "= table T (no longer in ...)".
  std::string to_string() const;
};

// kValidation if a table would need other keys: then no part of the plan may be applied.
Result<DeploymentPlan> plan_deployment(const Deployment& wanted, const DeployedState& now);

// "TOPIC:ID", whether the definition gives the topic by name or by ARN.
std::string subscription_name(const SubscriptionDefinition& subscription);
// The target of its deliveries: the name of the function, or the URL.
std::string endpoint_name(const SubscriptionDefinition& subscription);

}  // namespace freshet
