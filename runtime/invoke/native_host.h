// Runs native handlers: C++ coroutines in this process, resumed by the loop.
#pragma once

#include "runtime/invoke/function.h"
#include "runtime/invoke/native_registry.h"
#include "runtime/trace/tracer.h"

namespace freshet {

// The outcome of a failed function, with the error document that callers know: {"errorMessage": ..., "errorType":
// ...}.
InvokeOutcome failed_outcome(std::string type, std::string message);
// "Sandbox.Timedout", "Task timed out after 3.00 seconds".
InvokeOutcome timed_out(milliseconds timeout);

class NativeHost final : public Host {
 public:
  // Registry and services, and the tracer if there is one, must outlive every
  // invocation.
  NativeHost(const NativeRegistry& registry, Services& services, Tracer* tracer = nullptr)
      : registry_(registry), services_(services), tracer_(tracer) {}

  // A handler that still waits at the invocation's deadline is destroyed. A handler that never waits cannot be stopped,
  // so native handlers must do bounded work between waits.
  Async<InvokeOutcome> invoke(const FunctionDefinition& function, Invocation invocation) override;

 private:
  const NativeRegistry& registry_;
  Services& services_;
  Tracer* const tracer_;
};

}  // namespace freshet
