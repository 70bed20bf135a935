#include "functions/runners/exec_runner.h"

#include "functions/queue/attributes.h"
#include "functions/runners/http_runner.h"

namespace freshet {

namespace {

constexpr int kTemporaryFailure = 75;  // EX_TEMPFAIL of sysexits.h.
constexpr size_t kMaxOutput = 64u << 10;
constexpr size_t kMaxExecErrorBytes = 1024;

std::string last_bytes(const std::string& text) {
  auto end = text.find_last_not_of("\r\n ");
  if (end == std::string::npos) return {};
  auto trimmed = text.substr(0, end + 1);
  if (trimmed.size() > kMaxExecErrorBytes) trimmed = trimmed.substr(trimmed.size() - kMaxExecErrorBytes);
  return clean_text(trimmed, kMaxExecErrorBytes);
}

std::string what_happened(const ProcessResult& result, milliseconds timeout) {
  std::string out;
  if (result.timed_out) {
    out = "the program was killed after " + std::to_string(timeout.count()) + " ms";
  } else if (result.exit_status) {
    out = "the program ended with exit status " + std::to_string(*result.exit_status);
  } else {
    out = "the program was killed by signal " + std::to_string(result.signal);
  }
  auto said = last_bytes(result.error_output);
  return said.empty() ? out : out + ": " + said;
}

}  // namespace

Async<RunResult> ExecRunner::run(ItemRef task, std::string lease) {
  ProcessSpec spec;
  spec.argv = settings_.argv;
  spec.environment = settings_.environment;
  auto& path = spec.environment["PATH"];
  if (path.empty()) path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  spec.environment["FRESHET_TASK_ID"] = text_of(task, attribute::kId);
  spec.environment["FRESHET_ATTEMPT"] = std::to_string(attempt_of(task));
  spec.environment["FRESHET_LEASE"] = lease;
  spec.input = task_json(task, lease) + "\n";
  spec.timeout = settings_.timeout;
  spec.max_output = kMaxOutput;
  auto ran = co_await spawner_.run(std::move(spec));
  RunResult out;
  if (!ran && ran.error().code == ErrorCode::kUnavailable) {
    out.kind = RunResult::Kind::kBounced;  // The program has not been at fault.
    out.error = std::move(ran.error().message);
    out.delay = settings_.retry_after;
  } else if (!ran) {
    out.kind = RunResult::Kind::kFailure;
    out.error = std::move(ran.error().message);
    out.answered = out.begun = false;
  } else if (!ran->timed_out && ran->exit_status == 0) {
    out.result = kept_result(last_bytes(ran->output).empty() ? std::string_view() : ran->output, kMaxOutput);
  } else if (!ran->timed_out && ran->exit_status == kTemporaryFailure) {
    out.kind = RunResult::Kind::kBounced;
    out.reason = "the program ended with status 75";
    out.refusal = DownstreamRefusal::kTemporary;
    out.delay = settings_.retry_after;
  } else {
    out.kind = RunResult::Kind::kFailure;
    out.error = what_happened(*ran, settings_.timeout);
    out.answered = !ran->timed_out;
  }
  co_return out;
}

}  // namespace freshet
