// The part of TopicService for clients: settings, requested and confirmed subscriptions, pages.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/crypto.h"
#include "streams/system_table.h"
#include "streams/topic_service.h"
#include "streams/topic_settings.h"

namespace freshet {

namespace {

auto no_such_topic() {
  return fail(ErrorCode::kNotFound, "Topic does not exist");
}

auto limit(std::string_view name, std::string message) {
  return fail(ErrorCode::kLimitExceeded, std::move(message), std::make_shared<TopicErrorName>(name));
}

// A function's name and its ARN are the same endpoint.
bool same_endpoint(const SubscriptionDefinition& a, const SubscriptionDefinition& b) {
  if (a.protocol != b.protocol) return false;
  return a.protocol == "lambda" ? function_name(a.endpoint) == function_name(b.endpoint) : a.endpoint == b.endpoint;
}

bool has_all(const std::map<std::string, std::string>& there, const std::map<std::string, std::string>& asked) {
  return std::all_of(asked.begin(), asked.end(), [&](const auto& entry) {
    const auto found = there.find(entry.first);
    return found != there.end() && found->second == entry.second;
  });
}

}  // namespace

Async<Result<void>> TopicService::write_definition(DefinitionName what, std::vector<WriteInput> writes) {
  if (definitions_) return definitions_->write(std::move(what), std::move(writes));
  return write_alone(tables_, std::move(writes));
}

Async<Result<void>> TopicService::write_topic(std::string name, TopicSettings settings) {
  std::vector<WriteInput> writes{put_system_item(topic_item(name, settings))};
  if (settings.attributes.contains("FifoTopic")) {
    auto made = co_await ensure_deduplication_table(tables_);
    if (!made) co_return made;
  }
  DefinitionName what = topic_named(name);
  auto written = co_await write_definition(std::move(what), std::move(writes));
  if (!written) co_return written;
  accept_topic(name, std::move(settings));
  co_return Result<void>();
}

void TopicService::accept_topic(const std::string& name, TopicSettings settings) {
  const bool is_new_fifo = settings.attributes.contains("FifoTopic") && !topics_[name].fifo;
  become(topics_[name], std::move(settings));
  if (auto found = without_topic_.extract(name); !found.empty()) {
    for (auto& [id, subscription] : found.mapped()) topics_[name].subscriptions.emplace(id, std::move(subscription));
  }
  if (!fleet_ || !is_new_fifo) return;
  if (serving_.contains(name)) begin_to_serve(name, topics_[name].fifo);
  fleet_->topics_changed();
}

std::vector<std::string> TopicService::forget_topic(const std::string& name) {
  const auto topic = topics_.find(name);
  std::vector<std::string> gone;
  if (topic == topics_.end()) return gone;
  for (const auto& [id, subscription] : topic->second.subscriptions) gone.push_back(arn_of(subscription.definition));
  const bool is_fifo = topic->second.fifo != nullptr;
  if (!topic->second.subscriptions.empty()) without_topic_[name] = std::move(topic->second.subscriptions);
  topics_.erase(topic);
  if (fleet_ && is_fifo) fleet_->topics_changed();
  return gone;
}

void TopicService::accept_subscription(const SubscriptionDefinition& definition, const SubscriptionSettings& settings) {
  const Subscription* known = subscription_at(arn_of(definition));
  if (known && known->definition == definition && known->settings == settings) return;
  accept(definition, settings);
}

void TopicService::forget_subscription(const std::string& subscription_arn) {
  const size_t colon = subscription_arn.rfind(':');
  if (colon == std::string::npos) return;
  const std::string topic = topic_name(subscription_arn.substr(0, colon));
  if (const auto waiting = without_topic_.find(topic); waiting != without_topic_.end()) {
    waiting->second.erase(subscription_arn.substr(colon + 1));
    if (waiting->second.empty()) without_topic_.erase(waiting);
  }
  const Subscription* known = subscription_at(subscription_arn);
  if (!known) return;
  const std::string id = known->definition.id;
  topics_.at(known->definition.topic).subscriptions.erase(id);
}

Async<Result<void>> TopicService::create_topic(std::string name, TopicSettings asked) {
  return changes_.run<Result<void>>(
      [this, name = std::move(name), asked = std::move(asked)] { return create_topic_now(name, asked); });
}

Async<Result<void>> TopicService::create_topic_now(std::string name, TopicSettings asked) {
  if (auto good = check_topic_name(name, asked.attributes.contains("FifoTopic")); !good) co_return good;
  if (auto good = check_topic_settings(asked); !good) co_return good;
  if (const auto known = topics_.find(name); known != topics_.end()) {
    const TopicSettings& there = known->second.settings;
    const std::string_view differs = !has_all(there.attributes, asked.attributes) ? "Attributes"
                                     : !has_all(there.tags, asked.tags)           ? "Tags"
                                                                                  : "";
    if (differs.empty()) co_return Result<void>();
    co_return invalid(fmt::format("Invalid parameter: {} Reason: Topic already exists with different {}", differs,
                                  differs == "Tags" ? "tags" : "attributes"));
  }
  if (topics_.size() >= kMaxTopics) {
    co_return limit("TopicLimitExceeded", fmt::format("There are {} topics already, which is the limit", kMaxTopics));
  }
  auto written = co_await write_topic(std::move(name), std::move(asked));
  co_return written;
}

Async<Result<void>> TopicService::change_topic(std::string name, ChangeTopic change) {
  return changes_.run<Result<void>>(
      [this, name = std::move(name), change = std::move(change)] { return change_topic_now(name, change); });
}

Async<Result<void>> TopicService::change_topic_now(std::string name, ChangeTopic change) {
  const auto topic = topics_.find(name);
  if (topic == topics_.end()) co_return no_such_topic();
  TopicSettings settings = topic->second.settings;
  if (auto changed = change(settings); !changed) co_return changed;
  if (settings == topic->second.settings) co_return Result<void>();
  if (settings.attributes.contains("FifoTopic") != (topic->second.fifo != nullptr)) {
    co_return invalid("Invalid parameter: AttributeName Reason: FifoTopic cannot be changed");
  }
  if (auto good = check_topic_settings(settings); !good) co_return good;
  auto written = co_await write_topic(std::move(name), std::move(settings));
  co_return written;
}

Async<Result<void>> TopicService::write_subscription(SubscriptionDefinition definition, SubscriptionSettings settings) {
  std::vector<WriteInput> writes{put_system_item(subscription_item(definition, settings, arn_of(definition)))};
  DefinitionName what = subscription_named(arn_of(definition));
  auto written = co_await write_definition(std::move(what), std::move(writes));
  if (!written) co_return written;
  accept(definition, settings);
  co_return Result<void>();
}

Async<Result<SubscriptionState>> TopicService::request_subscription(SubscriptionDefinition asked,
                                                                    ChangeSubscription configure, std::string server) {
  return changes_.run<Result<SubscriptionState>>(
      [this, asked = std::move(asked), configure = std::move(configure), server = std::move(server)] {
        return request_subscription_now(asked, configure, server);
      });
}

Async<Result<SubscriptionState>> TopicService::request_subscription_now(SubscriptionDefinition asked,
                                                                        ChangeSubscription configure,
                                                                        std::string server) {
  const auto topic = topics_.find(asked.topic);
  if (topic == topics_.end()) co_return no_such_topic();
  SubscriptionSettings settings;
  settings.pending = asked.protocol != "lambda";
  asked.id = random_.uuid();
  const auto& there = topic->second.subscriptions;
  const auto same = std::find_if(there.begin(), there.end(),
                                 [&](const auto& one) { return same_endpoint(one.second.definition, asked); });
  if (same != there.end()) {
    SubscriptionDefinition definition = same->second.definition;
    settings = same->second.settings;
    if (auto good = configure(definition, settings); !good) co_return fail(std::move(good.error()));
    if (definition == same->second.definition && settings == same->second.settings) co_return state_of(same->second);
    co_return invalid("Invalid parameter: Attributes Reason: Subscription already exists with different attributes");
  }
  if (auto good = configure(asked, settings); !good) co_return fail(std::move(good.error()));
  if (auto good = check_subscription(asked); !good) co_return fail(std::move(good.error()));
  if (auto good = compile(asked); !good) co_return fail(std::move(good.error()));
  const size_t most = topic->second.fifo ? kMaxSubscriptionsPerFifoTopic : kMaxSubscriptionsPerTopic;
  if (there.size() >= most) {
    co_return limit("SubscriptionLimitExceeded",
                    fmt::format("The topic has {} subscriptions already, which is the limit", most));
  }
  if (settings.pending) {
    settings.token = secret_token();
    settings.server = std::move(server);
  }
  const SubscriptionState state{arn_of(asked), asked, settings};
  auto written = co_await write_subscription(std::move(asked), std::move(settings));
  if (!written) co_return fail(std::move(written.error()));
  co_return state;
}

Async<Result<void>> TopicService::change_subscription(std::string subscription_arn, ChangeSubscription change) {
  return changes_.run<Result<void>>([this, arn = std::move(subscription_arn), change = std::move(change)] {
    return change_subscription_now(arn, change);
  });
}

Async<Result<void>> TopicService::change_subscription_now(std::string subscription_arn, ChangeSubscription change) {
  const Subscription* subscription = subscription_at(subscription_arn);
  if (!subscription) co_return fail(ErrorCode::kNotFound, "Subscription does not exist");
  SubscriptionDefinition definition = subscription->definition;
  SubscriptionSettings settings = subscription->settings;
  if (auto changed = change(definition, settings); !changed) co_return changed;
  SubscriptionDefinition checked = definition;
  // A policy that does not change stays valid, even if an earlier version accepted more.
  const SubscriptionDefinition& before = subscription->definition;
  const bool same_policy =
      definition.filter_policy == before.filter_policy && definition.filter_on_body == before.filter_on_body;
  if (same_policy) checked.filter_policy.clear();
  if (auto good = check_subscription(checked); !good) co_return good;
  if (definition == before && settings == subscription->settings) co_return Result<void>();
  auto written = co_await write_subscription(std::move(definition), std::move(settings));
  co_return written;
}

Async<Result<void>> TopicService::send_confirmation(std::string subscription_arn, std::string server) {
  const Subscription* subscription = subscription_at(subscription_arn);
  if (!subscription) co_return fail(ErrorCode::kNotFound, "Subscription does not exist");
  const std::string topic = topic_arn(account_, subscription->definition.topic);
  const std::string& token = subscription->settings.token;
  const std::string url = fmt::format("{}/?Action=ConfirmSubscription&TopicArn={}&Token={}", server, topic, token);
  Delivery delivery{confirmation_target(subscription_arn), {}, random_.uuid()};
  delivery.payload = confirmation_request(delivery.request_id, scheduler_.clock().wall(), topic, token, url);
  auto event = queue_.prepare(std::move(delivery));
  if (!event) co_return fail(std::move(event.error()));
  std::vector<WriteInput> writes;
  writes.push_back(std::move(event->write));
  auto written = co_await write_together(tables_, std::move(writes));
  if (written) event->logged();
  co_return written;
}

Async<Result<SubscriptionState>> TopicService::confirm_subscription(std::string topic, std::string token,
                                                                    bool authenticated) {
  return changes_.run<Result<SubscriptionState>>(
      [this, topic = std::move(topic), token = std::move(token), authenticated] {
        return confirm_subscription_now(topic, token, authenticated);
      });
}

Async<Result<SubscriptionState>> TopicService::confirm_subscription_now(std::string topic, std::string token,
                                                                        bool authenticated) {
  const auto found = topics_.find(topic);
  if (found == topics_.end()) co_return no_such_topic();
  const auto& there = found->second.subscriptions;
  const auto meant = std::find_if(there.begin(), there.end(), [&](const auto& one) {
    return !token.empty() && one.second.settings.token == token;
  });
  if (meant == there.end()) co_return invalid("Invalid parameter: Token");
  SubscriptionState state = state_of(meant->second);
  if (!state.settings.pending) co_return state;
  state.settings.pending = false;
  state.settings.authenticated = authenticated;
  SubscriptionDefinition definition = state.definition;
  SubscriptionSettings settings = state.settings;
  auto written = co_await write_subscription(std::move(definition), std::move(settings));
  if (!written) co_return fail(std::move(written.error()));
  co_return state;
}

const TopicService::Subscription* TopicService::subscription_at(const std::string& subscription_arn) const {
  const size_t colon = subscription_arn.rfind(':');
  if (colon == std::string::npos) return nullptr;
  const auto topic = topics_.find(topic_name(subscription_arn.substr(0, colon)));
  if (topic == topics_.end()) return nullptr;
  const auto found = topic->second.subscriptions.find(subscription_arn.substr(colon + 1));
  if (found == topic->second.subscriptions.end()) return nullptr;
  return arn_of(found->second.definition) == subscription_arn ? &found->second : nullptr;
}

SubscriptionState TopicService::state_of(const Subscription& subscription) const {
  return {arn_of(subscription.definition), subscription.definition, subscription.settings};
}

std::optional<TopicState> TopicService::find_topic(const std::string& name) const {
  const auto found = topics_.find(name);
  if (found == topics_.end()) return std::nullopt;
  TopicState state{name, found->second.settings, 0, 0};
  for (const auto& [id, subscription] : found->second.subscriptions) {
    ++(subscription.settings.pending ? state.pending : state.confirmed);
  }
  return state;
}

std::optional<SubscriptionState> TopicService::find_subscription(const std::string& subscription_arn) const {
  const Subscription* found = subscription_at(subscription_arn);
  if (!found) return std::nullopt;
  return state_of(*found);
}

std::vector<std::string> TopicService::topics_after(const std::string& name, size_t most) const {
  std::vector<std::string> names;
  for (auto at = topics_.upper_bound(name); at != topics_.end() && names.size() < most; ++at)
    names.push_back(at->first);
  return names;
}

std::vector<SubscriptionState> TopicService::subscriptions_after(const std::string& topic, const std::string& arn,
                                                                 size_t most) const {
  std::vector<SubscriptionState> states;
  const size_t colon = arn.rfind(':');
  const std::string after_topic = colon == std::string::npos ? std::string() : topic_name(arn.substr(0, colon));
  const std::string after_id = colon == std::string::npos ? std::string() : arn.substr(colon + 1);
  auto at = topics_.lower_bound(topic.empty() ? after_topic : topic);
  for (; at != topics_.end() && states.size() < most; ++at) {
    if (!topic.empty() && at->first != topic) break;
    const auto& there = at->second.subscriptions;
    auto one = at->first == after_topic ? there.upper_bound(after_id) : there.begin();
    for (; one != there.end() && states.size() < most; ++one) states.push_back(state_of(one->second));
  }
  return states;
}

}  // namespace freshet
