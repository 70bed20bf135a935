#include "streams/topic_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/log.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

void append_member(std::string& out, std::string_view name, std::string_view text) {
  if (out.back() != '{') out += ',';
  append_json_string(out, name);
  out += ':';
  append_json_string(out, text);
}

void append_attributes(std::string& out, const PublishInput& input) {
  out += R"(,"MessageAttributes":{)";
  for (const auto& [name, attribute] : input.attributes) {
    if (out.back() != '{') out += ',';
    append_json_string(out, name);
    out += ":{";
    append_member(out, "Type", attribute.type);
    append_member(out, "Value", attribute.value);
    out += '}';
  }
  out += '}';
}

// In "String.x" the part behind the point is a label of the user's.
bool is_type(std::string_view type, std::string_view base) {
  return type == base || (type.starts_with(base) && type[base.size()] == '.');
}

bool is_known_type(std::string_view type) {
  return is_type(type, "String") || is_type(type, "Number") || is_type(type, "Binary");
}

// Adds the members with which an endpoint can keep the order itself.
void append_fifo(std::string& out, const TopicMessage& message) {
  if (message.sequence_number.empty()) return;
  append_member(out, "SequenceNumber", message.sequence_number);
  append_member(out, "MessageGroupId", message.content.group_id);
  append_member(out, "MessageDeduplicationId", message.content.deduplication_id);
}

Result<void> check_id(std::string_view parameter, std::string_view id) {
  const bool good = id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (good) return {};
  return invalid(
      fmt::format("Invalid parameter: {} Reason: 1 to 128 letters, digits and marks of punctuation are "
                  "allowed",
                  parameter));
}

}  // namespace

std::string topic_event(const TopicMessage& message, const std::string& subscription_arn) {
  std::string out = R"({"Records":[{)";
  append_member(out, "EventSource", "aws:sns");
  append_member(out, "EventVersion", "1.0");
  append_member(out, "EventSubscriptionArn", subscription_arn);
  out += R"(,"Sns":{)";
  append_member(out, "Type", "Notification");
  append_member(out, "MessageId", message.id);
  append_fifo(out, message);
  append_member(out, "TopicArn", message.content.topic_arn);
  if (message.content.subject.empty()) {
    out += R"(,"Subject":null)";
  } else {
    append_member(out, "Subject", message.content.subject);
  }
  append_member(out, "Message", message.content.message);
  append_member(out, "Timestamp", iso8601(message.at));
  // Messages stay on trusted machines: they have these members, but no signature.
  for (const char* name : {"SignatureVersion", "Signature", "SigningCertUrl", "UnsubscribeUrl"}) {
    append_member(out, name, name == std::string_view("SignatureVersion") ? "1" : "");
  }
  append_attributes(out, message.content);
  out += "}}]}";
  return out;
}

std::string topic_notification(const TopicMessage& message, const std::string& unsubscribe_url) {
  std::string out = "{";
  append_member(out, "Type", "Notification");
  append_member(out, "MessageId", message.id);
  append_fifo(out, message);
  append_member(out, "TopicArn", message.content.topic_arn);
  if (!message.content.subject.empty()) append_member(out, "Subject", message.content.subject);
  append_member(out, "Message", message.content.message);
  append_member(out, "Timestamp", iso8601(message.at));
  append_member(out, "SignatureVersion", "1");
  append_member(out, "Signature", "");
  append_member(out, "SigningCertURL", "");
  append_member(out, "UnsubscribeURL", unsubscribe_url);
  if (!message.content.attributes.empty()) append_attributes(out, message.content);
  out += '}';
  return out;
}

std::string confirmation_request(const std::string& message_id, WallTime at, const std::string& topic_arn,
                                 const std::string& token, const std::string& subscribe_url) {
  std::string out = "{";
  append_member(out, "Type", "SubscriptionConfirmation");
  append_member(out, "MessageId", message_id);
  append_member(out, "Token", token);
  append_member(out, "TopicArn", topic_arn);
  append_member(out, "Message",
                fmt::format("You have chosen to subscribe to the topic {}.\nTo confirm the subscription, visit the "
                            "SubscribeURL included in this message.",
                            topic_arn));
  append_member(out, "SubscribeURL", subscribe_url);
  append_member(out, "Timestamp", iso8601(at));
  append_member(out, "SignatureVersion", "1");
  append_member(out, "Signature", "");
  append_member(out, "SigningCertURL", "");
  out += '}';
  return out;
}

Map filterable_attributes(const PublishInput& input) {
  Map attributes;
  for (const auto& [name, attribute] : input.attributes) {
    if (attribute.type == "String.Array") {
      auto list = parse_plain_json(attribute.value);
      if (list && list->is(Type::kList)) attributes.set(name, std::move(*list));
    } else if (is_type(attribute.type, "Number")) {
      auto number = Decimal::parse(attribute.value);
      if (number) attributes.set(name, Value(*number));
    } else if (is_type(attribute.type, "String")) {
      attributes.set(name, Value(attribute.value));
    }
  }
  return attributes;
}

Result<void> validate(const PublishInput& input, size_t most_bytes) {
  if (input.message.empty()) return invalid("Invalid parameter: Empty message");
  size_t size = input.message.size();
  for (const auto& [name, attribute] : input.attributes) {
    size += name.size() + attribute.type.size() + attribute.value.size();
    if (name.empty() || name.size() > 256 || !is_known_type(attribute.type)) {
      return invalid(
          fmt::format("Invalid parameter: MessageAttributes: \"{}\" has type \"{}\"; String, Number, Binary, "
                      "String.Array are known",
                      name, attribute.type));
    }
    if (attribute.value.empty()) {
      return invalid(fmt::format("Invalid parameter: MessageAttributes: \"{}\" has an empty value", name));
    }
    if (is_type(attribute.type, "Number") && !Decimal::parse(attribute.value)) {
      return invalid(
          fmt::format("Invalid parameter: MessageAttributes: \"{}\" = \"{}\" is not a number", name, attribute.value));
    }
  }
  if (size > most_bytes) {
    return invalid(fmt::format("Invalid parameter: Message too long: {} bytes; {} is the limit", size, most_bytes));
  }
  if (input.subject.size() > 100) return invalid("Invalid parameter: Subject: at most 100 characters");
  if (auto good = check_id("MessageGroupId", input.group_id); !good) return good;
  return check_id("MessageDeduplicationId", input.deduplication_id);
}

}  // namespace freshet
