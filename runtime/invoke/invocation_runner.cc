#include "runtime/invoke/invocation_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/invoke/native_host.h"
#include "runtime/invoke/trace.h"

namespace freshet {

namespace {

constexpr size_t kMaxShownError = 1000;

// Keeps an entry in a list during its lifetime.
class Listed {
 public:
  Listed(std::list<std::string>& list, const std::string& text) : list_(list), at_(list.insert(list.end(), text)) {}
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  ~Listed() { list_.erase(at_); }

 private:
  std::list<std::string>& list_;
  const std::list<std::string>::iterator at_;
};

}  // namespace

// Empty for an invocation without a trace.
std::optional<Span> InvocationRunner::begin_span(const FunctionDefinition& function, const std::string& request_id,
                                                 const std::string& header) {
  if (!parts_.tracer || !is_sampled(header)) return std::nullopt;
  Span span = parts_.tracer->begin(function.name, header);
  span.attributes = {{"faas.name", function.name}, {"faas.invocation_id", request_id}};
  return span;
}

bool InvocationRunner::runs_in_trace(const std::string& trace_id) const {
  const std::string root = parse_trace(trace_id).root;
  return !root.empty() && std::any_of(traces_.begin(), traces_.end(),
                                      [&](const std::string& trace) { return parse_trace(trace).root == root; });
}

bool InvocationRunner::has_room_for_event(const FunctionDefinition& function, int events) const {
  const auto host = parts_.hosts.find(function.host);
  if (host == parts_.hosts.end() || host->second->has_room()) return true;
  const auto callers = callers_.find(function.host);
  return callers != callers_.end() && events < callers->second;
}

Async<InvokeOutcome> InvocationRunner::run(FunctionPtr function, std::string request_id, Payload payload,
                                           InvokeWishes wishes) {
  ++stats_[function->name].invocations;
  const FunctionPtr target = parts_.functions.target_of(function, parts_.random);
  const auto host = parts_.hosts.find(target->host);
  if (host == parts_.hosts.end()) {
    ++stats_[function->name].errors;
    co_return failed_outcome("Runtime.HostNotFound", fmt::format("There is no host \"{}\"", target->host));
  }
  Invocation invocation;
  if (target != function) invocation.invoked_as = function->name;
  invocation.request_id = request_id;
  invocation.payload = std::move(payload);
  invocation.deadline = parts_.scheduler.clock().boot() + target->timeout;
  invocation.wants_log = wishes.wants_log;
  invocation.client_context = std::move(wishes.client_context);
  invocation.ends_with_caller = wishes.ends_with_caller;
  std::optional<Span> span = begin_span(*function, request_id, wishes.trace_id);
  invocation.trace_id =
      span ? Tracer::header_of(*span) : trace_of(wishes.trace_id, parts_.scheduler.clock().wall(), parts_.random);
  const Listed listed(traces_, invocation.trace_id);
  InvokeOutcome outcome = co_await host->second->invoke(*target, std::move(invocation));
  outcome.version = target->version;
  if (span) {
    if (outcome.error) span->error = outcome.error->type + ": " + outcome.error->message.substr(0, kMaxShownError);
    parts_.tracer->finish(std::move(*span));
  }
  if (outcome.error) count_error(function->name, request_id, *outcome.error);
  co_return outcome;
}

void InvocationRunner::count_error(const std::string& function, const std::string& request_id,
                                   const FunctionError& error) {
  FunctionStats& stats = stats_[function];
  ++stats.errors;
  if (error.type == "Sandbox.Timedout") ++stats.timeouts;
  // The function's own text may have any length.
  const auto shown = [](std::string_view text) { return text.substr(0, kMaxShownError); };
  parts_.log.warn("FUNCTION_ERROR", {{"function", function},
                                     {"requestId", request_id},
                                     {"errorType", shown(error.type)},
                                     {"errorMessage", shown(error.message)}});
}

}  // namespace freshet
