#include "runtime/deploy/apply.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/let_others_in.h"
#include "streams/system_table.h"

namespace freshet {
namespace {

constexpr std::string_view kKind = "deployment";
constexpr std::string_view kId = "current";
constexpr int kMostTries = 6;
constexpr milliseconds kFirstPause{100};  // Twice as long each time: a store may show a new table late.
constexpr size_t kChangesPerPiece = 100;  // After this many changes, other work gets its turn.

using NamesMember = std::vector<std::string> DeployedNames::*;
constexpr std::pair<std::string_view, NamesMember> kMembers[] = {
    {"tables", &DeployedNames::tables},
    {"parts", &DeployedNames::parts},
    {"topics", &DeployedNames::topics},
    {"functions", &DeployedNames::functions},
    {"subscriptions", &DeployedNames::subscriptions},
    {"mappings", &DeployedNames::mappings},
    {"schedules", &DeployedNames::schedules},
    {"aliases", &DeployedNames::aliases},
};

Item encode(const DeployedNames& names) {
  Item item = system_item(kKind, kId);
  for (const auto& [name, member] : kMembers) {
    List list;
    for (const std::string& one : names.*member) list.elements.emplace_back(one);
    item.set(name, std::move(list));
  }
  return item;
}

DeployedNames decode(const Item& item) {
  DeployedNames names;
  for (const auto& [name, member] : kMembers) {
    const Value* value = item.find(name);
    const List* list = value ? value->get_if<List>() : nullptr;
    if (!list) continue;
    for (const Value& one : list->elements) {
      if (auto* text = one.get_if<std::string>()) (names.*member).push_back(*text);
    }
  }
  return names;
}

template <class List>
auto find_named(const List& list, const std::string& name) {
  return *std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.name == name; });
}

// Adds the failed change to the error's message.
tl::unexpected<Error> failed(const DeploymentChange& change, Error error) {
  error.message = change.type + " " + change.name + ": " + error.message;
  return fail(std::move(error));
}

template <class T>
Result<void> without_value(Result<T> result) {
  if (!result) return fail(std::move(result.error()));
  return {};
}

Async<Result<void>> change_table(DeploymentChange change, TableDefinition table, Tables& tables) {
  if (change.kind == DeploymentChange::Kind::kCreate) {
    auto created = co_await tables.create_table(std::move(table));
    co_return without_value(std::move(created));
  }
  auto altered = co_await tables.alter_table(std::move(table));
  co_return without_value(std::move(altered));
}

// Publishes the current function as a version and points the alias at that version.
Async<Result<void>> put_alias(AliasDefinition wanted, Runtime& runtime) {
  FunctionRegistry::Check no_check = [](const FunctionDefinition&) { return Result<void>(); };
  std::optional<std::string> description;
  if (!wanted.description.empty()) description = wanted.description;
  std::string function = wanted.function;
  auto version = co_await runtime.publish_version(std::move(function), std::move(description), std::move(no_check));
  if (!version) co_return fail(std::move(version.error()));
  const int64_t now_ms = epoch_ms(runtime.services().scheduler.clock().wall());
  FunctionRegistry::Change point = [&wanted, &version, now_ms](FunctionQualifiers& now) -> Result<void> {
    FunctionAlias& alias = now.aliases[wanted.name];
    if (alias.async != wanted.async) alias.async_modified_ms = now_ms;
    alias.async = wanted.async;
    alias.version = version->version;
    alias.weights.clear();
    alias.modified_ms = std::max(now_ms, alias.modified_ms + 1);
    return {};
  };
  function = wanted.function;
  auto done = co_await runtime.change_qualifiers(std::move(function), std::move(point));
  co_return without_value(std::move(done));
}

