#include "runtime/invoke/function_invoker.h"

#include <fmt/format.h>

#include "base/limits.h"

namespace freshet {

namespace {

auto no_function(const std::string& function) {
  return fail(ErrorCode::kResourceNotFound, fmt::format("Function not found: {}", function));
}

Result<void> check_size(const std::string& payload, size_t limit) {
  if (payload.size() > limit) {
    return fail(ErrorCode::kRequestTooLarge,
                fmt::format("Request must be smaller than {} bytes for the InvokeFunction operation", limit));
  }
  return {};
}

}  // namespace

FunctionInvoker::FunctionInvoker(Parts parts)
    : parts_(std::move(parts)),
      places_(parts_.options.unreserved_concurrency,
              [this](const std::string& function, bool reserved) {
                if (!closing_) events_.place_freed(function, reserved);
              }),
      runner_({parts_.scheduler, parts_.random, parts_.functions, parts_.hosts, parts_.log, parts_.tracer}),
      events_({parts_.tables, parts_.scheduler, parts_.random, parts_.functions, places_, runner_, parts_.account,
               parts_.options, parts_.log, parts_.wall}) {}

FunctionInvoker::~FunctionInvoker() {
  end_all();
}

void FunctionInvoker::end_all() {
  closing_ = true;
  running_.clear();
  events_.end_all();
}

std::string FunctionInvoker::cause_of(const std::string& table, const std::vector<ChangeRecord>& records) const {
  if (!parts_.tracer) return {};
  for (const ChangeRecord& record : records) {
    std::string trace = parts_.tracer->links().find(table, record.sequence);
    if (!trace.empty()) return trace;
  }
  return {};
}

Async<void> FunctionInvoker::run_to(FunctionPtr function, Payload payload, InvokeWishes wishes, Places::Place place,
                                    Promise<InvokeOutcome> done) {
  const InvocationRunner::Caller waiting(runner_, function->host);
  const Places::Place held = std::move(place);
  std::string request_id = parts_.random.uuid();
  std::string id = request_id;
  InvokeOutcome outcome =
      co_await runner_.run(std::move(function), std::move(request_id), std::move(payload), std::move(wishes));
  outcome.request_id = std::move(id);
  done.set(std::move(outcome));
}

Async<Result<InvokeOutcome>> FunctionInvoker::invoke(std::string function, std::string payload, InvokeWishes wishes) {
  if (draining_ && !runner_.runs_in_trace(wishes.trace_id)) {
    co_return fail(
        ErrorCode::kUnavailable,
        "The daemon is stopping: it serves only calls of functions that still run. Call again once it is back");
  }
  if (payload.empty()) payload = "{}";
  if (!find(function)) co_return no_function(function);
  if (auto good = check_size(payload, limits::kMaxInvokePayloadBytes); !good) {
    co_return fail(std::move(good.error()));
  }
  Payload event(std::move(payload));
  auto outcome = co_await invoke_trusted(std::move(function), std::move(event), std::move(wishes));
  co_return outcome;
}

Async<Result<InvokeOutcome>> FunctionInvoker::invoke_trusted(std::string function, Payload payload,
                                                             InvokeWishes wishes) {
  FunctionPtr definition = find(function);
  if (!definition) co_return no_function(function);
  if (closing_) co_return fail(ErrorCode::kUnavailable, "The runtime is closing");
  auto place = places_.take(*definition, Places::For::kCaller, parts_.scheduler.clock().boot());
  if (!place) {
    ++runner_.stats(definition->name).throttles;
    co_return fail(ErrorCode::kTooManyRequests, "Rate Exceeded.");
  }
  Promise<InvokeOutcome> done(parts_.scheduler);
  auto outcome = done.future();
  if (wishes.ends_with_caller) {
    Scope here;
    here.spawn(run_to(std::move(definition), std::move(payload), std::move(wishes), std::move(*place), done));
    InvokeOutcome result = co_await outcome;
    co_return result;
  }
  // The invocation runs on its own, so that it outlives a caller that goes away.
  running_.spawn(run_to(std::move(definition), std::move(payload), std::move(wishes), std::move(*place), done));
  InvokeOutcome result = co_await outcome;
  co_return result;
}

Async<Result<std::string>> FunctionInvoker::invoke_async(std::string function, std::string payload,
                                                         std::string trace_id) {
  if (payload.empty()) payload = "{}";
  FunctionPtr definition = find(function);
  if (!definition) co_return no_function(function);
  if (auto good = check_size(payload, limits::kMaxAsyncEventBytes); !good) co_return fail(std::move(good.error()));
  std::string request_id = parts_.random.uuid();
  Delivery delivery{definition->name, std::move(payload), request_id};
  auto event = events_.prepare(definition, std::move(delivery), std::move(trace_id));
  if (!event) co_return fail(std::move(event.error()));
  auto& put = std::get<PutItemInput>(event->write);
  auto written = co_await parts_.tables.put_item(std::move(put));
  if (!written) co_return fail(std::move(written.error()));
  ++runner_.stats(definition->name).events;
  event->logged();
  co_return request_id;
}

std::string FunctionInvoker::trace_at_work() const {
  return parts_.tracer ? parts_.tracer->links().current() : std::string();
}

Result<PreparedEvent> FunctionInvoker::prepare(Delivery delivery) {
  FunctionPtr definition = find(delivery.target);
  if (!definition) return no_function(delivery.target);
  if (delivery.request_id.empty()) delivery.request_id = parts_.random.uuid();
  std::string trace = delivery.trace_id ? std::move(*delivery.trace_id) : trace_at_work();
  auto event = events_.prepare(definition, std::move(delivery), std::move(trace));
  if (!event) return event;
  event->logged = [this, name = definition->name, logged = std::move(event->logged)] {
    ++runner_.stats(name).events;
    logged();
  };
  return event;
}

std::map<std::string, FunctionStats> FunctionInvoker::stats() const {
  std::map<std::string, FunctionStats> all = runner_.all_stats();
  for (const FunctionDefinition& function : parts_.functions.list()) all.try_emplace(function.name);
  for (auto& [name, stats] : all) {
    stats.running = places_.running(name);
    stats.queued = events_.waiting(name);
  }
  return all;
}

}  // namespace freshet
