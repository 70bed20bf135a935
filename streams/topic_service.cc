#include "streams/topic_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/url.h"
#include "streams/system_table.h"
#include "streams/topic_settings.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

bool is_endpoint(const SubscriptionDefinition& subscription) {
  return subscription.protocol != "lambda";
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > 256) return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
         std::string_view::npos;
}

auto no_topic() {
  return fail(ErrorCode::kNotFound, "Topic does not exist");
}

auto no_subscription() {
  return fail(ErrorCode::kNotFound, "Subscription does not exist");
}

Result<void> check_endpoint(const SubscriptionDefinition& s) {
  if (s.protocol == "lambda") {
    if (!is_name(function_name(s.endpoint))) {
      return invalid(fmt::format("Invalid parameter: Endpoint: \"{}\" names no function", s.endpoint));
    }
    return {};
  }
  if (s.protocol != "http") {
    return invalid(fmt::format("Invalid parameter: Protocol \"{}\" is not supported; lambda and http are", s.protocol));
  }
  if (auto url = parse_url(s.endpoint); !url) return invalid("Invalid parameter: Endpoint: " + url.error().message);
  return {};
}

size_t size_of(const WriteInput& write) {
  const auto* put = std::get_if<PutItemInput>(&write);
  return put ? billed_size(put->item) : 0;
}

}  // namespace

std::string delivery_target(const SubscriptionDefinition& subscription, const std::string& subscription_arn) {
  return is_endpoint(subscription) ? subscription_arn : function_name(subscription.endpoint);
}

std::string confirmation_target(const std::string& subscription_arn) {
  return subscription_arn + std::string(kConfirmationSuffix);
}

TopicService::TopicService(Tables& tables, const Clock& clock, Random& random, DeliveryQueue& queue, Account account)
    : tables_(tables), clock_(clock), random_(random), queue_(queue), account_(std::move(account)) {}

std::string TopicService::arn_of(const SubscriptionDefinition& subscription) const {
  return topic_arn(account_, subscription.topic) + ":" + subscription.id;
}

Result<TopicService::Subscription> TopicService::compile(SubscriptionDefinition definition) {
  if (auto good = check_endpoint(definition); !good) return fail(std::move(good.error()));
  Subscription subscription;
  if (!definition.filter_policy.empty()) {
    auto filter = Pattern::parse(definition.filter_policy);
    if (!filter) return invalid("Invalid parameter: FilterPolicy: " + filter.error().message);
    subscription.filter = std::move(*filter);
  }
  subscription.definition = std::move(definition);
  return subscription;
}

void TopicService::accept(const SubscriptionDefinition& definition, const SubscriptionSettings& settings) {
  const auto topic = topics_.find(definition.topic);
  auto subscription = compile(definition);
  if (topic == topics_.end() || !subscription) return;
  subscription->settings = settings;
  topic->second.subscriptions.insert_or_assign(definition.id, std::move(*subscription));
}

Async<Result<void>> TopicService::load() {
  auto topics = co_await load_system_items(tables_, std::string(kTopicKind));
  if (!topics) co_return fail(std::move(topics.error()));
  for (const ItemRef& item : *topics) {
    const Item record = item.decode();
    std::string name(record.string_or("id"));
    Topic& topic = topics_[name];
    topic.definition.name = name;
    topic.settings = topic_settings_of(record);
  }
  auto subscriptions = co_await load_system_items(tables_, std::string(kSubscriptionKind));
  if (!subscriptions) co_return fail(std::move(subscriptions.error()));
  for (const ItemRef& item : *subscriptions) {
    const Item record = item.decode();
    accept(subscription_of(record), subscription_settings_of(record));
  }
  co_return Result<void>();
}

Async<Result<void>> TopicService::put_topic(TopicDefinition topic) {
  if (!is_name(topic.name)) co_return invalid(fmt::format("Invalid parameter: Topic Name \"{}\"", topic.name));
  if (has_topic(topic.name)) co_return Result<void>();
  std::string name = topic.name;
  auto written = co_await write_topic(std::move(name), {});
  co_return written;
}

Async<Result<void>> TopicService::remove_topic(std::string name) {
  const auto topic = topics_.find(name);
  if (topic == topics_.end()) co_return no_topic();
  std::vector<WriteInput> writes{delete_system_item(kTopicKind, name)};
  for (const auto& [id, subscription] : topic->second.subscriptions) {
    writes.emplace_back(delete_system_item(kSubscriptionKind, arn_of(subscription.definition)));
  }
  auto written = co_await write_together(tables_, std::move(writes));
  if (!written) co_return written;
  topics_.erase(name);
  co_return Result<void>();
}

