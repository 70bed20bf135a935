#include "runtime/invoke/function_invoker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "runtime/invoke/native_host.h"
#include "runtime/invoke/trace.h"

namespace freshet {

namespace {

constexpr size_t kMaxShownError = 1000;

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

FunctionInvoker::FunctionInvoker(Parts parts)
    : parts_(std::move(parts)),
      places_(parts_.options.unreserved_concurrency,
              [this](const std::string& function, bool reserved) {
                if (!closing_) events_.place_freed(function, reserved);
              }),
      events_(EventQueue::Parts{
          parts_.tables, parts_.scheduler, parts_.random, parts_.functions, places_, parts_.account, parts_.options,
          parts_.log, parts_.wall, [this](const std::string& function) -> FunctionStats& { return stats_[function]; },
          [this](FunctionPtr function, std::string request_id, std::string payload, std::string trace_id) {
            InvokeWishes wishes{false, std::move(trace_id)};
            return run(std::move(function), std::move(request_id), std::move(payload), std::move(wishes));
          },
          [this](const FunctionDefinition& function, int events) {
            const auto host = parts_.hosts.find(function.host);
            if (host == parts_.hosts.end() || host->second->has_room()) return true;
            const auto callers = callers_.find(function.host);
            return callers != callers_.end() && events < callers->second;
          },
          [this](const std::string& name) { stats_.erase(name); }}) {}

FunctionInvoker::~FunctionInvoker() {
  end_all();
}

void FunctionInvoker::end_all() {
  closing_ = true;
  running_.clear();
  events_.end_all();
}

// Empty for an invocation without a trace.
std::optional<Span> FunctionInvoker::begin_span(const FunctionDefinition& function, const std::string& request_id,
                                                const std::string& header) {
  if (!parts_.tracer || !is_sampled(header)) return std::nullopt;
  Span span = parts_.tracer->begin(function.name, header);
  span.attributes = {{"faas.name", function.name}, {"faas.invocation_id", request_id}};
  return span;
}

std::string FunctionInvoker::cause_of(const std::string& table, const std::vector<ChangeRecord>& records) const {
  if (!parts_.tracer) return {};
  for (const ChangeRecord& record : records) {
    std::string trace = parts_.tracer->links().find(table, record.sequence);
    if (!trace.empty()) return trace;
  }
  return {};
}

bool FunctionInvoker::comes_from_function(const std::string& trace_id) const {
  const std::string root = parse_trace(trace_id).root;
  return !root.empty() && std::any_of(traces_.begin(), traces_.end(),
                                      [&](const std::string& trace) { return parse_trace(trace).root == root; });
}

Async<InvokeOutcome> FunctionInvoker::run(FunctionPtr function, std::string request_id, Payload payload,
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
  if (outcome.error) {
    FunctionStats& stats = stats_[function->name];
    ++stats.errors;
    if (outcome.error->type == "Sandbox.Timedout") ++stats.timeouts;
    // The function's own text may have any length.
    const auto shown = [](std::string_view text) { return text.substr(0, kMaxShownError); };
    parts_.log.warn("FUNCTION_ERROR", {{"function", function->name},
                                       {"requestId", request_id},
                                       {"errorType", shown(outcome.error->type)},
                                       {"errorMessage", shown(outcome.error->message)}});
  }
  co_return outcome;
}

Async<void> FunctionInvoker::run_to(FunctionPtr function, Payload payload, InvokeWishes wishes, Places::Place place,
                                    Promise<InvokeOutcome> done) {
  struct Counted {
    explicit Counted(int& c) : count(c) { ++count; }
    ~Counted() { --count; }
    int& count;
  };
  const Counted caller(callers_[function->host]);
  const Places::Place held = std::move(place);
  std::string request_id = parts_.random.uuid();
  std::string id = request_id;
  InvokeOutcome outcome =
      co_await run(std::move(function), std::move(request_id), std::move(payload), std::move(wishes));
  outcome.request_id = std::move(id);
  done.set(std::move(outcome));
}

Async<Result<InvokeOutcome>> FunctionInvoker::invoke(std::string function, std::string payload, InvokeWishes wishes) {
  if (draining_ && !comes_from_function(wishes.trace_id)) {
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
    ++stats_[definition->name].throttles;
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
  ++stats_[definition->name].events;
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
    ++stats_[name].events;
    logged();
  };
  return event;
}

std::map<std::string, FunctionStats> FunctionInvoker::stats() const {
  std::map<std::string, FunctionStats> all = stats_;
  for (const FunctionDefinition& function : parts_.functions.list()) all.try_emplace(function.name);
  for (auto& [name, stats] : all) {
    stats.running = places_.running(name);
    stats.queued = events_.waiting(name);
  }
  return all;
}

}  // namespace freshet
