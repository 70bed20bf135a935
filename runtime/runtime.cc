#include "runtime/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/account_record.h"
#include "runtime/runtime_parts.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

// The limits for topics' HTTP endpoints: the number of concurrent requests, and the timeout of each.
constexpr milliseconds kEndpointTimeout = seconds(15);
constexpr int kEndpointConcurrency = 16;
constexpr seconds kEndpointMaxAge{3600};
constexpr nanoseconds kDrainLook = milliseconds(5);
constexpr nanoseconds kLongestClaim = seconds(2);
constexpr seconds kLongestSave{1};

}  // namespace

FunctionDefinition endpoint_of(const SubscriptionDefinition& subscription, std::string target) {
  FunctionDefinition endpoint;
  endpoint.name = std::move(target);
  endpoint.handler = subscription.endpoint;
  endpoint.host = "endpoint";
  endpoint.timeout = kEndpointTimeout;
  endpoint.reserved_concurrency = kEndpointConcurrency;
  endpoint.async.max_event_age = kEndpointMaxAge;
  endpoint.async.max_retries = 0;
  return endpoint;
}

bool Runtime::Parts::busy() const {
  return invoker.busy() || mappings.busy();
}

Runtime::Runtime(RuntimePorts ports, RuntimeOptions options)
    : parts_(std::make_unique<Parts>(ports, std::move(options))) {}

Runtime::~Runtime() = default;

Async<Result<void>> Runtime::start() {
  Parts& p = *parts_;
  auto fits = require_traits(p.ports.tables.traits(), "the runtime", {Trait::kSoleWriter, Trait::kTransactions});
  if (!fits) co_return fits;
  auto done = co_await ensure_system_table(p.ports.tables);
  if (!done) co_return done;
  done = co_await p.functions.load();
  if (!done) co_return done;
  done = co_await p.topics.load();
  if (!done) co_return done;
  const bool in_use = !p.functions.list().empty() || !p.topics.topics().empty();
  done = co_await keep_account(p.ports.tables, p.options.account, in_use);
  if (!done) co_return done;
  for (const SubscriptionDefinition& subscription : p.topics.subscriptions()) {
    if (subscription.protocol == "lambda") continue;
    std::string target = p.topics.arn_of(subscription);
    if (p.topics.find_subscription(target)->settings.pending) target = confirmation_target(target);
    p.functions.put_endpoint(endpoint_of(subscription, std::move(target)));
  }
  done = co_await p.invoker.events().load();
  if (!done) co_return done;
  done = co_await p.mappings.load();
  if (!done) co_return done;
  p.mappings.start();
  done = co_await p.schedules.load();
  co_return done;
}

Async<bool> Runtime::drain(BootTime deadline) {
  Parts& p = *parts_;
  p.schedules.pause();
  p.mappings.pause();
  p.invoker.drain();
  // The firings that this daemon has claimed in a fleet still run here, if the claims are answered soon.
  const BootTime claimed = std::min(deadline, p.ports.scheduler.clock().boot() + kLongestClaim);
  while (p.schedules.busy() && p.ports.scheduler.clock().boot() < claimed) {
    co_await sleep_for(p.ports.scheduler, kDrainLook);
  }
  p.invoker.events().pause();
  while (p.busy() && p.ports.scheduler.clock().boot() < deadline) {
    co_await sleep_for(p.ports.scheduler, kDrainLook);
  }
  // A client's change before it may wait for an engine that does not answer.
  const BootTime saved = std::max(deadline, p.ports.scheduler.clock().boot() + kLongestSave);
  const auto saving = p.mappings.save();
  while (!saving.is_ready() && p.ports.scheduler.clock().boot() < saved) {
    co_await sleep_for(p.ports.scheduler, kDrainLook);
  }
  co_return !p.busy();
}

void Runtime::end_all() {
  parts_->end_all();
}

Async<Result<void>> Runtime::put_function(FunctionDefinition function) {
  std::string name = function.name;
  FunctionUpdate as_it_is = [function = std::move(function)](const FunctionDefinition*) { return function; };
  auto put = co_await update_function(std::move(name), std::move(as_it_is));
  if (!put) co_return fail(std::move(put.error()));
  co_return Result<void>();
}

Async<Result<FunctionDefinition>> Runtime::update_function(std::string name, FunctionUpdate update) {
  return parts_->for_client<FunctionDefinition>(function_by_name(std::string(plain_name(name))),
                                                [this, name, update] { return parts_->update_function(name, update); });
}