Async<Result<std::string>> TopicService::subscribe(SubscriptionDefinition subscription) {
  subscription.topic = topic_name(subscription.topic);
  if (!has_topic(subscription.topic)) co_return no_topic();
  if (subscription.id.empty()) subscription.id = random_.uuid();
  if (!is_name(subscription.id)) {
    co_return invalid(fmt::format("Invalid parameter: subscription id \"{}\"", subscription.id));
  }
  auto compiled = compile(subscription);
  if (!compiled) co_return fail(std::move(compiled.error()));
  const std::string arn = arn_of(subscription);
  const auto& known = topics_[subscription.topic].subscriptions;
  const auto same = known.find(subscription.id);
  if (same != known.end() && same->second.definition == subscription) co_return arn;
  SubscriptionSettings settings;
  if (same != known.end()) settings = same->second.settings;
  auto written = co_await write_subscription(std::move(subscription), std::move(settings));
  if (!written) co_return fail(std::move(written.error()));
  co_return arn;
}

Async<Result<void>> TopicService::unsubscribe(std::string subscription_arn) {
  const Subscription* subscription = subscription_at(subscription_arn);
  if (!subscription) co_return no_subscription();
  const std::string topic_key = subscription->definition.topic;
  const std::string key = subscription->definition.id;
  DeleteItemInput input = delete_system_item(kSubscriptionKind, subscription_arn);
  auto written = co_await tables_.delete_item(std::move(input));
  if (!written) co_return fail(std::move(written.error()));
  if (const auto found = topics_.find(topic_key); found != topics_.end()) found->second.subscriptions.erase(key);
  co_return Result<void>();
}

std::vector<TopicDefinition> TopicService::topics() const {
  std::vector<TopicDefinition> all;
  for (const auto& [name, topic] : topics_) all.push_back(topic.definition);
  return all;
}

std::vector<SubscriptionDefinition> TopicService::subscriptions() const {
  std::vector<SubscriptionDefinition> all;
  for (const auto& [name, topic] : topics_) {
    for (const auto& [id, subscription] : topic.subscriptions) all.push_back(subscription.definition);
  }
  return all;
}

bool TopicService::passes(const Subscription& subscription, const PublishInput& input) {
  if (!subscription.filter) return true;
  if (!subscription.definition.filter_on_body) return subscription.filter->matches(filterable_attributes(input));
  const auto body = parse_plain_json(input.message);
  const Map* map = body ? body->get_if<Map>() : nullptr;
  return map && subscription.filter->matches(*map);
}

std::string TopicService::payload_for(const Subscription& subscription, const TopicMessage& message) const {
  const SubscriptionDefinition& definition = subscription.definition;
  const auto own = message.by_protocol.find(definition.protocol);
  if (own != message.by_protocol.end()) {
    TopicMessage other{message.id, message.at, message.content};
    other.content.message = own->second;
    return payload_for(subscription, other);
  }
  if (!is_endpoint(definition)) return topic_event(message, arn_of(definition));
  return definition.raw_delivery ? message.content.message : topic_notification(message);
}

Result<PreparedPublish> TopicService::prepare(PublishInput input, MessageByProtocol by_protocol) {
  if (auto good = validate(input); !good) return fail(std::move(good.error()));
  const auto topic = topics_.find(topic_name(input.topic_arn));
  if (topic == topics_.end()) return no_topic();
  input.topic_arn = topic_arn(account_, topic->first);
  const TopicMessage message{random_.uuid(), clock_.wall(), std::move(input), std::move(by_protocol)};
  PreparedPublish prepared{message.id, {}};
  for (const auto& [id, subscription] : topic->second.subscriptions) {
    const SubscriptionDefinition& definition = subscription.definition;
    if (subscription.settings.pending) continue;
    if (!passes(subscription, message.content)) {
      ++stats_.filtered;
      continue;
    }
    const std::string arn = arn_of(definition);
    auto event = queue_.prepare(delivery_target(definition, arn), payload_for(subscription, message));
    if (event) {
      prepared.events.push_back(std::move(*event));
    } else if (event.error().code == ErrorCode::kResourceNotFound) {
      ++stats_.undeliverable;
    } else {
      return fail(std::move(event.error()));
    }
  }
  return prepared;
}

Async<Result<std::string>> TopicService::publish(PublishInput input) {
  return publish(std::move(input), {});
}

Async<Result<std::string>> TopicService::publish(PublishInput input, MessageByProtocol by_protocol) {
  auto prepared = prepare(std::move(input), std::move(by_protocol));
  if (!prepared) co_return fail(std::move(prepared.error()));
  std::vector<PreparedEvent>& events = prepared->events;
  for (size_t first = 0, last = 0; first < events.size(); first = last) {
    std::vector<WriteInput> writes;
    // No larger than what clients may write at a time: a store that is nearly full has space for that first.
    size_t bytes = 0;
    for (; last < events.size() && writes.size() < limits::kMaxTransactionActions; ++last) {
      const size_t size = size_of(events[last].write);
      if (!writes.empty() && bytes + size > limits::kMaxTransactionBytes) break;
      bytes += size;
      writes.push_back(std::move(events[last].write));
    }
    auto written = co_await write_together(tables_, std::move(writes));
    // What was written before is delivered all the same, and again when the publisher tries again.
    if (!written) co_return fail(std::move(written.error()));
    for (size_t i = first; i < last; ++i) events[i].logged();
  }
  ++stats_.published;
  stats_.deliveries += prepared->events.size();
  co_return std::move(prepared->message_id);
}

}  // namespace freshet
