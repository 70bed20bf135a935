#include "functions/runners/traced_runner.h"

#include <utility>

#include "functions/queue/attributes.h"
#include "runtime/trace/attempt_span.h"
#include "runtime/trace/traced_services.h"

namespace freshet {
namespace {

// An attempt that its processor drops, as when its lease is lost, has its span, too.
class AttemptSpan {
 public:
  AttemptSpan(Tracer& tracer, Span span) : tracer_(tracer), span_(std::move(span)) {
    span_.error = "dropped before it ended";
  }
  AttemptSpan(const AttemptSpan&) = delete;
  AttemptSpan& operator=(const AttemptSpan&) = delete;
  ~AttemptSpan() { tracer_.finish(std::move(span_)); }

  std::string header() const { return Tracer::header_of(span_); }
  void end(std::string error) { span_.error = std::move(error); }

 private:
  Tracer& tracer_;
  Span span_;
};

// Empty for a success.
std::string error_of(const RunResult& result) {
  if (result.kind == RunResult::Kind::kSuccess) return {};
  const std::string& said = result.reason.empty() ? result.error : result.reason;
  return result.kind == RunResult::Kind::kBounced ? "handed back: " + said : said;
}

class TracedRunner final : public Runner {
 public:
  TracedRunner(std::unique_ptr<Runner> runner, const RunnerSettings& settings, Tracing tracing, std::string header,
               std::string queue)
      : runner_(std::move(runner)),
        settings_(settings),
        tracing_(tracing),
        header_(std::move(header)),
        queue_(std::move(queue)) {}

  Async<RunResult> run(ItemRef task, std::string lease) override {
    AttemptSpan span(tracing_.tracer, begin(task));
    // Requests and calls of functions are spans below the attempt.
    TracedServices services(tracing_.plain, tracing_.tracer, span.header());
    const bool is_own = settings_.kind == RunnerKind::kHttp || settings_.kind == RunnerKind::kFunction;
    const auto own = is_own ? make_runner(settings_, services.services(), span.header()) : nullptr;
    Runner& runner = own ? *own : *runner_;
    RunResult result = co_await runner.run(std::move(task), std::move(lease));
    span.end(error_of(result));
    co_return result;
  }

 private:
  Span begin(const ItemRef& task) const {
    const Item item = task.decode();
    return begin_attempt(tracing_.tracer, header_, queue_, item.string_or(attribute::kId),
                         item.int_or(attribute::kAttempt, 0));
  }

  const std::unique_ptr<Runner> runner_;
  const RunnerSettings settings_;
  const Tracing tracing_;
  const std::string header_;
  const std::string queue_;
};

}  // namespace

std::unique_ptr<Runner> trace_attempts(std::unique_ptr<Runner> runner, const RunnerSettings& settings, Tracing tracing,
                                       std::string header, std::string queue) {
  return std::make_unique<TracedRunner>(std::move(runner), settings, tracing, std::move(header), std::move(queue));
}

}  // namespace freshet
