// Reads AWS::SNS::Topic, AWS::SNS::Subscription and a function's SNS event.
#include "base/crypto.h"
#include "base/url.h"
#include "runtime/deploy/builder.h"
#include "runtime/deploy/plan.h"
#include "streams/arn.h"

namespace freshet {
namespace {

// Reports an endpoint to which nothing can be delivered.
void check_endpoint(Properties& properties, const SubscriptionDefinition& subscription) {
  if (subscription.protocol == "lambda" || subscription.endpoint.empty()) return;
  const auto url = parse_url(subscription.endpoint);
  if (!url) return properties.error("Endpoint", url.error().message);
  if (url->tls == (subscription.protocol == "https")) return;
  properties.error("Endpoint", "the protocol is " + subscription.protocol + ", the URL does not match it");
}

void read_fifo(Properties& properties, TopicDefinition& topic) {
  const bool fifo = properties.boolean("FifoTopic").value_or(false);
  const bool named = topic.name.ends_with(kFifoSuffix);
  if (fifo && !named) {
    properties.error("FifoTopic",
                     "names of FIFO topics end with .fifo; this one is '" + topic.name + "': give it a TopicName");
  } else if (named && !fifo) {
    properties.error("FifoTopic", "only names of FIFO topics end with .fifo; this one is '" + topic.name +
                                      "': set FifoTopic to true, or another TopicName");
  }
  topic.content_deduplication = properties.boolean("ContentBasedDeduplication").value_or(false);
  topic.group_deduplication =
      properties.choice("FifoThroughputScope", {"Topic", "MessageGroup"}) == std::optional<std::string>("MessageGroup");
  if (!fifo && (topic.content_deduplication || topic.group_deduplication)) {
    properties.error(topic.content_deduplication ? "ContentBasedDeduplication" : "FifoThroughputScope",
                     "only FIFO topics (FifoTopic: true) have it");
  }
}

}  // namespace

void DeploymentBuilder::read_filter(Properties& properties, SubscriptionDefinition& subscription) {
  if (const Node* policy = properties.take("FilterPolicy")) {
    subscription.filter_policy = policy->is_scalar() ? policy->text : to_json(*policy);
  }
  auto scope = properties.choice("FilterPolicyScope", {"MessageAttributes", "MessageBody"});
  subscription.filter_on_body = scope == "MessageBody";
  properties.no_effect({"RedrivePolicy"}, "set the function's on-failure destination instead");
  properties.no_effect({"Region"}, "there is one region");
}

void DeploymentBuilder::add_topic(const Resource& resource, Properties& properties) {
  properties.ignore({"TopicName"});
  properties.no_effect({"Tags"}, kNoTags);
  properties.no_effect({"DisplayName"}, "there is no e-mail or text message to show it");
  TopicDefinition topic{resource.name};
  read_fifo(properties, topic);
  properties.no_effect({"KmsMasterKeyId"}, "nothing is encrypted at rest");
  warn_of_traces(properties, "TracingConfig", properties.text("TracingConfig") == "Active");
  properties.no_effect({"SignatureVersion"}, "messages are not signed");
  properties.no_effect({"DeliveryStatusLogging"}, "deliveries are in the daemon's log and /metrics");
  properties.no_effect({"DataProtectionPolicy", "ArchivePolicy"}, "messages are not kept or inspected");
  names_.push_back({"topic " + resource.name, resource.id, resource.line});
  out_.topics.push_back(std::move(topic));
  properties.each("Subscription", [&](Properties& entry) {
    SubscriptionDefinition subscription;
    subscription.topic = resource.name;
    entry.required_text("Protocol");
    subscription.protocol = entry.choice("Protocol", {"lambda", "http", "https"}).value_or("");
    subscription.endpoint = subscription.protocol == "lambda" ? reference(Kind::kFunction, entry, "Endpoint")
                                                              : entry.required_text("Endpoint");
    check_endpoint(entry, subscription);
    // The position in the list is not used: events that wait for an endpoint stay when another endpoint is removed.
    const std::string begin = resource.id + "Subscription";
    subscription.id = begin + sha256_hex(subscription.protocol + ' ' + endpoint_name(subscription)).substr(0, 12);
    out_.listed_subscriptions[subscription_name(subscription)] = begin;
    keep_subscription(entry, std::move(subscription), "; name each endpoint once");
  });
}

void DeploymentBuilder::keep_subscription(Properties& properties, SubscriptionDefinition subscription,
                                          std::string_view hint) {
  names_.push_back(
      {"subscription " + subscription_name(subscription), properties.where().resource, properties.line(), hint});
  out_.subscriptions.push_back(std::move(subscription));
}

void DeploymentBuilder::add_subscription(const Resource& resource, Properties& properties) {
  SubscriptionDefinition subscription;
  subscription.id = resource.name;
  subscription.topic = topic_name(reference(Kind::kTopic, properties, "TopicArn"));
  properties.required_text("Protocol");
  subscription.protocol = properties.choice("Protocol", {"lambda", "http", "https"}).value_or("");
  subscription.endpoint = subscription.protocol == "lambda"
                              ? function_name(reference(Kind::kFunction, properties, "Endpoint"))
                              : properties.required_text("Endpoint");
  check_endpoint(properties, subscription);
  subscription.raw_delivery = properties.boolean("RawMessageDelivery").value_or(false);
  read_filter(properties, subscription);
  properties.no_effect({"DeliveryPolicy"}, "deliveries are retried with the daemon's own backoff");
  properties.no_effect({"SubscriptionRoleArn"}, "access is not checked by role");
  properties.no_effect({"ReplayPolicy"}, "messages are not archived");
  keep_subscription(properties, std::move(subscription), "; give it another logical id");
}

void DeploymentBuilder::read_topic_event(Properties& properties, SubscriptionDefinition subscription) {
  subscription.topic = topic_name(reference(Kind::kTopic, properties, "Topic"));
  subscription.protocol = "lambda";
  read_filter(properties, subscription);
  const Node* queue = properties.take("SqsSubscription");
  if (queue && queue->text != "false") properties.error("SqsSubscription", "there are no SQS queues here");
  keep_subscription(properties, std::move(subscription), kIdOfEvent);
}

}  // namespace freshet
