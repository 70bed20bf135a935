#include "runtime/invoke/function_qualifiers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "streams/arn.h"
#include "streams/system_table.h"

namespace freshet {
namespace {

const Map* map_of(const Value* value) {
  return value ? value->get_if<Map>() : nullptr;
}

Value to_value(const FunctionAlias& alias) {
  Map members;
  const auto text = [&](std::string_view name, const std::string& of) {
    if (!of.empty()) members.set(name, Value(of));
  };
  text("version", alias.version);
  text("description", alias.description);
  text("onSuccess", alias.async.on_success.target);
  text("onFailure", alias.async.on_failure.target);
  members.set("maxEventAge", Value::number(alias.async.max_event_age.count()));
  members.set("maxRetries", Value::number(alias.async.max_retries));
  members.set("asyncModified", Value::number(alias.async_modified_ms));
  members.set("modified", Value::number(alias.modified_ms));
  Map weights;
  for (const auto& [version, weight] : alias.weights) weights.append_sorted(version, Value(fmt::format("{}", weight)));
  members.set("weights", Value(std::move(weights)));
  return Value(std::move(members));
}

FunctionAlias alias_of(const Map& members) {
  FunctionAlias alias;
  alias.version = members.string_or("version");
  alias.description = members.string_or("description");
  alias.async.on_success.target = members.string_or("onSuccess");
  alias.async.on_failure.target = members.string_or("onFailure");
  alias.async.max_event_age = seconds(members.int_or("maxEventAge", alias.async.max_event_age.count()));
  alias.async.max_retries = static_cast<int>(members.int_or("maxRetries", alias.async.max_retries));
  alias.async_modified_ms = members.int_or("asyncModified", 0);
  alias.modified_ms = members.int_or("modified", 0);
  if (const Map* weights = map_of(members.find("weights"))) {
    for (const auto& [version, weight] : *weights) {
      if (const auto* text = weight.get_if<std::string>()) alias.weights[version] = std::strtod(text->c_str(), nullptr);
    }
  }
  return alias;
}

// A policy is a list of lists [id, JSON].
Value to_value(const std::vector<PolicyStatement>& policy) {
  List statements;
  for (const PolicyStatement& statement : policy) {
    List one;
    one.elements.emplace_back(statement.id);
    one.elements.emplace_back(statement.json);
    statements.elements.emplace_back(std::move(one));
  }
  return Value(std::move(statements));
}

std::vector<PolicyStatement> policy_of(const Value& value) {
  std::vector<PolicyStatement> policy;
  const auto* statements = value.get_if<List>();
  if (!statements) return policy;
  for (const Value& statement : statements->elements) {
    const auto* one = statement.get_if<List>();
    if (!one || one->elements.size() != 2) continue;
    const auto* id = one->elements[0].get_if<std::string>();
    const auto* json = one->elements[1].get_if<std::string>();
    if (id && json) policy.push_back({*id, *json});
  }
  return policy;
}

}  // namespace

Item to_item(const FunctionQualifiers& qualifiers) {
  Item item = system_item(kQualifiersKind, qualifiers.function);
  item.set("lastVersion", Value::number(static_cast<int64_t>(qualifiers.last_version)));
  Map aliases;
  for (const auto& [name, alias] : qualifiers.aliases) aliases.append_sorted(name, to_value(alias));
  item.set("aliases", Value(std::move(aliases)));
  Map policies;
  for (const auto& [qualifier, policy] : qualifiers.policies) {
    policies.set(qualifier.empty() ? kLatestVersion : std::string_view(qualifier), to_value(policy));
  }
  item.set("policies", Value(std::move(policies)));
  return item;
}

FunctionQualifiers qualifiers_of(const Item& item) {
  FunctionQualifiers qualifiers;
  qualifiers.function = item.string_or("id");
  qualifiers.last_version = static_cast<uint64_t>(item.int_or("lastVersion", 0));
  if (const Map* aliases = map_of(item.find("aliases"))) {
    for (const auto& [name, alias] : *aliases) {
      if (const Map* members = map_of(&alias)) qualifiers.aliases[name] = alias_of(*members);
    }
  }
  if (const Map* policies = map_of(item.find("policies"))) {
    for (const auto& [qualifier, policy] : *policies) {
      qualifiers.policies[qualifier == kLatestVersion ? "" : qualifier] = policy_of(policy);
    }
  }
  return qualifiers;
}

}  // namespace freshet
