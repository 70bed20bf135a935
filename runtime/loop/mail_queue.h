// A bounded lock-free queue of work with many senders and one reader. Senders push onto a list with one
// compare-exchange; the reader takes the whole list with one exchange and reverses it.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>

#include "base/scheduler.h"

namespace freshet {

class MailQueue {
 public:
  explicit MailQueue(size_t bound) : bound_(bound) {}
  MailQueue(const MailQueue&) = delete;
  MailQueue& operator=(const MailQueue&) = delete;
  ~MailQueue();

  // Any thread. Returns false if the queue is full or closed; the work is then destroyed.
  bool push(Work work);
  // Any thread: push() returns false from now on.
  void close() { closed_.store(true); }
  // Loop thread: moves everything to the end of `into`, in the order of the pushes.
  void drain_into(std::deque<Work>& into);
  // Any thread.
  bool empty() const { return head_.load() == nullptr; }
  // Any thread: the number of waiting works.
  size_t depth() const { return depth_.load(std::memory_order_relaxed); }

 private:
  struct Node {
    Work work;
    Node* next;
  };
  const size_t bound_;
  std::atomic<bool> closed_{false};
  std::atomic<size_t> depth_{0};
  std::atomic<Node*> head_{nullptr};
};

}  // namespace freshet
