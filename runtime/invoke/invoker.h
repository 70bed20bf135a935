// Runs functions: synchronously (the caller gets the outcome) and asynchronously (the event is durable first).
//
// Concurrency: a function with reserved concurrency runs at most that many invocations at a time; all others share
// `unreserved_concurrency`. A synchronous call at the limit is kTooManyRequests ("Rate Exceeded."); an asynchronous
// event waits, and starts as soon as a place is free. Of the events whose function has a place and whose host has room,
// the one that has been due longest starts first.
//
// Asynchronous events are items of the system table: logged, then run, then deleted (or sent on to a destination, in
// the same commit). When a place is free an event starts in the turn in which it is logged: an in-process function's
// own effects follow the event in the same log, so a crash that loses the event loses them too. Code that acts outside
// the store (the http host, task runners) awaits Tables::durable() first. At least once: an invocation that ran when
// the daemon died runs again. A handler's error is retried `max_retries` times; a missing place or endpoint does not
// count as a retry. An event that is older than `max_event_age`, or has used up its retries, goes to `on_failure` or is
// dropped (counted).
//
// Bound: each function has at most `max_queued_events` events. At that bound, invoke_async() and publishes to the
// function fail with kTooManyRequests.
//
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
  // The wait before the first retry after a handler's error; it doubles with each further retry.
  milliseconds retry_delay{1'000};
  milliseconds max_retry_delay{5 * 60'000};
  // The wait while an endpoint refuses (429, 503, no connection): doubles, with jitter.
  milliseconds busy_delay{200};
  milliseconds max_busy_delay{30'000};
};

// Counted since the start; plain counters.
struct FunctionStats {
  uint64_t invocations = 0;
  uint64_t errors = 0;
  uint64_t timeouts = 0;
  uint64_t throttles = 0;  // Refused synchronous calls.
  uint64_t events = 0;     // Accepted asynchronous events.
  uint64_t retries = 0;
  uint64_t dropped = 0;  // Events that were given up (too old, or out of retries), with or without a destination.
  int running = 0;
  size_t queued = 0;  // Events that wait.
};

// Options of an invocation.
struct InvokeWishes {
  bool wants_log = false;  // True: the outcome includes the end of the function's log.
  std::string trace_id;    // The caller's X-Amzn-Trace-Id: the invocation continues that trace. Empty: it starts a new
                           // one.
  std::string client_context = {};  // See Invocation.
  bool ends_with_caller = false;    // True: the invocation ends where it waits if the caller destroys the Async.
};

class Invoker : public DeliveryQueue {
 public:
  // kResourceNotFound, kTooManyRequests, kRequestTooLarge. The payload must be JSON: code that gets one from outside
  // has checked it, on a thread that has time for megabytes. An empty payload means "{}". The invocation continues if
  // the caller destroys the Async, unless `ends_with_caller`.
  virtual Async<Result<InvokeOutcome>> invoke(std::string function, std::string payload, InvokeWishes wishes) = 0;
  Async<Result<InvokeOutcome>> invoke(std::string function, std::string payload) {
    InvokeWishes none;
    return invoke(std::move(function), std::move(payload), std::move(none));
  }
  // Returns the request id; the event is applied (see tables/tables.h). `trace_id`: see InvokeWishes.
  virtual Async<Result<std::string>> invoke_async(std::string function, std::string payload, std::string trace_id) = 0;
  Async<Result<std::string>> invoke_async(std::string function, std::string payload) {
    return invoke_async(std::move(function), std::move(payload), std::string());
  }
  // prepare(): for code that writes an event together with items of its own (topics, schedules). The payload is
  // trusted.

  // Null if there is none. Takes a name, not an ARN.
  virtual std::shared_ptr<const FunctionDefinition> find(const std::string& function) const = 0;
  virtual std::map<std::string, FunctionStats> stats() const = 0;
};

}  // namespace freshet
