#include "runtime/invoke/function_process.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/invoke/http_host.h"
#include "runtime/invoke/native_host.h"

namespace freshet {

namespace {

double in_ms(nanoseconds d) {
  return static_cast<double>(d.count()) / 1e6;
}

std::string how_it_ended(const ProcessResult& result) {
  if (result.out_of_memory) return "signal: killed (out of memory)";
  if (result.too_many_threads) return "signal: killed (too many processes and threads)";
  if (!result.exit_status) {
    std::string name = sigdescr_np(result.signal) ? sigdescr_np(result.signal) : std::to_string(result.signal);
    name[0] = static_cast<char>(name[0] | 0x20);  // "killed", in the service's spelling.
    return "signal: " + name;
  }
  return fmt::format("exit status {}", *result.exit_status);
}

Async<Result<RuntimeEvent>> wait_for(std::shared_ptr<Promise<Result<RuntimeEvent>>> asked) {
  auto event = co_await asked->future();
  co_return event;
}

}  // namespace

FunctionProcess::FunctionProcess(Parts parts, ProcessJob first)
    : parts_(std::move(parts)),
      function_(first.function),
      job_(std::move(first)),
      request_id_(job_->invocation.request_id),
      log_(parts_.scheduler.clock(),
           [this](OutputStream stream, std::string_view line, bool cut) { log_line(stream, line, cut); }) {
  if (job_->invocation.only_starts) {
    warm_up_ = job_->done;
    job_.reset();
  }
}

FunctionProcess::~FunctionProcess() {
  if (timer_ != 0) parts_.scheduler.cancel(timer_);
}

void FunctionProcess::begin() {
  ++parts_.stats.starts;
  since_ = parts_.scheduler.clock().boot();
  auto door = parts_.api.open(*this);
  if (!door) {
    finish(failed_outcome(std::string(kHostUnavailable), door.error().message));
    return ended();
  }
  door_ = std::move(*door);
  program_ = parts_.spawner.start(process_spec(*function_, parts_.settings, door_->address()), *this);
  if (!program_) {
    finish(failed_outcome(std::string(kHostUnavailable), "programs cannot be run here"));
    return ended();
  }
  set_timer(init_limit());
}

// A program that needs longer to initialise may use the invocation's time for it, as on the service.
nanoseconds FunctionProcess::init_limit() const {
  return std::max<nanoseconds>(parts_.times.init, function_->timeout);
}

void FunctionProcess::run(ProcessJob job) {
  job_ = std::move(job);
  go_on();
}

bool FunctionProcess::abandon(const std::string& request_id) {
  if (!job_ || job_->invocation.request_id != request_id) return false;
  job_.reset();
  if (state_ != State::kBusy) return true;
  parts_.scheduler.cancel(std::exchange(timer_, 0));
  end_after_output();
  return true;
}

void FunctionProcess::stop() {
  ended();
}

void FunctionProcess::retire() {
  retired_ = true;
  if (idle()) stop();
}

Async<Result<RuntimeEvent>> FunctionProcess::next() {
  const bool waits_already = asked_ && asked_.use_count() > 1;
  if (waits_already || state_ == State::kEnding || state_ == State::kEnded) {
    const char* why = waits_already ? "another call waits for the next event" : "this process is to end";
    return Result<RuntimeEvent>(fail(misplaced(why)));
  }
  // As on the service: an event that was handed out may have been lost with its connection.
  if (state_ == State::kBusy) return Result<RuntimeEvent>(event());
  asked_ = std::make_shared<Asked>(parts_.scheduler);
  Async<Result<RuntimeEvent>> waiting = wait_for(asked_);
  go_on();
  return waiting;
}

void FunctionProcess::go_on() {
  if (!asked_ || asked_.use_count() < 2 || !flushed_) return;
  if (state_ != State::kStarting && state_ != State::kSettling && state_ != State::kIdle) return;
  started({"null", std::nullopt});
  if (job_) return hand_over();
  if (retired_ && state_ != State::kStarting) return ended();
  parts_.scheduler.cancel(std::exchange(timer_, 0));
  state_ = State::kIdle;
  since_ = parts_.scheduler.clock().boot();
  parts_.owner.on_idle(*this);
}

void FunctionProcess::hand_over() {
  end_lines();
  log_.begin_tail();
  request_id_ = job_->invocation.request_id;
  state_ = State::kBusy;
  since_ = parts_.scheduler.clock().boot();
  set_timer(job_->function->timeout);
  std::exchange(asked_, nullptr)->set(event());
}

RuntimeEvent FunctionProcess::event() const {
  const Clock& clock = parts_.scheduler.clock();
  const nanoseconds left = job_->function->timeout - (clock.boot() - since_);
  RuntimeEvent event;
  event.request_id = request_id_;
  event.deadline_ms = epoch_ms(clock.wall() + std::chrono::floor<milliseconds>(left));
  const std::string& invoked = job_->invocation.invoked_as;
  event.function_arn = function_arn(parts_.settings.account, invoked.empty() ? function_->name : invoked);
  event.trace_id = job_->invocation.trace_id;
  event.payload = job_->invocation.payload.text();
  event.client_context = job_->invocation.client_context;
  return event;
}

Result<void> FunctionProcess::answer(const std::string& request_id, InvokeOutcome outcome) {
  if (state_ != State::kBusy || request_id != request_id_) {
    return fail(misplaced("there is no such event in work: " + request_id.substr(0, 100)));
  }
  took_ = parts_.scheduler.clock().boot() - since_;
  state_ = State::kSettling;
  set_timer(parts_.times.settle);
  finish(std::move(outcome));
  flushed_ = false;
  if (!reported_end_) program_->flush();
  return {};
}

Result<void> FunctionProcess::fail_init(InvokeOutcome outcome) {
  if (state_ != State::kStarting) return fail(misplaced("the initialization is over"));
  init_failure_ = std::move(outcome);
  // It should end by itself; otherwise it is ended after this time.
  set_timer(parts_.times.settle);
  return {};
}

Error FunctionProcess::misplaced(std::string what) {
  ++parts_.stats.bad_answers;
  if (!std::exchange(bad_answer_logged_, true)) {
    parts_.log.warn("FUNCTION_BAD_ANSWER", {{"function", function_->name}, {"requestId", request_id_}, {"what", what}});
  }
  return Error{ErrorCode::kValidation, std::move(what), nullptr};
}

void FunctionProcess::started(const InvokeOutcome& outcome) {
  if (warm_up_) warm_up_->set(outcome);
  warm_up_.reset();
}

// Delivers the outcome at once, unless it must include the log.
void FunctionProcess::finish(InvokeOutcome outcome) {
  started(outcome);
  if (!job_) return;
  finished_ = Finished{job_->done, std::move(outcome), job_->invocation.wants_log};
  job_.reset();
  if (!finished_->wants_log) deliver();
}

void FunctionProcess::deliver() {
  if (!finished_) return;
  Finished finished = std::move(*finished_);
  finished_.reset();
  if (finished.wants_log) {
    end_lines();
    log_.add_to_tail(report());
    const std::string& log = log_.tail();
    const std::string_view version = function_->version.empty() ? kLatestVersion : std::string_view(function_->version);
    finished.outcome.log = fmt::format("START RequestId: {} Version: {}\n{}", request_id_, version, log);
    if (finished.outcome.log.size() > ProcessLog::kTailBytes) {
      finished.outcome.log = log.substr(log.size() - std::min(log.size(), ProcessLog::kTailBytes));
    }
  }
  finished.done.set(std::move(finished.outcome));
}

std::string FunctionProcess::report() const {
  return fmt::format(
      "END RequestId: {}\nREPORT RequestId: {}\tDuration: {:.2f} ms\tBilled Duration: {} ms\t"
      "Memory Size: {} MB\t\n",
      request_id_, request_id_, in_ms(took_), static_cast<int64_t>(in_ms(took_)) + 1, function_->memory_mib);
}

void FunctionProcess::on_output(OutputStream stream, std::string bytes, uint64_t dropped) {
  parts_.stats.log_dropped_bytes += dropped;
  unwritten_.push_back({stream, std::move(bytes)});
  if (unwritten_.size() == 1) write_lines();
}

// Logs some of them: thousands would hold up the loop. The rest follows in a step of its own; everything that must come
// after all output waits for it.
void FunctionProcess::write_lines() {
  Output& first = unwritten_.front();
  first.done += log_.write(first.stream, std::string_view(first.bytes).substr(first.done));
  count_lines();
  if (first.done == first.bytes.size()) unwritten_.pop_front();
  if (!unwritten_.empty()) {
    parts_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
      if (alive.lock()) write_lines();
    });
    return;
  }
  const bool ended_too = reported_end_.has_value();
  if (std::exchange(flush_pending_, false)) on_flushed();
  if (ended_too && state_ != State::kEnded) finish_end();
}

