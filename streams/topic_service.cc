#include "streams/topic_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/crypto.h"
#include "base/let_others_in.h"
#include "base/limits.h"
#include "base/url.h"
#include "streams/system_table.h"
#include "streams/topic_fan_out.h"
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
    const std::string name = function_name(s.endpoint);
    if (!is_name(plain_name(name))) {
      return invalid(fmt::format("Invalid parameter: Endpoint: \"{}\" names no function", s.endpoint));
    }
    return {};
  }
  if (s.protocol != "http" && s.protocol != "https") {
    return invalid(
        fmt::format("Invalid parameter: Protocol \"{}\" is not supported; lambda, http and https are", s.protocol));
  }
  const auto url = parse_url(s.endpoint);
  if (!url) return invalid("Invalid parameter: Endpoint: " + url.error().message);
  if (url->tls == (s.protocol == "https")) return {};
  return invalid(fmt::format("Invalid parameter: Endpoint: the protocol is {}, the URL does not match it", s.protocol));
}

TopicDefinition definition_of(const std::string& name, const TopicSettings& settings) {
  const auto& set = settings.attributes;
  const auto scope = set.find("FifoThroughputScope");
  return {name, set.contains("ContentBasedDeduplication"), scope != set.end() && scope->second == "MessageGroup"};
}

// Names the group of all messages that wait for one target; short enough for a string without allocation.
std::string delivery_group(const std::string& subscription_arn, const std::string& group_id) {
  return sha256_hex(subscription_arn + ' ' + group_id).substr(0, 15);
}

// The bound on the work of all filter policies for one message.
constexpr size_t kMaxPublishWork = 50'000'000;
// The work on a publish before other work gets its turn: steps of filter policies, and bytes of events.
constexpr size_t kPieceWork = 100'000;
constexpr size_t kPieceBytes = 1u << 20;
// The payloads of a larger message are made when they are written, a group at a time.
constexpr size_t kLargeMessage = 4u << 10;

auto too_much_to_filter(const std::string& subscription_arn) {
  return invalid(fmt::format(
      "Invalid parameter: Message Reason: the filter policies of the topic would have to look at too much of it, at "
      "the latest that of {}",
      subscription_arn));
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

TopicService::TopicService(Tables& tables, Scheduler& scheduler, Random& random, WallGuard& wall, DeliveryQueue& queue,
                           Account account)
    : tables_(tables),
      scheduler_(scheduler),
      random_(random),
      wall_(wall),
      queue_(queue),
      account_(std::move(account)) {}

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
  if (!subscription) return;
  subscription->settings = settings;
  if (topic == topics_.end()) {
    without_topic_[definition.topic].insert_or_assign(definition.id, std::move(*subscription));
    return;
  }
  topic->second.subscriptions.insert_or_assign(definition.id, std::move(*subscription));
}

Async<Result<void>> TopicService::load() {
  auto topics = co_await load_system_items(tables_, std::string(kTopicKind));
  if (!topics) co_return fail(std::move(topics.error()));
  for (const ItemRef& item : *topics) {
    const Item record = item.decode();
    become(topics_[std::string(record.string_or("id"))], topic_settings_of(record));
  }
  auto sequences = co_await load_system_items(tables_, std::string(kSequenceKind));
  if (!sequences) co_return fail(std::move(sequences.error()));
  for (const ItemRef& item : *sequences) {
    const Item record = item.decode();
    const auto topic = topics_.find(std::string(record.string_or("id")));
    if (topic != topics_.end() && topic->second.fifo) topic->second.fifo->record = fifo_record_of(record);
  }
  auto subscriptions = co_await load_system_items(tables_, std::string(kSubscriptionKind));
  if (!subscriptions) co_return fail(std::move(subscriptions.error()));
  for (const ItemRef& item : *subscriptions) {
    const Item record = item.decode();
    accept(subscription_of(record), subscription_settings_of(record));
  }
  if (fleet_) fleet_->topics_changed();
  co_return Result<void>();
}

Result<void> TopicService::check(const TopicDefinition& topic) {
  if (is_name(topic.name)) return {};
  return invalid(fmt::format("Invalid parameter: Topic Name \"{}\"", topic.name));
}

Result<void> TopicService::check(const SubscriptionDefinition& subscription) {
  if (!is_name(subscription.id)) {
    return invalid(fmt::format("Invalid parameter: subscription id \"{}\"", subscription.id));
  }
  auto compiled = compile(subscription);
  if (!compiled) return fail(std::move(compiled.error()));
  return {};
}

Async<Result<void>> TopicService::put_topic(TopicDefinition topic) {
  return changes_.run<Result<void>>([this, topic = std::move(topic)] { return put_topic_now(topic); });
}

