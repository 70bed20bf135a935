// The seam between topics and whoever carries their messages: a durable queue of asynchronous events.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

// An event that is not yet written. Whoever takes it writes `write` together with its own items and, once that has
// succeeded, calls logged(); if it is dropped without that, it never was.
struct PreparedEvent {
  WriteInput write;
  std::function<void()> logged;
};

// Loop thread only.
class DeliveryQueue {
 public:
  virtual ~DeliveryQueue() = default;
  // kResourceNotFound if there is no such target, kTooManyRequests if its queue is full. The payload is JSON.
  virtual Result<PreparedEvent> prepare(const std::string& target, std::string payload) = 0;
};

}  // namespace freshet
