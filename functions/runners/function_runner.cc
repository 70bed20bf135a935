#include "functions/runners/function_runner.h"

#include "functions/runners/function_answer.h"
#include "runtime/invoke/http_host.h"
#include "runtime/invoke/invoker.h"

namespace freshet {

namespace {

using Answer = Result<InvokeOutcome>;

// Empty: the time is over.
Async<void> invoke(Invoker& functions, std::string name, std::string event, InvokeWishes wishes,
                   Promise<std::optional<Answer>> done) {
  auto answer = co_await functions.invoke(std::move(name), std::move(event), std::move(wishes));
  done.set(std::move(answer));
}

Async<void> time_out(Scheduler& scheduler, milliseconds timeout, Promise<std::optional<Answer>> done) {
  co_await sleep_for(scheduler, timeout);
  done.set(std::nullopt);
}

RunResult failure(std::string error) {
  RunResult out;
  out.kind = RunResult::Kind::kFailure;
  out.error = std::move(error);
  return out;
}

// Nobody has looked at the task.
RunResult bounce(DownstreamRefusal refusal, std::string reason, std::string error, std::optional<milliseconds> delay) {
  RunResult out;
  out.kind = RunResult::Kind::kBounced;
  out.refusal = refusal;
  out.reason = std::move(reason);
  out.error = std::move(error);
  out.delay = delay;
  return out;
}

}  // namespace

Async<RunResult> FunctionRunner::run(ItemRef task, std::string lease) {
  const auto delay = settings_.retry_after;
  if (services_.functions == nullptr) {
    co_return bounce(DownstreamRefusal::kUnreachable, {}, "there are no functions here", delay);
  }
  InvokeWishes wishes;
  wishes.trace_id = trace_id_;
  wishes.ends_with_caller = true;
  Promise<std::optional<Answer>> done(services_.scheduler);
  Scope work;
  std::string name = settings_.function;
  std::string event = task_json(task, lease);
  work.spawn(invoke(*services_.functions, std::move(name), std::move(event), std::move(wishes), done));
  work.spawn(time_out(services_.scheduler, settings_.timeout, done));
  auto answer = co_await done.future();
  if (!answer) {
    auto out =
        failure("the function was ended after " + std::to_string(settings_.timeout.count()) + " ms (TASK_TIMEOUT_MS)");
    out.answered = false;
    co_return out;
  }
  if (!*answer) {
    Error& error = answer->error();
    const bool is_at_limit = error.code == ErrorCode::kTooManyRequests;
    auto out = is_at_limit ? bounce(DownstreamRefusal::kTooManyRequests,
                                    "the function is at its concurrency: " + error.message, {}, delay)
                           : bounce(DownstreamRefusal::kUnreachable, {}, std::move(error.message), delay);
    out.begun = false;
    co_return out;
  }
  const InvokeOutcome& outcome = **answer;
  // A function at a URL is the same from every daemon; a process of this machine is not.
  const auto definition = services_.functions->find(settings_.function);
  const bool is_here = definition && definition->host != "http";
  if (outcome.error && outcome.error->type == kHostUnavailable) {
    auto out = bounce(DownstreamRefusal::kUnreachable, {}, error_text(outcome.payload), delay);
    out.begun = !is_here;
    co_return out;
  }
  if (is_busy(outcome)) {
    auto out = bounce(DownstreamRefusal::kUnavailable, error_text(outcome.payload), {}, delay);
    out.begun = !is_here;
    co_return out;
  }
  if (outcome.error) co_return failure(error_text(outcome.payload));
  co_return answer_of(outcome.payload);
}

}  // namespace freshet