Async<Result<FunctionDefinition>> Runtime::Parts::update_function(std::string name, FunctionUpdate update) {
  Parts& p = *this;
  FunctionPtr before;  // The function when this update's turn came.
  FunctionUpdate seeing = [&before, update = std::move(update)](const FunctionDefinition* now) {
    if (now) before = std::make_shared<const FunctionDefinition>(*now);
    return update(now);
  };
  std::string of = name;
  auto put = co_await p.functions.update(std::move(of), std::move(seeing));
  if (!put) co_return fail(std::move(put.error()));
  p.invoker.events().changed(name);
  if (before && !(*before == **put)) p.left(*before);
  co_return **put;
}

Async<Result<std::vector<std::string>>> Runtime::renew_functions(std::string folder) {
  std::vector<std::string> names;
  for (const FunctionDefinition& function : parts_->functions.list_all()) {
    if (function.code == folder && function.host == "process") names.push_back(function.name);
  }
  std::vector<std::string> renewed;
  for (const std::string& name : names) {
    FunctionUpdate later = [&folder](const FunctionDefinition* now) -> Result<FunctionDefinition> {
      if (!now || now->code != folder) return fail(ErrorCode::kNotFound, "it is elsewhere by now");
      FunctionDefinition function = *now;
      function.modified_ms = FunctionDefinition::kModifiedNow;
      return function;
    };
    std::string of = name;
    auto done = co_await update_function(std::move(of), std::move(later));
    if (done) renewed.push_back(name);
    if (!done && done.error().code != ErrorCode::kNotFound) co_return fail(std::move(done.error()));
  }
  co_return renewed;
}

bool Runtime::uses_code(const std::string& folder) const {
  const std::vector<FunctionDefinition> all = parts_->functions.list_all();
  return parts_->process_host.uses_code(folder) || parts_->leaving.contains(folder) ||
         std::any_of(all.begin(), all.end(), [&](const FunctionDefinition& f) { return f.code == folder; });
}

Async<Result<void>> Runtime::remove_function(std::string name) {
  return parts_->for_client<void>(function_by_name(name), [this, name] { return parts_->remove_function(name); });
}

Async<Result<void>> Runtime::Parts::remove_function(std::string name) {
  auto removed = co_await functions.remove(std::move(name));
  if (!removed) co_return fail(std::move(removed.error()));
  for (const FunctionPtr& function : *removed) gone(function);
  co_return Result<void>();
}

Async<Result<FunctionDefinition>> Runtime::publish_version(std::string name, std::optional<std::string> description,
                                                           FunctionRegistry::Check check) {
  return parts_->for_client<FunctionDefinition>(function_by_name(name), [this, name, description, check] {
    return parts_->publish_version(name, description, check);
  });
}

Async<Result<FunctionDefinition>> Runtime::Parts::publish_version(std::string name,
                                                                  std::optional<std::string> description,
                                                                  FunctionRegistry::Check check) {
  auto version = co_await functions.publish(std::move(name), std::move(description), std::move(check));
  if (!version) co_return fail(std::move(version.error()));
  co_return **version;
}

Async<Result<void>> Runtime::remove_version(std::string name, std::string version) {
  return parts_->for_client<void>(function_by_name(name),
                                  [this, name, version] { return parts_->remove_version(name, version); });
}

Async<Result<void>> Runtime::Parts::remove_version(std::string name, std::string version) {
  const FunctionPtr function = functions.find(name + ":" + version);
  auto done = co_await functions.remove_version(std::move(name), std::move(version));
  if (done && function) gone(function);
  co_return done;
}

Async<Result<FunctionQualifiers>> Runtime::change_qualifiers(std::string name, FunctionRegistry::Change change) {
  return parts_->for_client<FunctionQualifiers>(
      function_by_name(name), [this, name, change] { return parts_->change_qualifiers(name, change); });
}

Async<Result<FunctionQualifiers>> Runtime::Parts::change_qualifiers(std::string name, FunctionRegistry::Change change) {
  std::vector<FunctionPtr> before;  // The functions when this change's turn came.
  FunctionRegistry::Change seeing = [this, &before, name, change = std::move(change)](FunctionQualifiers& now) {
    before = qualified(name);
    return change(now);
  };
  auto done = co_await functions.change_qualifiers(std::move(name), std::move(seeing));
  if (done) aliases_changed(before);
  co_return done;
}

