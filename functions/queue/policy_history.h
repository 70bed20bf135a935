// The changes of a queue's policy since the queue was opened, for recordings. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "runtime/api/task_queue.h"

namespace freshet {

class PolicyHistory {
 public:
  static constexpr size_t kMost = 1000;  // Older ones are forgotten.

  // The policy with which the queue opens. Call it before the first add().
  void begin(PolicyChange first) { first_ = std::move(first); }
  void add(PolicyChange change);
  // The changes from that number on; see TaskQueue::policy_changes().
  PolicyChanges from(uint64_t number) const;

 private:
  PolicyChange first_;
  std::deque<PolicyChange> kept_;
  uint64_t forgotten_ = 0;
};

}  // namespace freshet
