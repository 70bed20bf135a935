// The seam between the FIFO topics of a daemon and its fleet, in which one daemon at a time serves each of them.
#pragma once

#include <string>

#include "base/async.h"
#include "streams/topic_message.h"
#include "streams/topics.h"

namespace freshet {

// Loop thread. It outlives the TopicService that it is given to.
class TopicFleet {
 public:
  virtual ~TopicFleet() = default;
  // This daemon has other FIFO topics than before.
  virtual void topics_changed() = 0;
  // False once another daemon may serve the topic, even if this one has not been told so yet.
  virtual bool may_serve(const std::string& topic) const = 0;
  // Publishes at the daemon that serves the topic. Errors: that daemon's; kUnavailable if nobody serves the topic, or
  // its daemon cannot be reached; kUnknownOutcome if that daemon does not answer.
  virtual Async<Result<Published>> publish(std::string topic, PublishInput input, MessageByProtocol by_protocol) = 0;
};

}  // namespace freshet
