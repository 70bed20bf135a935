#include "runtime/loop/mail_queue.h"

namespace freshet {

MailQueue::~MailQueue() {
  std::deque<Work> dropped;
  drain_into(dropped);
}

bool MailQueue::push(Work work) {
  if (closed_.load(std::memory_order_relaxed)) return false;
  if (depth_.fetch_add(1, std::memory_order_relaxed) >= bound_) {
    depth_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  auto* node = new Node{std::move(work), head_.load(std::memory_order_relaxed)};
  // Sequentially consistent, and so is the reader's empty(): either the sender sees that the loop sleeps, or the loop
  // sees the work before it does.
  while (!head_.compare_exchange_weak(node->next, node)) {
  }
  return true;
}

void MailQueue::drain_into(std::deque<Work>& into) {
  Node* newest = head_.exchange(nullptr);
  Node* oldest = nullptr;
  while (newest) {
    Node* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  size_t taken = 0;
  while (oldest) {
    into.push_back(std::move(oldest->work));
    Node* next = oldest->next;
    delete oldest;
    oldest = next;
    ++taken;
  }
  if (taken) depth_.fetch_sub(taken, std::memory_order_relaxed);
}

}  // namespace freshet