Async<Result<void>> remove_alias(std::string name, Runtime& runtime) {
  const size_t colon = name.rfind(':');
  FunctionRegistry::Change drop = [alias = name.substr(colon + 1)](FunctionQualifiers& now) -> Result<void> {
    now.aliases.erase(alias);
    now.policies.erase(alias);
    return {};
  };
  auto done = co_await runtime.change_qualifiers(name.substr(0, colon), std::move(drop));
  co_return without_value(std::move(done));
}

// The aliases of all functions, each with the information if its version is the current function.
std::vector<AliasDefinition> aliases_of(const std::vector<FunctionDefinition>& functions, const Runtime& runtime) {
  std::vector<AliasDefinition> all;
  for (const FunctionDefinition& function : functions) {
    const FunctionQualifiers beside = runtime.qualifiers(function.name);
    if (beside.aliases.empty()) continue;
    const std::vector<FunctionDefinition> versions = runtime.versions(function.name);
    const bool published = !versions.empty() && FunctionRegistry::is_same_version(versions.back(), function);
    for (const auto& [name, alias] : beside.aliases) {
      const bool current = published && alias.version == versions.back().version && alias.weights.empty();
      all.push_back({function.name, name, "", alias.async, current});
    }
  }
  return all;
}

Async<Result<void>> remove(DeploymentChange change, Runtime& runtime) {
  std::string name = change.name;
  if (change.type == "alias") {
    auto done = co_await remove_alias(std::move(name), runtime);
    co_return done;
  }
  if (change.type == "schedule") {
    auto done = co_await runtime.remove_schedule(std::move(name));
    co_return done;
  }
  if (change.type == "mapping") {
    auto done = co_await runtime.remove_mapping(std::move(name));
    co_return done;
  }
  if (change.type == "function") {
    auto done = co_await runtime.remove_function(std::move(name));
    co_return done;
  }
  if (change.type == "topic") {
    auto done = co_await runtime.remove_topic(std::move(name));
    co_return done;
  }
  size_t colon = name.find(':');
  std::string arn = topic_arn(runtime.account(), name.substr(0, colon)) + name.substr(colon);
  auto done = co_await runtime.unsubscribe(std::move(arn));
  co_return done;
}

using Subscriptions = std::map<std::string, const SubscriptionDefinition*>;  // Subscriptions by name.

Async<Result<void>> make_change(DeploymentChange change, const Deployment& wanted, const DeploymentPlan& plan,
                                const Subscriptions& subscriptions, Tables& tables, Runtime& runtime) {
  if (change.kind == DeploymentChange::Kind::kRemove) {
    auto done = co_await remove(std::move(change), runtime);
    co_return done;
  }
  if (change.type == "table") {
    TableDefinition table = find_named(plan.tables, change.name);
    auto done = co_await change_table(std::move(change), std::move(table), tables);
    co_return done;
  }
  if (change.type == "topic") {
    TopicDefinition topic = find_named(wanted.topics, change.name);
    auto done = co_await runtime.put_topic(std::move(topic));
    co_return done;
  }
  if (change.type == "function") {
    FunctionDefinition function = find_named(wanted.functions, change.name);
    auto done = co_await runtime.put_function(std::move(function));
    co_return done;
  }
  for (const AliasDefinition& one : wanted.aliases) {
    if (change.type != "alias" || one.function + ":" + one.name != change.name) continue;
    AliasDefinition alias = one;
    auto done = co_await put_alias(std::move(alias), runtime);
    co_return done;
  }
  if (change.type == "schedule") {
    ScheduleDefinition schedule = find_named(wanted.schedules, change.name);
    auto done = co_await runtime.put_schedule(std::move(schedule));
    co_return done;
  }
  if (const auto found = subscriptions.find(change.name);
      change.type == "subscription" && found != subscriptions.end()) {
    SubscriptionDefinition subscription = *found->second;
    auto done = co_await runtime.subscribe(std::move(subscription));
    co_return without_value(std::move(done));
  }
  for (const MappingDefinition& one : wanted.mappings) {
    if (change.type != "mapping" || one.id != change.name) continue;
    MappingDefinition mapping = one;
    auto done = co_await runtime.put_mapping(std::move(mapping));
    co_return without_value(std::move(done));
  }
  co_return fail(ErrorCode::kInternal, "a change of nothing");
}

}  // namespace