Async<Result<void>> TopicService::put_topic_now(TopicDefinition topic) {
  if (auto good = check(topic); !good) co_return good;
  const auto known = topics_.find(topic.name);
  const bool fifo = topic.name.ends_with(kFifoSuffix);
  if (known != topics_.end() && (known->second.fifo != nullptr) == fifo &&
      definition_of(topic.name, known->second.settings) == topic) {
    co_return Result<void>();
  }
  TopicSettings settings;
  if (known != topics_.end()) settings = known->second.settings;
  const auto set = [&](const char* attribute, bool wanted, const char* value) {
    settings.attributes.erase(attribute);
    if (wanted) settings.attributes[attribute] = value;
  };
  set("FifoTopic", fifo, "true");
  set("ContentBasedDeduplication", topic.content_deduplication, "true");
  set("FifoThroughputScope", topic.group_deduplication, "MessageGroup");
  auto written = co_await write_topic(std::move(topic.name), std::move(settings));
  co_return written;
}

Async<Result<std::vector<std::string>>> TopicService::remove_topic(std::string name) {
  return changes_.run<Result<std::vector<std::string>>>(
      [this, name = std::move(name)] { return remove_topic_now(name); });
}

Async<Result<std::vector<std::string>>> TopicService::remove_topic_now(std::string name) {
  const auto topic = topics_.find(name);
  if (topic == topics_.end()) co_return no_topic();
  // The topic is removed last: if a crash or an error comes between two groups, nothing remains that a new topic with
  // this name would inherit.
  std::vector<WriteInput> writes;
  std::vector<std::string> gone;
  for (const auto& [id, subscription] : topic->second.subscriptions) {
    gone.push_back(arn_of(subscription.definition));
    writes.emplace_back(delete_system_item(kSubscriptionKind, gone.back()));
  }
  const bool is_fifo = topic->second.fifo != nullptr;
  if (is_fifo) writes.emplace_back(delete_system_item(kSequenceKind, name));
  writes.emplace_back(delete_system_item(kTopicKind, name));
  DefinitionName what = topic_named(name);
  auto written = co_await write_definition(std::move(what), std::move(writes));
  if (!written) co_return fail(std::move(written.error()));
  topics_.erase(name);
  if (fleet_ && is_fifo) fleet_->topics_changed();
  co_return gone;
}

Async<Result<std::string>> TopicService::subscribe(SubscriptionDefinition subscription) {
  return changes_.run<Result<std::string>>(
      [this, subscription = std::move(subscription)] { return subscribe_now(subscription); });
}

Async<Result<std::string>> TopicService::subscribe_now(SubscriptionDefinition subscription) {
  subscription.topic = topic_name(subscription.topic);
  if (!has_topic(subscription.topic)) co_return no_topic();
  if (subscription.id.empty()) subscription.id = random_.uuid();
  if (auto good = check(subscription); !good) co_return fail(std::move(good.error()));
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
  return changes_.run<Result<void>>([this, arn = std::move(subscription_arn)] { return unsubscribe_now(arn); });
}

Async<Result<void>> TopicService::unsubscribe_now(std::string subscription_arn) {
  const Subscription* subscription = subscription_at(subscription_arn);
  if (!subscription) {
    // It may wait for its topic.
    const size_t colon = std::min(subscription_arn.rfind(':'), subscription_arn.size());
    const auto waiting = without_topic_.find(topic_name(subscription_arn.substr(0, colon)));
    if (waiting == without_topic_.end() || colon == subscription_arn.size() ||
        !waiting->second.contains(subscription_arn.substr(colon + 1))) {
      co_return no_subscription();
    }
    std::vector<WriteInput> writes{delete_system_item(kSubscriptionKind, subscription_arn)};
    DefinitionName what = subscription_named(subscription_arn);
    auto written = co_await write_definition(std::move(what), std::move(writes));
    if (written) forget_subscription(subscription_arn);
    co_return written;
  }
  const std::string topic_key = subscription->definition.topic;
  const std::string key = subscription->definition.id;
  TopicSettings& settings = topics_.at(topic_key).settings;
  ++settings.deleted;
  std::vector<WriteInput> writes{put_system_item(topic_item(topic_key, settings)),
                                 delete_system_item(kSubscriptionKind, subscription_arn)};
  DefinitionName what = subscription_named(subscription_arn);
  auto written = co_await write_definition(std::move(what), std::move(writes));
  const auto found = topics_.find(topic_key);
  if (found == topics_.end()) co_return written;
  if (written) {
    found->second.subscriptions.erase(key);
  } else if (found->second.settings.deleted > 0) {
    --found->second.settings.deleted;
  }
  co_return written;
}

std::vector<TopicDefinition> TopicService::topics() const {
  std::vector<TopicDefinition> all;
  for (const auto& [name, topic] : topics_) all.push_back(definition_of(name, topic.settings));
  return all;
}

