// Reads the stream of the queue's own table: what clients wrote, and what the TTL sweep removed. Loop thread.
#pragma once

#include <string>

#include "functions/queue/shell/part.h"

namespace freshet {

class Follower : QueuePart {
 public:
  using QueuePart::QueuePart;

  // Until the queue is destroyed.
  Async<void> follow();

 private:
  struct StreamPlace {
    std::string label;
    uint64_t from = 1;
  };

  Async<StreamPlace> first_stream();
  Async<StreamPlace> next_stream(std::string last);
  Async<bool> is_stream_over(std::string label);
  Async<void> follow_page(StreamPage page);
  Async<void> forget_if_ended(std::string id, Item key);
  Async<ItemRef> read_again(Item key);
};

}  // namespace freshet
