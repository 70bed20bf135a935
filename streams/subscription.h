// What a topic and a subscription are. Value types; kept as items of the system table (docs/formats.md).
#pragma once

#include <string>

namespace freshet {

struct TopicDefinition {
  std::string name;
  bool operator==(const TopicDefinition&) const = default;
};

struct SubscriptionDefinition {
  std::string id;               // Last part of its ARN. Empty: one is made. The same id again replaces.
  std::string topic;            // Name or ARN.
  std::string protocol;         // "lambda" or "http".
  std::string endpoint;         // Function name or ARN; or the absolute URL.
  std::string filter_policy;    // JSON; empty for every message.
  bool filter_on_body = false;  // FilterPolicyScope: MessageBody instead of MessageAttributes.
  bool raw_delivery = false;    // http: the message alone is the body.
  bool operator==(const SubscriptionDefinition&) const = default;
};

}  // namespace freshet
