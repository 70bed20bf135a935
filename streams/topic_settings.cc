#include "streams/topic_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "streams/pattern.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

// Kept and shown; nothing here reads them but clients.
constexpr std::string_view kKeptTopicAttributes[] = {
    "DeliveryPolicy",
    "DisplayName",
    "HTTPFailureFeedbackRoleArn",
    "HTTPSuccessFeedbackRoleArn",
    "HTTPSuccessFeedbackSampleRate",
    "KmsMasterKeyId",
    "LambdaFailureFeedbackRoleArn",
    "LambdaSuccessFeedbackRoleArn",
    "LambdaSuccessFeedbackSampleRate",
    "Policy",
    "SignatureVersion",
    "TracingConfig",
};

auto bad_attribute(std::string_view name, std::string_view reason) {
  return invalid(fmt::format("Invalid parameter: Attributes Reason: {}: {}", name, reason));
}

auto unknown_attribute(std::string_view name) {
  return invalid(fmt::format("Invalid parameter: AttributeName Reason: \"{}\" is not known", name.substr(0, 100)));
}

bool is_json_object(const std::string& text) {
  const auto parsed = parse_plain_json(text);
  return parsed && parsed->is(Type::kMap);
}

Result<bool> flag_of(std::string_view name, std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (value == "true") return true;
  if (value == "false") return false;
  return bad_attribute(name, "wants true or false");
}

Result<void> check_topic_attribute(std::string_view name, const std::string& value) {
  if (value.size() > kMaxTopicAttributeBytes) {
    return bad_attribute(name, fmt::format("{} bytes; {} is the limit", value.size(), kMaxTopicAttributeBytes));
  }
  if ((name == "Policy" || name == "DeliveryPolicy") && !is_json_object(value)) {
    return bad_attribute(name, "wants a JSON object");
  }
  if (name == "DisplayName" && value.size() > 100) return bad_attribute(name, "at most 100 characters");
  if (name == "SignatureVersion" && value != "1" && value != "2") return bad_attribute(name, "there are 1 and 2");
  if (name == "TracingConfig" && value != "PassThrough" && value != "Active") {
    return bad_attribute(name, "there are PassThrough and Active");
  }
  return {};
}

// With the scope MessageAttributes a policy has one level.
bool is_nested(const Map& policy) {
  return std::any_of(policy.begin(), policy.end(), [](const auto& entry) { return entry.second.is(Type::kMap); });
}

}  // namespace

Result<void> check_topic_name(const std::string& name) {
  if (name.ends_with(".fifo")) {
    return invalid("Invalid parameter: Topic Name Reason: FIFO topics are not supported by this server");
  }
  const bool good =
      !name.empty() && name.size() <= 256 &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == std::string::npos;
  if (good) return {};
  return invalid("Invalid parameter: Topic Name Reason: 1 to 256 letters, digits, '-' and '_' are allowed");
}

Result<void> set_topic_attribute(TopicSettings& settings, const std::string& name, const std::string& value) {
  if (name == "FifoTopic" || name == "ContentBasedDeduplication") {
    const auto flag = flag_of(name, value);
    if (!flag) return fail(flag.error());
    if (*flag) return bad_attribute(name, "FIFO topics are not supported by this server");
    return {};
  }
  if (std::find(std::begin(kKeptTopicAttributes), std::end(kKeptTopicAttributes), name) ==
      std::end(kKeptTopicAttributes)) {
    return unknown_attribute(name);
  }
  if (value.empty()) {
    settings.attributes.erase(name);
    return {};
  }
  if (auto good = check_topic_attribute(name, value); !good) return good;
  settings.attributes[name] = value;
  return {};
}

Result<void> add_topic_tags(TopicSettings& settings, const std::map<std::string, std::string>& tags) {
  for (const auto& [key, value] : tags) {
    if (key.empty() || key.size() > 128 || value.size() > 256 || key.starts_with("aws:")) {
      return invalid(
          "Invalid parameter: Tags Reason: a key has 1 to 128 characters and does not begin with aws:, a value has at "
          "most 256");
    }
    settings.tags[key] = value;
  }
  if (settings.tags.size() <= kMaxTopicTags) return {};
  return fail(ErrorCode::kLimitExceeded,
              fmt::format("Could not complete request: tag quota of per resource exceeded ({})", kMaxTopicTags),
              std::make_shared<TopicErrorName>("TagLimitExceeded"));
}

Result<void> set_subscription_attribute(SubscriptionDefinition& definition, SubscriptionSettings& settings,
                                        const std::string& name, const std::string& value) {
  if (name == "FilterPolicy") {
    if (value.size() > kMaxFilterPolicyBytes) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("Invalid parameter: FilterPolicy: Filter policy is too large: {} bytes; {} is the limit",
                              value.size(), kMaxFilterPolicyBytes),
                  std::make_shared<TopicErrorName>("FilterPolicyLimitExceeded"));
    }
    const auto parsed = parse_plain_json(value);
    const bool empty = parsed && parsed->is(Type::kMap) && parsed->get_if<Map>()->empty();
    definition.filter_policy = empty ? std::string() : value;
    return {};
  }
  if (name == "FilterPolicyScope") {
    if (value != "MessageAttributes" && value != "MessageBody") {
      return bad_attribute(name, "there are MessageAttributes and MessageBody");
    }
    definition.filter_on_body = value == "MessageBody";
    return {};
  }
  if (name == "RawMessageDelivery") {
    const auto flag = flag_of(name, value);
    if (!flag) return fail(flag.error());
    definition.raw_delivery = *flag;
    return {};
  }
  if (name == "DeliveryPolicy") {
    if (value.size() > kMaxTopicAttributeBytes || (!value.empty() && !is_json_object(value))) {
      return bad_attribute(name, "wants a JSON object");
    }
    settings.delivery_policy = value;
    return {};
  }
  if (name == "RedrivePolicy") {
    if (value.empty() || value == "{}") return {};
    return bad_attribute(name, "there are no SQS queues here; set the function's on-failure destination instead");
  }
  return unknown_attribute(name);
}

Result<void> check_subscription(const SubscriptionDefinition& definition) {
  if (definition.raw_delivery && definition.protocol == "lambda") {
    return invalid("Invalid parameter: Delivery protocol [lambda] does not support raw message delivery.");
  }
  if (definition.filter_policy.empty()) return {};
  if (auto pattern = Pattern::parse(definition.filter_policy); !pattern) {
    return invalid("Invalid parameter: FilterPolicy: " + pattern.error().message);
  }
  const auto policy = parse_plain_json(definition.filter_policy);
  if (!definition.filter_on_body && policy && is_nested(*policy->get_if<Map>())) {
    return invalid(
        "Invalid parameter: Filter policy scope MessageAttributes does not support nested filter policy; set "
        "FilterPolicyScope to MessageBody");
  }
  return {};
}

}  // namespace freshet
