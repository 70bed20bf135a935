#include "runtime/invoke/native_host.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "runtime/invoke/trace.h"
#include "runtime/trace/traced_services.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

InvokeOutcome outcome_of(Result<std::string> result) {
  if (result) return InvokeOutcome{result->empty() ? "null" : std::move(*result), std::nullopt};
  return failed_outcome(std::string(error_name(result.error().code)), std::move(result.error().message));
}

// Empty: the time has run out.
using Finished = std::optional<InvokeOutcome>;

Async<void> finish(Async<Result<std::string>> handler, Promise<Finished> finished) {
  auto result = co_await handler;
  finished.set(outcome_of(std::move(result)));
}

class Alarm {
 public:
  Alarm(Scheduler& scheduler, BootTime when, Promise<Finished> finished)
      : scheduler_(scheduler), id_(scheduler.call_at(when, [finished] { finished.set(std::nullopt); })) {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() { scheduler_.cancel(id_); }

 private:
  Scheduler& scheduler_;
  const TimerId id_;
};

// Until its first wait it runs with its trace as the current one.
Async<Result<std::string>> begin(const NativeHandler& handler, Context& context, TraceLinks* links) {
  const TraceLinks::Scope scope(links, context.invocation.trace_id);
  return handler(context);
}

}  // namespace

InvokeOutcome failed_outcome(std::string type, std::string message) {
  std::string document = R"({"errorMessage":)";
  append_json_string(document, message);
  document += R"(,"errorType":)";
  append_json_string(document, type);
  document += '}';
  return InvokeOutcome{std::move(document), FunctionError{std::move(type), std::move(message)}};
}

InvokeOutcome timed_out(milliseconds timeout) {
  return failed_outcome("Sandbox.Timedout", fmt::format("Task timed out after {}.{:02} seconds", timeout.count() / 1000,
                                                        timeout.count() % 1000 / 10));
}

Async<InvokeOutcome> NativeHost::invoke(const FunctionDefinition& function, Invocation invocation) {
  const NativeHandler* handler = registry_.find(function.handler);
  if (!handler) {
    co_return failed_outcome("Runtime.HandlerNotFound",
                             fmt::format("There is no native handler \"{}\"", function.handler));
  }
  std::shared_ptr<TracedServices> traced;
  if (tracer_ && is_sampled(invocation.trace_id)) {
    traced = std::make_shared<TracedServices>(services_, *tracer_, invocation.trace_id);
  }
  Context context{traced ? traced->services() : services_, function, std::move(invocation), traced};
  if (traced) context.tracing.emplace(Tracing{*tracer_, services_});
  Async<Result<std::string>> running = begin(*handler, context, traced ? &tracer_->links() : nullptr);
  if (running.is_ready()) co_return outcome_of(running.take());

  Promise<Finished> finished(services_.scheduler);
  Alarm alarm(services_.scheduler, context.invocation.deadline, finished);
  Scope scope;  // Ends the handler where it waits, at the timeout or when this invocation is destroyed.
  scope.spawn(finish(std::move(running), finished));
  Finished outcome = co_await finished.future();
  if (!outcome) co_return timed_out(function.timeout);
  co_return std::move(*outcome);
}

}  // namespace freshet