std::vector<SubscriptionDefinition> TopicService::subscriptions() const {
  std::vector<SubscriptionDefinition> all;
  for (const auto& [name, topic] : topics_) {
    for (const auto& [id, subscription] : topic.subscriptions) all.push_back(subscription.definition);
  }
  return all;
}

std::string TopicService::unsubscribe_url(const Subscription& subscription) const {
  const SubscriptionSettings& settings = subscription.settings;
  if (settings.server.empty() || settings.authenticated) return {};
  return fmt::format("{}/?Action=Unsubscribe&SubscriptionArn={}&Token={}", settings.server,
                     arn_of(subscription.definition), settings.token);
}

namespace {

std::string payload_in(const TopicMessage& message, const PayloadShape& shape) {
  const auto own = message.by_protocol.find(shape.protocol);
  if (own != message.by_protocol.end()) {
    TopicMessage other{message.id, message.at, message.content, {}, message.sequence_number};
    other.content.message = own->second;
    return payload_in(other, shape);
  }
  if (shape.protocol == "lambda") return topic_event(message, shape.subscription_arn);
  return shape.raw ? message.content.message : topic_notification(message, shape.unsubscribe_url);
}

bool is_large(const TopicMessage& message) {
  return message.content.message.size() > kLargeMessage ||
         std::any_of(message.by_protocol.begin(), message.by_protocol.end(),
                     [](const auto& own) { return own.second.size() > kLargeMessage; });
}

}  // namespace

Delivery TopicService::delivery_to(const Subscription& subscription, FanOut& out) const {
  const SubscriptionDefinition& definition = subscription.definition;
  const std::string arn = arn_of(definition);
  Delivery delivery{delivery_target(definition, arn), {}};
  PayloadShape shape{definition.protocol, definition.raw_delivery, {}};
  if (!is_endpoint(definition)) {
    shape.subscription_arn = arn;
  } else if (!definition.raw_delivery) {
    shape.unsubscribe_url = unsubscribe_url(subscription);
  }
  if (is_large(*out.message)) {
    size_t& bare = out.bare_bytes[{shape.protocol, shape.raw}];
    if (bare == 0) bare = payload_in(*out.message, {shape.protocol, shape.raw, {}}).size();
    delivery.late_bytes = bare + shape.subscription_arn.size() + shape.unsubscribe_url.size();
    delivery.late_payload = [message = out.message, shape = std::move(shape)] { return payload_in(*message, shape); };
  } else {
    delivery.payload = payload_in(*out.message, shape);
  }
  delivery.trace_id = out.trace_id;
  // The endpoint learns the message's id from it.
  if (is_endpoint(definition)) delivery.request_id = out.message->id;
  const std::string& group = out.message->content.group_id;
  if (!group.empty()) delivery.group = delivery_group(arn, group);
  if (fleet_ && !group.empty()) delivery.topic = &definition.topic;
  return delivery;
}

Result<bool> TopicService::fan_out(const Topic& topic, FanOut& out) {
  const size_t work_before = out.work;
  size_t bytes = 0;
  for (auto at = topic.subscriptions.upper_bound(out.last_id); at != topic.subscriptions.end(); ++at) {
    if (out.work - work_before >= kPieceWork || bytes >= kPieceBytes) return false;
    const Subscription& subscription = at->second;
    const SubscriptionDefinition& definition = subscription.definition;
    out.last_id = at->first;
    if (subscription.settings.pending) continue;
    const size_t most = std::min(kMaxMatchWork, kMaxPublishWork - out.work);
    MatchWork work(most);
    const bool passes = out.filterable.passes(subscription.filter, definition.filter_on_body, work);
    if (work.spent()) return too_much_to_filter(arn_of(definition));
    out.work += most - work.left();
    if (!passes) {
      ++stats_.filtered;
      continue;
    }
    Delivery delivery = delivery_to(subscription, out);
    bytes += delivery.payload.size();
    auto event = queue_.prepare(std::move(delivery));
    if (event) {
      out.events.push_back(std::move(*event));
    } else if (event.error().code == ErrorCode::kResourceNotFound) {
      ++stats_.undeliverable;
    } else {
      return fail(std::move(event.error()));
    }
  }
  return true;
}

Async<Result<void>> TopicService::fan_out_all(FanOut& out, std::shared_ptr<Fifo> fifo) {
  const std::string name = topic_name(out.message->content.topic_arn);
  for (;;) {
    const auto topic = topics_.find(name);
    if (topic == topics_.end() || topic->second.fifo != fifo) co_return no_topic();
    auto done = fan_out(topic->second, out);
    if (!done) co_return fail(std::move(done.error()));
    if (*done) co_return Result<void>();
    co_await let_others_in(scheduler_);
  }
}

