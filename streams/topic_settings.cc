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

constexpr int kMaxFilterCombinations = 150;

// Stored and shown; only clients use them.
constexpr std::string_view kKeptTopicAttributes[] = {
    "DeliveryPolicy",
    "DisplayName",
    "FifoThroughputScope",
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

// For UTF-8 text.
size_t characters_in(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
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
  if (name == "DisplayName" && characters_in(value) > 100) return bad_attribute(name, "at most 100 characters");
  if (name == "SignatureVersion" && value != "1" && value != "2") return bad_attribute(name, "there are 1 and 2");
  if (name == "FifoThroughputScope" && value != "Topic" && value != "MessageGroup") {
    return bad_attribute(name, "there are Topic and MessageGroup");
  }
  if (name == "TracingConfig" && value != "PassThrough" && value != "Active") {
    return bad_attribute(name, "there are PassThrough and Active");
  }
  return {};
}

// With the scope MessageAttributes a policy has one level.
bool is_nested(const Map& policy) {
  return std::any_of(policy.begin(), policy.end(), [](const auto& entry) { return entry.second.is(Type::kMap); });
}

// The number of values in one entry of a list: each value that anything-but refuses counts as one.
double values_in(const Value& entry) {
  const Map* matcher = entry.get_if<Map>();
  const Value* refused = matcher ? matcher->find("anything-but") : nullptr;
  if (!refused) return 1;
  if (const Map* inner = refused->get_if<Map>(); inner && !inner->empty()) refused = &inner->begin()->second;
  const List* list = refused->get_if<List>();
  return list ? std::max<double>(1, static_cast<double>(list->elements.size())) : 1;
}

// As the service counts: the values of each field multiplied with those of the others, nested ones with their depth.
double combinations_of(const Map& policy, double depth) {
  double product = 1;
  for (const auto& [name, value] : policy) {
    if (const Map* below = value.get_if<Map>()) {
      product *= combinations_of(*below, depth + 1);
    } else if (const List* list = value.get_if<List>()) {
      double sum = 0;
      for (const Value& one : list->elements) {
        const Map* alternative = name == "$or" ? one.get_if<Map>() : nullptr;
        sum += alternative ? combinations_of(*alternative, depth) : depth * values_in(one);
      }
      product *= sum;
    }
  }
  return product;
}

}  // namespace

Result<void> check_topic_name(const std::string& name, bool fifo) {
  std::string_view plain = name;
  if (fifo && plain.ends_with(kFifoSuffix)) plain.remove_suffix(kFifoSuffix.size());
  const bool good =
      !plain.empty() && name.size() <= 256 && fifo == (plain.size() < name.size()) &&
      plain.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == std::string::npos;
  if (good) return {};
  return invalid(fmt::format(
      "Invalid parameter: Topic Name Reason: {}opic names {}must be made up of only uppercase and lowercase ASCII "
      "letters, numbers, underscores, and hyphens, and must be between 1 and 256 characters long{}",
      fifo ? "FIFO t" : "T", fifo ? "must end with .fifo and " : "",
      !fifo && name.ends_with(kFifoSuffix) ? "; .fifo is for topics whose attribute FifoTopic is true" : ""));
}

Result<void> check_topic_settings(const TopicSettings& settings) {
  const bool fifo = settings.attributes.contains("FifoTopic");
  for (const char* only : {"ContentBasedDeduplication", "FifoThroughputScope"}) {
    if (!fifo && settings.attributes.contains(only)) return bad_attribute(only, "only FIFO topics have it");
  }
  return {};
}

Result<void> set_topic_attribute(TopicSettings& settings, const std::string& name, const std::string& value) {
  if (name == "FifoTopic" || name == "ContentBasedDeduplication") {
    const auto flag = flag_of(name, value.empty() ? "false" : value);
    if (!flag) return fail(flag.error());
    settings.attributes.erase(name);
    if (*flag) settings.attributes[name] = "true";
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
    if (key.empty() || characters_in(key) > 128 || characters_in(value) > 256 || key.starts_with("aws:")) {
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
  if (policy && combinations_of(*policy->get_if<Map>(), 1) > kMaxFilterCombinations) {
    return invalid(
        fmt::format("Invalid parameter: FilterPolicy: Filter policy is too complex: at most {} combinations "
                    "of values are allowed",
                    kMaxFilterCombinations));
  }
  if (!definition.filter_on_body && policy && is_nested(*policy->get_if<Map>())) {
    return invalid(
        "Invalid parameter: Filter policy scope MessageAttributes does not support nested filter policy; set "
        "FilterPolicyScope to MessageBody");
  }
  return {};
}

}  // namespace freshet
