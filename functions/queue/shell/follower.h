// Reads the stream of the queue's own table, which shows what clients wrote and what the TTL sweep removed. If it
// cannot follow the streams of the store, it reads all tasks from time to time instead. Loop thread.
#pragma once

#include <string>

#include "functions/queue/shell/part.h"
#include "tables/traits.h"

namespace freshet {

class Follower : QueuePart {
 public:
  using QueuePart::QueuePart;

  // True if it can follow the streams of such a store.
  static bool can_follow(const StoreTraits& traits) {
    return traits.has(Trait::kSingleStream) && traits.has(Trait::kFullImages);
  }

  // Goes on until the queue is destroyed.
  Async<void> follow();

 private:
  struct StreamPlace {
    std::string label;
    uint64_t from = 1;
  };

  Async<void> walk_now_and_then();
  Async<void> search_now_and_then();
  Async<StreamPlace> first_stream();
  Async<StreamPlace> next_stream(std::string last);
  Async<bool> is_stream_over(std::string label);
  Async<void> follow_page(StreamPage page);
  Async<void> forget_if_ended(std::string id, Item key);
  Async<ItemRef> read_again(Item key);
};

}  // namespace freshet
