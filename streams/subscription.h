// What a topic and a subscription are. Value types; kept as items of the system table (docs/formats.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace freshet {

// The names of FIFO topics, and of no others, end so. Their settings have the attribute FifoTopic.
inline constexpr std::string_view kFifoSuffix = ".fifo";

struct TopicDefinition {
  std::string name;
  bool content_deduplication = false;  // FIFO: ContentBasedDeduplication.
  bool group_deduplication = false;    // FIFO: FifoThroughputScope MessageGroup instead of Topic.
  bool operator==(const TopicDefinition&) const = default;
};

// What clients set of a topic; templates leave it as it is, but for what their definition says.
struct TopicSettings {
  std::map<std::string, std::string> attributes;  // Those of SetTopicAttributes that are not at their default.
  std::map<std::string, std::string> tags;
  uint64_t deleted = 0;  // Subscriptions that it had; no client sets that.
  bool operator==(const TopicSettings&) const = default;
};

struct SubscriptionDefinition {
  std::string id;               // Last part of its ARN. Empty: one is made. The same id again replaces.
  std::string topic;            // Name or ARN.
  std::string protocol;         // "lambda", "http" or "https".
  std::string endpoint;         // Function name or ARN; or the absolute URL.
  std::string filter_policy;    // JSON; empty for every message.
  bool filter_on_body = false;  // FilterPolicyScope: MessageBody instead of MessageAttributes.
  bool raw_delivery = false;    // http, https: the message alone is the body.
  bool operator==(const SubscriptionDefinition&) const = default;
};

// What clients bring about of a subscription; one that a template made has the defaults.
struct SubscriptionSettings {
  bool pending = false;         // Its endpoint has not confirmed yet: nothing is delivered to it.
  std::string token;            // That the endpoint confirms with; stays, so that it may do so again, and unsubscribe.
  std::string server;           // http[s]://HOST:PORT that the endpoint reaches this server at; or empty.
  bool authenticated = false;   // AuthenticateOnUnsubscribe: the token does not do for that.
  std::string delivery_policy;  // JSON; kept and shown, without effect.
  bool operator==(const SubscriptionSettings&) const = default;
};

}  // namespace freshet