Result<TopicMessage> TopicService::message_of(PublishInput input, MessageByProtocol by_protocol, size_t most_bytes) {
  if (auto good = validate(input, most_bytes); !good) return fail(std::move(good.error()));
  const auto topic = topics_.find(topic_name(input.topic_arn));
  if (topic == topics_.end()) return no_topic();
  if (topic->second.fifo) {
    return invalid(fmt::format("Invalid parameter: {} is a FIFO topic, which cannot be a destination", topic->first));
  }
  for (const auto& [parameter, id] :
       {std::pair("MessageGroupId", &input.group_id), std::pair("MessageDeduplicationId", &input.deduplication_id)}) {
    if (id->empty()) continue;
    return invalid(fmt::format(
        "Invalid parameter: {0} Reason: The request includes {0} parameter that is not valid for this topic type",
        parameter));
  }
  input.topic_arn = topic_arn(account_, topic->first);
  return TopicMessage{random_.uuid(), scheduler_.clock().wall(), std::move(input), std::move(by_protocol)};
}

Async<Result<PreparedPublish>> TopicService::prepare(PublishInput input, MessageByProtocol by_protocol,
                                                     size_t most_bytes) {
  auto message = message_of(std::move(input), std::move(by_protocol), most_bytes);
  if (!message) co_return fail(std::move(message.error()));
  FanOut out(std::move(*message), queue_.trace_at_work());
  std::shared_ptr<Fifo> standard;
  auto done = co_await fan_out_all(out, std::move(standard));
  if (!done) co_return fail(std::move(done.error()));
  for (PreparedEvent& event : out.events) event.complete();  // All of them are written at once.
  co_return PreparedPublish{out.message->id, std::move(out.events)};
}

Async<Result<std::string>> TopicService::publish(PublishInput input) {
  MessageByProtocol none;
  auto published = co_await publish(std::move(input), std::move(none));
  if (!published) co_return fail(std::move(published.error()));
  co_return std::move(published->message_id);
}

Async<Result<Published>> TopicService::publish(PublishInput input, MessageByProtocol by_protocol) {
  if (const auto topic = topics_.find(topic_name(input.topic_arn)); topic != topics_.end() && topic->second.fifo) {
    if (fleet_ && !serving_.contains(topic->first)) {
      std::string name = topic->first;
      auto elsewhere = co_await fleet_->publish(std::move(name), std::move(input), std::move(by_protocol));
      co_return elsewhere;
    }
    std::shared_ptr<Fifo> fifo = topic->second.fifo;
    auto in_turn = co_await publish_in_turn(std::move(fifo), std::move(input), std::move(by_protocol));
    co_return in_turn;
  }
  auto message = message_of(std::move(input), std::move(by_protocol), limits::kMaxMessageBytes);
  if (!message) co_return fail(std::move(message.error()));
  FanOut out(std::move(*message), queue_.trace_at_work());
  std::shared_ptr<Fifo> standard;
  auto done = co_await fan_out_all(out, std::move(standard));
  if (!done) co_return fail(std::move(done.error()));
  const size_t count = out.events.size();
  std::vector<WriteInput> none;
  auto written = co_await write(std::move(out.events), none, none);
  if (!written) co_return fail(std::move(written.error()));
  ++stats_.published;
  stats_.deliveries += count;
  co_return Published{out.message->id};
}

size_t take_events(std::vector<PreparedEvent>& events, size_t first, size_t most, size_t most_bytes,
                   std::vector<WriteInput>& writes) {
  size_t bytes = 0;
  size_t last = first;
  for (; last < events.size() && writes.size() < most; ++last) {
    events[last].complete();
    const size_t size = size_of(events[last].write);
    if (last > first && bytes + size > most_bytes) break;
    bytes += size;
    writes.push_back(std::move(events[last].write));
  }
  return last;
}

Async<Result<void>> TopicService::write(std::vector<PreparedEvent> events, std::vector<WriteInput> before,
                                        std::vector<WriteInput> after) {
  std::vector<WriteInput> writes = std::move(before);
  size_t first = 0;
  for (size_t last = 0;; first = last) {
    // No larger than a client may write at a time: a store that is nearly full keeps that much space.
    last =
        take_events(events, first, limits::kMaxTransactionActions - after.size(), limits::kMaxTransactionBytes, writes);
    if (last == events.size()) std::move(after.begin(), after.end(), std::back_inserter(writes));
    if (writes.empty()) break;
    auto written = co_await write_together(tables_, std::move(writes));
    // Messages that were written before are delivered all the same, and again when the publisher tries again.
    if (!written) co_return fail(std::move(written.error()));
    writes.clear();
    for (size_t i = first; i < last; ++i) events[i].logged();
    if (last == events.size()) break;
    co_await let_others_in(scheduler_);
  }
  co_return Result<void>();
}

}  // namespace freshet
