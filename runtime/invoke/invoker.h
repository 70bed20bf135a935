// Runs functions: synchronously (the caller gets the outcome) and asynchronously (the event is durable first).
//
// Concurrency: a function with reserved concurrency runs at most that many invocations at a time; all others share
// `unreserved_concurrency`. A synchronous call at the limit is kTooManyRequests ("Rate Exceeded."); an asynchronous
// event waits, and starts as soon as a place is free. Of all waiting events, the one that is due longest starts first.
//
// Asynchronous events are items of the system table: logged, then run, then deleted (or sent on to a destination, in
// the same commit). When a place is free an event starts in the turn in which it is logged: an in-process function's
// own effects follow the event in the same log, so a crash that loses the event loses them too; what acts outside of
// the store (the http host, task runners) awaits Tables::durable() before it does. At least once: what ran when the
// daemon died runs again. A handler's error is retried `max_retries` times; a place or an endpoint that is not there
// costs no retry. What is older than `max_event_age`, or has used up its retries, goes to `on_failure` or is dropped
// (counted).
//
// Bound: `max_queued_events` a function. At it invoke_async() and publishes to it are kTooManyRequests.
// Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "runtime/invoke/function.h"
#include "streams/delivery_queue.h"

namespace freshet {

struct InvokerOptions {
  int unreserved_concurrency = 1000;
  size_t max_queued_events = 100'000;
  // Waits before a handler's error is retried: first, then twice that, and so on.
  milliseconds retry_delay{1'000};
  milliseconds max_retry_delay{5 * 60'000};
  // Waits while an endpoint refuses (429, 503, no connection): doubling, with jitter.
  milliseconds busy_delay{200};
  milliseconds max_busy_delay{30'000};
};

// Since the start; plain counters.
struct FunctionStats {
  uint64_t invocations = 0;
  uint64_t errors = 0;
  uint64_t timeouts = 0;
  uint64_t throttles = 0;  // Synchronous calls refused.
  uint64_t events = 0;     // Asynchronous events taken.
  uint64_t retries = 0;
  uint64_t dropped = 0;  // Given up: too old or out of retries, with or without a destination.
  int running = 0;
  size_t queued = 0;  // Events not running.
};

// What a caller may want of an invocation.
struct InvokeWishes {
  bool wants_log = false;  // The outcome comes with the end of what the function logged.
  std::string trace_id;    // The caller's X-Amzn-Trace-Id: the invocation goes on with that trace. Empty: a new one.
  std::string client_context = {};  // As of Invocation.
  bool ends_with_caller = false;    // The invocation ends where it waits if the caller destroys the Async.
};

class Invoker : public DeliveryQueue {
 public:
  // kResourceNotFound, kTooManyRequests, kRequestTooLarge. The payload is JSON: who takes one from outside has looked
  // at that, on a thread that has the time for megabytes. An empty one is "{}". The invocation goes on if the caller
  // destroys the Async, unless `ends_with_caller`.
  virtual Async<Result<InvokeOutcome>> invoke(std::string function, std::string payload, InvokeWishes wishes) = 0;
  Async<Result<InvokeOutcome>> invoke(std::string function, std::string payload) {
    InvokeWishes none;
    return invoke(std::move(function), std::move(payload), std::move(none));
  }
  // The request id; the event is applied (see tables/tables.h). `trace_id` as of InvokeWishes.
  virtual Async<Result<std::string>> invoke_async(std::string function, std::string payload, std::string trace_id) = 0;
  Async<Result<std::string>> invoke_async(std::string function, std::string payload) {
    return invoke_async(std::move(function), std::move(payload), std::string());
  }
  // prepare(): for whoever logs an event together with items of its own (topics, schedules). The payload is trusted.

  // Null if there is none. Name, not ARN.
  virtual std::shared_ptr<const FunctionDefinition> find(const std::string& function) const = 0;
  virtual std::map<std::string, FunctionStats> stats() const = 0;
};

}  // namespace freshet