std::vector<FunctionPtr> Runtime::Parts::qualified(const std::string& name) const {
  std::vector<FunctionPtr> all;
  for (const std::string& each : functions.qualified_names(name)) all.push_back(functions.find(each));
  return all;
}

void Runtime::Parts::aliases_changed(const std::vector<FunctionPtr>& before) {
  for (const FunctionPtr& function : before) {
    if (!function) continue;
    if (functions.find(function->name)) {
      invoker.events().changed(function->name);
    } else {
      invoker.events().forget(function);
    }
  }
}

FunctionQualifiers Runtime::qualifiers(const std::string& name) const {
  return parts_->functions.qualifiers(name);
}
std::vector<FunctionDefinition> Runtime::versions(const std::string& name) const {
  return parts_->functions.versions(name);
}

Async<Result<void>> Runtime::put_topic(TopicDefinition topic) {
  return parts_->for_client<void>(topic_named(topic.name), [this, topic] {
    return parts_->make_topic(topic.name, [this, topic] { return parts_->topics.put_topic(topic); });
  });
}

Async<Result<void>> Runtime::remove_topic(std::string name) {
  return parts_->for_client<void>(topic_named(name), [this, name] {
    return parts_->endpoint_changes.run<Result<void>>([this, name] { return remove_topic_now(name); });
  });
}

Async<Result<void>> Runtime::remove_topic_now(std::string name) {
  auto gone = co_await parts_->topics.remove_topic(std::move(name));
  if (!gone) co_return fail(std::move(gone.error()));
  for (const std::string& endpoint : *gone) parts_->remove_endpoints(endpoint);
  co_return Result<void>();
}

Async<Result<std::string>> Runtime::subscribe(SubscriptionDefinition subscription) {
  SubscriptionDefinition named = subscription;
  named.topic = topic_name(named.topic);
  return parts_->for_client<std::string>(subscription_named(parts_->topics.arn_of(named)), [this, subscription] {
    return parts_->endpoint_changes.run<Result<std::string>>(
        [this, subscription] { return subscribe_now(subscription); });
  });
}

Async<Result<std::string>> Runtime::subscribe_now(SubscriptionDefinition subscription) {
  SubscriptionDefinition asked = subscription;
  auto arn = co_await parts_->topics.subscribe(std::move(subscription));
  if (arn && asked.protocol != "lambda") {
    parts_->functions.put_endpoint(endpoint_of(asked, *arn));
    parts_->invoker.events().changed(*arn);
  }
  co_return arn;
}

Async<Result<void>> Runtime::unsubscribe(std::string subscription_arn) {
  return parts_->for_client<void>(subscription_named(subscription_arn), [this, arn = subscription_arn] {
    return parts_->endpoint_changes.run<Result<void>>([this, arn] { return unsubscribe_now(arn); });
  });
}

Async<Result<void>> Runtime::unsubscribe_now(std::string subscription_arn) {
  const std::string arn = subscription_arn;
  auto done = co_await parts_->topics.unsubscribe(std::move(subscription_arn));
  if (done) parts_->remove_endpoints(arn);
  co_return done;
}

Async<Result<SubscriptionState>> Runtime::request_subscription(SubscriptionDefinition asked,
                                                               ChangeSubscription configure, std::string server) {
  return parts_->for_client<SubscriptionState>(subscription_named(""), [this, asked, configure, server] {
    return parts_->endpoint_changes.run<Result<SubscriptionState>>(
        [this, asked, configure, server] { return request_subscription_now(asked, configure, server); });
  });
}

Async<Result<SubscriptionState>> Runtime::request_subscription_now(SubscriptionDefinition asked,
                                                                   ChangeSubscription configure, std::string server) {
  std::string place = server;
  auto state = co_await parts_->topics.request_subscription(std::move(asked), std::move(configure), std::move(place));
  if (!state || !state->settings.pending) co_return state;
  parts_->functions.put_endpoint(endpoint_of(state->definition, confirmation_target(state->arn)));
  std::string arn = state->arn;
  auto sent = co_await parts_->topics.send_confirmation(std::move(arn), std::move(server));
  if (!sent) co_return fail(std::move(sent.error()));
  co_return state;
}

