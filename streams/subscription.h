// The definitions of topics and subscriptions. Value types, stored as items of the system table (docs/formats.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace freshet {

// The names of FIFO topics, and no others, end with this. Their settings have the attribute FifoTopic.
inline constexpr std::string_view kFifoSuffix = ".fifo";

struct TopicDefinition {
  std::string name;
  bool content_deduplication = false;  // FIFO: ContentBasedDeduplication.
  bool group_deduplication = false;    // FIFO: FifoThroughputScope MessageGroup instead of Topic.
  bool operator==(const TopicDefinition&) const = default;
};

// The settings of a topic that clients make; templates change only those in their definition.
struct TopicSettings {
  std::map<std::string, std::string> attributes;  // The attributes of SetTopicAttributes that differ from their
                                                  // defaults.
  std::map<std::string, std::string> tags;
  uint64_t deleted = 0;  // The number of deleted subscriptions; clients cannot set it.
  bool operator==(const TopicSettings&) const = default;
};

struct SubscriptionDefinition {
  std::string id;               // The last part of its ARN. Empty: one is made. A subscription with the same id is
                                // replaced.
  std::string topic;            // Name or ARN.
  std::string protocol;         // "lambda", "http" or "https".
  std::string endpoint;         // Function name or ARN; or the absolute URL.
  std::string filter_policy;    // JSON; empty: every message matches.
  bool filter_on_body = false;  // FilterPolicyScope: MessageBody instead of MessageAttributes.
  bool raw_delivery = false;    // http, https: the body is the message alone.
  bool operator==(const SubscriptionDefinition&) const = default;
};

// The settings of a subscription that clients make; one from a template has the defaults.
struct SubscriptionSettings {
  bool pending = false;         // True while its endpoint has not confirmed: nothing is delivered to it.
  std::string token;            // The token with which the endpoint confirms. It stays valid, so that the endpoint can
                                // confirm again and unsubscribe.
  std::string server;           // http[s]://HOST:PORT at which the endpoint reaches this server; or empty.
  bool authenticated = false;   // AuthenticateOnUnsubscribe: the token alone cannot unsubscribe.
  std::string delivery_policy;  // JSON; stored and shown, without effect.
  bool operator==(const SubscriptionSettings&) const = default;
};

// A subscription as clients see it.
struct SubscriptionState {
  std::string arn;
  SubscriptionDefinition definition;
  SubscriptionSettings settings;
};

// A change by a client. An error leaves the subscription as it was.
using ChangeSubscription = std::function<Result<void>(SubscriptionDefinition&, SubscriptionSettings&)>;

}  // namespace freshet
