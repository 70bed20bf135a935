// One message on its way to a topic's subscriptions. Internal to topic_service.cc and topic_fifo.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/let_others_in.h"
#include "streams/topic_service.h"
#include "tables/value/json.h"

namespace freshet {

// The input of filter policies: read once per message, however many subscriptions there are.
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
  Value body_;  // Not a map if the body is not JSON of a map.
};

struct TopicService::FanOut {
  FanOut(const TopicMessage& m, std::string trace) : message(m), filterable(m.content), trace_id(std::move(trace)) {}
  const TopicMessage& message;
  Filterable filterable;
  const std::string trace_id;  // The trace of the publish.
  std::vector<PreparedEvent> events;
  std::string last_id;  // The last subscription that was looked at.
  size_t work = 0;
};

}  // namespace freshet