Async<Result<SubscriptionState>> Runtime::confirm_subscription(std::string topic, std::string token,
                                                               bool authenticated) {
  return parts_->for_client<SubscriptionState>(subscription_named(""), [this, topic, token, authenticated] {
    return parts_->endpoint_changes.run<Result<SubscriptionState>>(
        [this, topic, token, authenticated] { return confirm_subscription_now(topic, token, authenticated); });
  });
}

Async<Result<SubscriptionState>> Runtime::confirm_subscription_now(std::string topic, std::string token,
                                                                   bool authenticated) {
  auto state = co_await parts_->topics.confirm_subscription(std::move(topic), std::move(token), authenticated);
  if (!state) co_return state;
  parts_->remove_endpoints(state->arn);
  parts_->functions.put_endpoint(endpoint_of(state->definition, state->arn));
  co_return state;
}

void Runtime::share_events(std::string daemon) {
  parts_->invoker.events().share(std::move(daemon));
}

void Runtime::serve_events(bool is_mine) {
  parts_->invoker.events().serve(is_mine);
}

bool Runtime::is_busy_with_events() const {
  return parts_->invoker.events().is_working();
}

void Runtime::look_for_events() {
  parts_->invoker.events().look();
}

void Runtime::share_topics(TopicFleet& fleet) {
  parts_->topics.share(fleet);
  parts_->invoker.events().share_topics([&fleet](const std::string& topic) { return fleet.may_serve(topic); });
}

void Runtime::share_mappings(std::function<void()> changed) {
  parts_->mappings.share(std::move(changed));
}
bool Runtime::mappings_are_shared() const {
  return parts_->mappings.is_shared();
}
void Runtime::serve_mapping(const std::string& id, bool is_mine) {
  parts_->mappings.serve(id, is_mine);
}
bool Runtime::is_mapping_busy(const std::string& id) const {
  return parts_->mappings.is_busy(id);
}

Async<Result<void>> Runtime::put_schedule(ScheduleDefinition schedule) {
  if (!parts_->functions.find(schedule.function)) {
    return Result<void>(fail(ErrorCode::kNotFound, fmt::format("There is no function \"{}\"", schedule.function)));
  }
  return parts_->schedules.put(std::move(schedule));
}
Async<Result<void>> Runtime::remove_schedule(std::string name) {
  return parts_->schedules.remove(std::move(name));
}

std::vector<FunctionDefinition> Runtime::functions() const {
  return parts_->functions.list();
}
std::vector<FunctionDefinition> Runtime::all_functions() const {
  return parts_->functions.list_all();
}
std::vector<TopicDefinition> Runtime::topics() const {
  return parts_->topics.topics();
}
std::vector<SubscriptionDefinition> Runtime::subscriptions() const {
  return parts_->topics.subscriptions();
}
std::vector<ScheduleDefinition> Runtime::schedules() const {
  return parts_->schedules.list();
}
void Runtime::share_schedules(std::string daemon, std::function<bool()> may_fire) {
  parts_->schedules.share(std::move(daemon), std::move(may_fire));
}
std::vector<ScheduleState> Runtime::schedule_states() const {
  return parts_->schedules.states();
}
std::vector<MappingState> Runtime::mappings() const {
  return parts_->mappings.list();
}
Detached& Runtime::detached() {
  return parts_->detached;
}
void Runtime::serve_processes(ProgramSettings settings) {
  parts_->process_host.serve(std::move(settings));
}

Async<InvokeOutcome> Runtime::make_ready(std::string function) {
  const FunctionPtr named = parts_->functions.find(function);
  if (!named) co_return InvokeOutcome{};
  const FunctionPtr target = parts_->functions.target_of(named, parts_->ports.random);
  if (target->host != "process") co_return InvokeOutcome{};
  Invocation invocation;
  invocation.request_id = parts_->ports.random.uuid();
  invocation.only_starts = true;
  co_return co_await parts_->process_host.invoke(*target, std::move(invocation));
}
std::map<std::string, ProcessStats> Runtime::process_stats() const {
  return parts_->process_host.stats();
}
Invoker& Runtime::invoker() {
  return parts_->invoker;
}
Publisher& Runtime::publisher() {
  return parts_->topics;
}
TopicService& Runtime::topic_service() {
  return parts_->topics;
}
Services& Runtime::services() {
  return parts_->services;
}
const Account& Runtime::account() const {
  return parts_->options.account;
}

}  // namespace freshet