void FunctionProcess::end_lines() {
  log_.end_lines();
  count_lines();
}

void FunctionProcess::count_lines() {
  parts_.stats.log_lines += log_.take_lines();
  parts_.stats.log_dropped_lines += log_.take_dropped_lines();
}

void FunctionProcess::log_line(OutputStream stream, std::string_view text, bool cut) {
  std::string line(text);
  // The runtime clients for Node.js, ours and the official one, write each call of console.* as one line.
  if (function_->runtime.starts_with("nodejs")) std::replace(line.begin(), line.end(), '\r', '\n');
  parts_.log.info("FUNCTION_LOG", {{"function", function_->name},
                                   {"requestId", request_id_},
                                   {"stream", stream == OutputStream::kOutput ? "stdout" : "stderr"},
                                   {"line", line},
                                   {"cut", cut}});
}

void FunctionProcess::on_flushed() {
  flush_pending_ = !unwritten_.empty();
  if (flush_pending_) return;
  end_lines();
  deliver();
  if (state_ == State::kEnding) return ended();
  flushed_ = true;
  go_on();
}

void FunctionProcess::on_timer() {
  timer_ = 0;
  if (state_ == State::kBusy) {
    took_ = parts_.scheduler.clock().boot() - since_;
    finish(failed("Sandbox.Timedout", timed_out(job_->function->timeout).error->message));
  } else if (state_ == State::kStarting && init_failure_) {
    finish(std::move(*init_failure_));
  } else if (state_ == State::kStarting) {
    finish(failed("Sandbox.Timedout", fmt::format("Init timed out after {:.2f} seconds", in_ms(init_limit()) / 1000)));
  } else {
    ++parts_.stats.crashes;  // It answered, but did not ask for another event.
  }
  end_after_output();
}

