// Topics: publish once, deliver at least once to every subscription.
//
// Topics and subscriptions are items of the system table; a publish is acknowledged together with its logged
// deliveries. The runtime delivers (to functions, to HTTP endpoints). Loop thread only.
#pragma once

#include <map>
#include <string>

#include "base/async.h"
#include "base/result.h"

namespace freshet {

struct MessageAttribute {
  std::string type;  // "String", "Number", "Binary", "String.Array".
  std::string value;
};

struct PublishInput {
  std::string topic_arn;
  std::string message;
  std::string subject;
  std::map<std::string, MessageAttribute> attributes;
  std::string group_id = {};          // MessageGroupId: FIFO topics require one, the others refuse it.
  std::string deduplication_id = {};  // MessageDeduplicationId, for FIFO topics.
};

// The answer to a publisher.
struct Published {
  std::string message_id;
  std::string sequence_number = {};  // 20 digits, for FIFO topics.
};

// The interface of topics for functions.
class Publisher {
 public:
  virtual ~Publisher() = default;
  // Returns the message id. kNotFound for an unknown topic. Ready only when the deliveries are logged.
  virtual Async<Result<std::string>> publish(PublishInput input) = 0;
};

}  // namespace freshet
