// The settings of topics and subscriptions that clients make, by the service's names. Pure functions; all errors are
// kValidation with the service's text, limits with its name (TopicErrorName).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "streams/subscription.h"

namespace freshet {

// Detail of an error for which the service has a name of its own: "TopicLimitExceeded".
struct TopicErrorName final : ErrorDetail {
  explicit TopicErrorName(std::string_view n) : name(n) {}
  const std::string_view name;  // Static storage.
};

inline constexpr size_t kMaxTopics = 10'000;
inline constexpr size_t kMaxSubscriptionsPerTopic = 1'000;
inline constexpr size_t kMaxTopicTags = 50;
inline constexpr size_t kMaxTopicAttributeBytes = 30u << 10;  // The most bytes of one attribute.
inline constexpr size_t kMaxFilterPolicyBytes = 150u << 10;

inline constexpr size_t kMaxSubscriptionsPerFifoTopic = 100;

// 1 to 256 letters, digits, '-' and '_'; for a FIFO topic followed by kFifoSuffix.
Result<void> check_topic_name(const std::string& name, bool fifo);
// Refuses settings that only a FIFO topic may have.
Result<void> check_topic_settings(const TopicSettings& settings);

// SetTopicAttributes and the attributes of CreateTopic. An empty value removes the attribute, "false" removes a flag.
Result<void> set_topic_attribute(TopicSettings& settings, const std::string& name, const std::string& value);
// TagResource: a tag with a known key replaces its value.
Result<void> add_topic_tags(TopicSettings& settings, const std::map<std::string, std::string>& tags);

// SetSubscriptionAttributes and the attributes of Subscribe. Nothing is changed on an error.
Result<void> set_subscription_attribute(SubscriptionDefinition& definition, SubscriptionSettings& settings,
                                        const std::string& name, const std::string& value);
// Checks rules about several attributes: policy and scope, raw delivery and protocol.
Result<void> check_subscription(const SubscriptionDefinition& definition);

}  // namespace freshet
