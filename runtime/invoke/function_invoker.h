// The invoker: functions, their places and hosts, and the queue of asynchronous events, over one store.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/wall_guard.h"
#include "runtime/invoke/event_queue.h"
#include "runtime/invoke/function_registry.h"
#include "runtime/invoke/invocation_runner.h"
#include "runtime/invoke/invoker.h"
#include "runtime/invoke/places.h"
#include "runtime/trace/tracer.h"

namespace freshet {

class FunctionInvoker final : public Invoker {
 public:
  // All must outlive this.
  struct Parts {
    Tables& tables;
    Scheduler& scheduler;
    Random& random;
    FunctionRegistry& functions;
    std::map<std::string, Host*> hosts;  // By FunctionDefinition::host.
    Account account;
    InvokerOptions options;
    EventLog log;
    WallGuard& wall;
    Tracer* tracer = nullptr;  // Null: no spans.
  };
  explicit FunctionInvoker(Parts parts);
  FunctionInvoker(const FunctionInvoker&) = delete;
  FunctionInvoker& operator=(const FunctionInvoker&) = delete;
  ~FunctionInvoker() override;

  // From now on callers from outside are refused (kUnavailable), because they could keep the daemon busy for ever.
  // Calls that functions make while they run are served: they carry the trace of their invocation (X-Amzn-Trace-Id,
  // which AWS's SDKs send from within functions). So are invocations by event source mappings.
  void drain() { draining_ = true; }
  // Ends every handler where it waits. Nothing can be invoked afterwards.
  void end_all();

  using Invoker::invoke;
  using Invoker::invoke_async;
  Async<Result<InvokeOutcome>> invoke(std::string function, std::string payload, InvokeWishes wishes) override;
  // The same for a payload whose size has been checked.
  Async<Result<InvokeOutcome>> invoke_trusted(std::string function, Payload payload, InvokeWishes wishes);
  Async<Result<std::string>> invoke_async(std::string function, std::string payload, std::string trace_id) override;
  Result<PreparedEvent> prepare(Delivery delivery) override;
  std::string trace_at_work() const override;
  Async<Result<void>> load_topic(std::string topic) override { return events_.load_topic(std::move(topic)); }
  void leave_topic(const std::string& topic) override { events_.leave_topic(topic); }
  bool is_delivering(const std::string& topic) const override { return events_.is_working(topic); }
  FunctionPtr find(const std::string& function) const override { return parts_.functions.find(function); }
  std::map<std::string, FunctionStats> stats() const override;

  // The trace of the cause of these changes, or empty.
  std::string cause_of(const std::string& table, const std::vector<ChangeRecord>& records) const;

  EventQueue& events() { return events_; }
  // True while handlers run or outcomes are being written.
  bool busy() const { return places_.total() > 0 || events_.unsettled() > 0; }

 private:
  Async<void> run_to(FunctionPtr function, Payload payload, InvokeWishes wishes, Places::Place place,
                     Promise<InvokeOutcome> done);

  const Parts parts_;
  bool draining_ = false;
  bool closing_ = false;
  Places places_;
  InvocationRunner runner_;
  EventQueue events_;
  Scope running_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