// Output that it has written so far still counts.
void FunctionProcess::end_after_output() {
  state_ = State::kEnding;
  if (!reported_end_) program_->flush();
}

void FunctionProcess::on_end(Result<ProcessResult> result) {
  reported_end_ = std::move(result);
  if (unwritten_.empty()) finish_end();
}

void FunctionProcess::finish_end() {
  const Result<ProcessResult>& result = *reported_end_;
  end_lines();
  if (state_ != State::kEnding) ++parts_.stats.crashes;
  if (state_ == State::kStarting || state_ == State::kBusy) {
    took_ = parts_.scheduler.clock().boot() - since_;
    finish(init_failure_ ? std::move(*init_failure_) : exit_outcome(result));
  }
  deliver();
  ended();
}

InvokeOutcome FunctionProcess::exit_outcome(const Result<ProcessResult>& result) const {
  if (!result && result.error().code == ErrorCode::kIo) {
    const std::string advice = start_advice(*function_, parts_.settings);
    return failed("Runtime.InvalidEntrypoint", result.error().message + (advice.empty() ? "" : ". " + advice));
  }
  if (!result) return failed_outcome(std::string(kHostUnavailable), result.error().message);
  if (result->exit_status == 0) return failed("Runtime.ExitError", "Runtime exited without providing a reason");
  std::string how = how_it_ended(*result);
  // Shells and version managers end with 127 if they do not find the program.
  if (state_ == State::kStarting && result->exit_status == 127) {
    how += " (a program was not found: check " + process_spec(*function_, parts_.settings, "").argv.front() +
           ", which starts the function)";
  }
  return failed("Runtime.ExitError", "Runtime exited with error: " + how);
}

InvokeOutcome FunctionProcess::failed(std::string type, const std::string& message) const {
  return failed_outcome(std::move(type), "RequestId: " + request_id_ + " Error: " + message);
}

void FunctionProcess::ended() {
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  parts_.scheduler.cancel(std::exchange(timer_, 0));
  deliver();
  program_.reset();
  door_.reset();
  parts_.owner.on_ended(*this, std::exchange(job_, std::nullopt));
}

void FunctionProcess::set_timer(nanoseconds delay) {
  parts_.scheduler.cancel(timer_);
  timer_ = parts_.scheduler.call_after(delay, [this] { on_timer(); });
}

}  // namespace freshet
