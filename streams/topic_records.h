// Topics and subscriptions as items of the system table (docs/formats.md, "System tables"). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "streams/subscription.h"
#include "tables/value/value.h"

namespace freshet {

inline constexpr std::string_view kTopicKind = "topic";                // The id is the name.
inline constexpr std::string_view kSubscriptionKind = "subscription";  // The id is the ARN.

Item topic_item(const std::string& name, const TopicSettings& settings);
TopicSettings topic_settings_of(const Item& item);

Item subscription_item(const SubscriptionDefinition& subscription, const SubscriptionSettings& settings,
                       const std::string& arn);
SubscriptionDefinition subscription_of(const Item& item);
SubscriptionSettings subscription_settings_of(const Item& item);

}  // namespace freshet
