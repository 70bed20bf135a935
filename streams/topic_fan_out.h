// One message on its way to a topic's subscriptions. Internal to topic_service.cc and topic_fifo.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/let_others_in.h"
#include "streams/topic_service.h"
#include "tables/value/json.h"

namespace freshet {

// The input of filter policies: parsed once per message, however many subscriptions there are.
class Filterable {
 public:
  explicit Filterable(const PublishInput& input) : input_(input) {}
  bool passes(const std::optional<Pattern>& filter, bool on_body, MatchWork& work) {
    if (!filter) return true;
    if (!on_body) {
      if (!attributes_) attributes_ = filterable_attributes(input_);
      return filter->matches(*attributes_, work);
    }
    if (!is_read_) {
      auto body = parse_plain_json(input_.message);
      if (body) body_ = std::move(*body);
      is_read_ = true;
    }
    const Map* map = body_.get_if<Map>();
    return map && filter->matches(*map, work);
  }

 private:
  const PublishInput& input_;
  std::optional<Map> attributes_;
  bool is_read_ = false;
  Value body_;  // Not a map unless the body is a JSON object.
};

// Completes events from the one at `first` on and moves their writes to `writes`, until these have `most` actions or
// `most_bytes`; at least one. Returns the index of the first event that is left.
size_t take_events(std::vector<PreparedEvent>& events, size_t first, size_t most, size_t most_bytes,
                   std::vector<WriteInput>& writes);

// How the payload for one subscription differs from that for others.
struct PayloadShape {
  std::string protocol;
  bool raw = false;                  // True for an endpoint that wants the message alone.
  std::string subscription_arn;      // For a function's payload; other payloads do not contain it.
  std::string unsubscribe_url = {};  // May be empty.
};

struct TopicService::FanOut {
  FanOut(TopicMessage m, std::string trace)
      : message(std::make_shared<const TopicMessage>(std::move(m))),
        filterable(message->content),
        trace_id(std::move(trace)) {}
  const std::shared_ptr<const TopicMessage> message;  // Shared by payloads that are made late.
  Filterable filterable;
  // Bytes of a payload without its ARN and URL, by protocol and whether it is raw.
  std::map<std::pair<std::string, bool>, size_t> bare_bytes;
  const std::string trace_id;  // The trace of the publish.
  std::vector<PreparedEvent> events;
  std::string last_id;  // The last subscription that was processed.
  size_t work = 0;
};

}  // namespace freshet