Async<Result<DeployedState>> read_deployed_state(Deployment deployment, Tables& tables, Runtime& runtime) {
  DeployedState state;
  for (const TableDefinition& table : deployment.tables) {
    std::string name = table.name;
    auto described = co_await tables.describe_table(std::move(name));
    if (described) {
      state.tables.push_back(std::move(described->definition));
    } else if (described.error().code != ErrorCode::kResourceNotFound) {
      co_return fail(std::move(described.error()));
    }
  }
  state.topics = runtime.topics();
  state.subscriptions = runtime.subscriptions();
  state.functions = runtime.functions();
  state.schedules = runtime.schedules();
  state.aliases = aliases_of(state.functions, runtime);
  for (const MappingState& mapping : runtime.mappings()) state.mappings.push_back(mapping.definition);
  GetItemInput get = get_system_item(kKind, kId);
  auto record = co_await tables.get_item(std::move(get));
  if (!record) co_return fail(std::move(record.error()));
  if (*record) state.last = decode(record->decode());
  co_return state;
}

namespace {

Async<Result<DeploymentPlan>> apply_once(Deployment deployment, Tables& tables, Runtime& runtime) {
  Deployment wanted = deployment;
  auto state = co_await read_deployed_state(std::move(deployment), tables, runtime);
  if (!state) co_return fail(std::move(state.error()));
  auto plan = plan_deployment(wanted, *state);
  if (!plan) co_return plan;
  // First records both the old and the new names, so that after a crash between the steps nothing that must be removed
  // is forgotten.
  DeployedNames names = plan->names;
  for (const auto& [name, member] : kMembers) {
    auto& list = names.*member;
    const std::set<std::string> wanted_names(list.begin(), list.end());
    for (const std::string& before : state->last.*member) {
      if (!wanted_names.contains(before)) list.push_back(before);
    }
  }
  if (!(names == state->last)) {
    PutItemInput put = put_system_item(encode(names));
    auto recorded = co_await tables.put_item(std::move(put));
    if (!recorded) co_return fail(std::move(recorded.error()));
  }
  Subscriptions subscriptions;
  for (const SubscriptionDefinition& one : plan->subscriptions) subscriptions.emplace(subscription_name(one), &one);
  size_t changes = 0;
  for (const DeploymentChange& change : plan->changes) {
    if (change.kind == DeploymentChange::Kind::kKeep) continue;
    if (++changes % kChangesPerPiece == 0) co_await let_others_in(runtime.services().scheduler);
    DeploymentChange copy = change;
    auto done = co_await make_change(std::move(copy), wanted, *plan, subscriptions, tables, runtime);
    bool gone = !done && change.kind == DeploymentChange::Kind::kRemove && done.error().code == ErrorCode::kNotFound;
    if (!done && !gone) co_return failed(change, std::move(done.error()));
  }
  if (!(names == plan->names)) {
    PutItemInput put = put_system_item(encode(plan->names));
    auto recorded = co_await tables.put_item(std::move(put));
    if (!recorded) co_return fail(std::move(recorded.error()));
  }
  co_return plan;
}

}  // namespace

Async<Result<DeploymentPlan>> apply_deployment(Deployment deployment, Tables& tables, Runtime& runtime) {
  for (int tries = 1;; ++tries) {
    Deployment wanted = deployment;
    auto applied = co_await apply_once(std::move(wanted), tables, runtime);
    // Another daemon has made a table that was not there when the changes were planned.
    const bool again = !applied && applied.error().code == ErrorCode::kResourceInUse && tries < kMostTries;
    if (!again) co_return applied;
    co_await sleep_for(runtime.services().scheduler, kFirstPause * (1 << (tries - 1)));
  }
}

}  // namespace freshet
