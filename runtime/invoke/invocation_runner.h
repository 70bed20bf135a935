// Runs single invocations in their hosts, and counts their outcomes. The caller has already taken a place for the
// invocation (places.h).
//
// Loop thread only.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>

#include "base/async.h"
#include "base/log.h"
#include "base/random.h"
#include "runtime/invoke/function_registry.h"
#include "runtime/invoke/invoker.h"
#include "runtime/trace/tracer.h"

namespace freshet {

class InvocationRunner {
 public:
  // All must outlive it.
  struct Parts {
    Scheduler& scheduler;
    Random& random;
    FunctionRegistry& functions;
    std::map<std::string, Host*> hosts;  // By FunctionDefinition::host.
    EventLog log;
    Tracer* tracer = nullptr;  // Null: no spans.
  };
  explicit InvocationRunner(Parts parts) : parts_(std::move(parts)) {}
  InvocationRunner(const InvocationRunner&) = delete;
  InvocationRunner& operator=(const InvocationRunner&) = delete;

  // Errors are in the outcome (Runtime.HostNotFound if there is no such host). Must not outlive this.
  Async<InvokeOutcome> run(FunctionPtr function, std::string request_id, Payload payload, InvokeWishes wishes);

  // True if the function's host, which has `events` events, accepts another one now. A host that is full gets as many
  // events as it has callers.
  bool has_room_for_event(const FunctionDefinition& function, int events) const;

  // A caller that waits for its invocation, for as long as it does.
  class Caller {
   public:
    Caller(InvocationRunner& runner, const std::string& host) : count_(runner.callers_[host]) { ++count_; }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    ~Caller() { --count_; }

   private:
    int& count_;
  };

  // True if an invocation that runs belongs to that trace.
  bool runs_in_trace(const std::string& trace_id) const;

  // The counts of one function, or of an endpoint of a topic.
  FunctionStats& stats(const std::string& function) { return stats_[function]; }
  const std::map<std::string, FunctionStats>& all_stats() const { return stats_; }
  void forget_stats(const std::string& function) { stats_.erase(function); }

 private:
  std::optional<Span> begin_span(const FunctionDefinition& function, const std::string& request_id,
                                 const std::string& header);
  void count_error(const std::string& function, const std::string& request_id, const FunctionError& error);

  const Parts parts_;
  std::list<std::string> traces_;  // Trace headers of running invocations.
  std::map<std::string, FunctionStats> stats_;
  std::map<std::string, int> callers_;  // The number of callers that wait in each host.
};

}  // namespace freshet
