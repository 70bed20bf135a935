// The seam between topics and the delivery of their messages: a durable queue of asynchronous events.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

// An event that is not written yet. The caller completes it, writes `write` together with its own items and, once that
// has succeeded, calls logged(); if it is dropped before that, it never existed.
struct PreparedEvent {
  WriteInput write;
  std::function<void()> logged;
  std::function<void(WriteInput&)> put_payload = nullptr;  // Makes a late payload; see Delivery::late_payload.

  void complete() {
    if (const auto put = std::exchange(put_payload, nullptr)) put(write);
  }
};

struct Delivery {
  std::string target;
  std::string payload;          // JSON for functions.
  std::string request_id = {};  // Empty: one is made.
  // If not empty: events with the same target and group are delivered in the order in which they were logged, each
  // after the one before it has succeeded or was given up.
  std::string group = {};
  // The trace of the cause, or empty; if not set, that of the current work.
  std::optional<std::string> trace_id = std::nullopt;
  // Makes the payload, of that many bytes, when the event is completed; `payload` is then empty. So a large message to
  // many targets is not in memory many times.
  std::function<std::string()> late_payload = nullptr;
  size_t late_bytes = 0;
  // In a fleet, for a message of a FIFO topic: the topic's name; else null. It lives until prepare() returns.
  const std::string* topic = nullptr;
};

// Loop thread only.
class DeliveryQueue {
 public:
  virtual ~DeliveryQueue() = default;
  // kResourceNotFound if there is no such target, kTooManyRequests if its queue is full.
  virtual Result<PreparedEvent> prepare(Delivery delivery) = 0;
  // The trace of the current work, or empty. It is a different one after a wait.
  virtual std::string trace_at_work() const { return {}; }

  // In a fleet, the events of a FIFO topic's messages are in the shared store, for the daemon that serves the topic.
  // Reads them; they are delivered from then on, in the order in which they were logged. May be called again: then it
  // adds what is new. kUnavailable if leave_topic() was called meanwhile.
  virtual Async<Result<void>> load_topic(std::string topic) {
    static_cast<void>(topic);
    return Result<void>();
  }
  // Begins no more of the topic's deliveries.
  virtual void leave_topic(const std::string& topic) { static_cast<void>(topic); }
  // After leave_topic(): true while a delivery of the topic is under way.
  virtual bool is_delivering(const std::string& topic) const {
    static_cast<void>(topic);
    return false;
  }
};

}  // namespace freshet
