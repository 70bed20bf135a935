// A message for one subscription, in the forms that functions and HTTP endpoints know. Pure functions.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "base/limits.h"
#include "streams/topics.h"
#include "tables/value/value.h"

namespace freshet {

// By protocol: the text that its subscriptions get instead of the message (MessageStructure=json).
using MessageByProtocol = std::map<std::string, std::string>;

struct TopicMessage {
  std::string id;
  WallTime at{};
  PublishInput content;
  MessageByProtocol by_protocol = {};
  std::string sequence_number = {};  // For a FIFO topic, as are the ids of group and deduplication in the content.
};

// The event for a subscribed function: {"Records":[{"EventSource":"aws:sns", ...}]}.
std::string topic_event(const TopicMessage& message, const std::string& subscription_arn);
// The body for an HTTP endpoint, unless the subscription wants the message alone. A GET of `unsubscribe_url` ends the
// subscription; empty if there is no such URL.
std::string topic_notification(const TopicMessage& message, const std::string& unsubscribe_url = {});

// The body that asks an HTTP endpoint to confirm its subscription by a GET of `subscribe_url`.
std::string confirmation_request(const std::string& message_id, WallTime at, const std::string& topic_arn,
                                 const std::string& token, const std::string& subscribe_url);

// The attributes as plain data for filter policies: strings, exact numbers, lists of String.Array. Others are left out.
Map filterable_attributes(const PublishInput& input);

// kValidation with the service's text: empty or too long message, bad attributes, bad ids.
Result<void> validate(const PublishInput& input, size_t most_bytes = limits::kMaxMessageBytes);

}  // namespace freshet
