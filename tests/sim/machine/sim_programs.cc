#include "tests/sim/machine/sim_programs.h"

#include <utility>
#include <vector>

namespace freshet::sim {

namespace {

enum class Fate { kWell, kError, kBusy, kGarbage, kKilled, kNoMemory, kHangs, kNotStarted };

Fate draw_fate(Random& random) {
  const uint64_t drawn = random.below(100);
  if (drawn < 60) return Fate::kWell;
  if (drawn < 70) return Fate::kError;
  if (drawn < 78) return Fate::kBusy;
  if (drawn < 84) return Fate::kGarbage;
  if (drawn < 89) return Fate::kKilled;
  if (drawn < 93) return Fate::kNoMemory;
  return drawn < 97 ? Fate::kHangs : Fate::kNotStarted;
}

void end_as(Fate fate, ProcessResult& result) {
  switch (fate) {
    case Fate::kError:
      result.exit_status = 1;
      result.error_output = "no\n";
      break;
    case Fate::kBusy:
      result.exit_status = 75;
      break;
    case Fate::kGarbage:
      result.exit_status = 0;
      result.output = std::string("\xff\xfe{\"\0]", 6);
      break;
    case Fate::kKilled:
      result.signal = 11;
      break;
    case Fate::kNoMemory:
      result.signal = 9;
      result.out_of_memory = true;
      break;
    default:
      result.exit_status = 0;
      result.output = "{\"done\": true}\n";
  }
}

}  // namespace

namespace {

std::string request_id_of(const HttpResponse& response) {
  for (const auto& [name, value] : response.headers) {
    if (name == "Lambda-Runtime-Aws-Request-Id") return value;
  }
  return {};
}

// A program that stays, as its Runtime API sees it.
class StayingProgram final : public Program {
 public:
  StayingProgram(const ProcessSpec& spec, ProgramWatcher& watcher, ProgramPlay& play)
      : watcher_(watcher), play_(play), api_("http://" + spec.environment.at("AWS_LAMBDA_RUNTIME_API")) {
    scope_.spawn(serve());
  }
  ~StayingProgram() override {
    if (asks_ && !play_.daemon_ends) play_.lost_event();
    play_.outside->cancel(end_);
    for (const TimerId timer : flushes_) play_.outside->cancel(timer);
  }
  // Timers, not coroutines of the scope: the watcher may end this program in its call.
  void flush() override {
    flushes_.push_back(
        play_.outside->call_after(std::chrono::microseconds(10), [watcher = &watcher_] { watcher->on_flushed(); }));
  }

 private:
  Async<void> pause(uint64_t most_ms) {
    return sleep_for(*play_.outside, milliseconds(static_cast<int64_t>(play_.random.below(most_ms))));
  }
  // It is over with this call: nothing of it may run after on_end().
  void end(Fate fate) {
    ProcessResult result;
    end_as(fate, result);
    end_ = play_.outside->call_after(nanoseconds(0), [watcher = &watcher_, result] { watcher->on_end(result); });
  }

  Async<void> serve() {
    co_await pause(200);
    for (;;) {
      HttpRequest asks;
      asks.method = "GET";
      std::string url = api_ + "/2018-06-01/runtime/invocation/next";
      asks_ = true;
      auto event = co_await play_.http->send(std::move(url), std::move(asks), std::chrono::minutes(10));
      asks_ = false;
      if (!event || event->status != 200) {
        play_.lost_event();
        co_return end(Fate::kError);
      }
      const Fate fate = play_.calm() ? Fate::kWell : draw_fate(play_.random);
      play_.saw("function " + std::to_string(static_cast<int>(fate)));
      play_.started(event->body);
      if (fate == Fate::kHangs) co_return;
      co_await pause(play_.calm() ? 20 : 400);
      if (fate == Fate::kKilled || fate == Fate::kNoMemory || fate == Fate::kNotStarted) co_return end(fate);
      HttpRequest answers;
      answers.method = "POST";
      answers.body = fate == Fate::kGarbage ? std::string("{\"un") : "{\"done\": true}";
      const bool failed = fate == Fate::kError || fate == Fate::kBusy;
      if (!failed) play_.answers(event->body, answers.body);
      url = api_ + "/2018-06-01/runtime/invocation/" + request_id_of(*event) + (failed ? "/error" : "/response");
      const bool twice = !play_.calm() && play_.random.below(10) == 0;
      HttpRequest again = answers;
      std::string same = url;
      auto answered = co_await play_.http->send(std::move(url), std::move(answers), seconds(10));
      if (twice) answered = co_await play_.http->send(std::move(same), std::move(again), seconds(10));
      if (!answered) co_return end(Fate::kError);
    }
  }

  ProgramWatcher& watcher_;
  ProgramPlay& play_;
  const std::string api_;
  bool asks_ = false;  // For an event, whose answer may be on its way.
  TimerId end_ = 0;
  std::vector<TimerId> flushes_;
  Scope scope_;
};

}  // namespace

std::unique_ptr<Program> SimPrograms::start(ProcessSpec spec, ProgramWatcher& watcher) {
  return std::make_unique<StayingProgram>(spec, watcher, play_);
}

Async<Result<ProcessResult>> SimPrograms::run(ProcessSpec spec) {
  if (play_.runs) {
    auto running = play_.runs(std::move(spec), scheduler_);
    co_return co_await running;
  }
  const bool calm = play_.calm();
  const Fate fate = calm ? Fate::kWell : draw_fate(play_.random);
  play_.saw("program " + std::to_string(static_cast<int>(fate)));
  if (fate == Fate::kNotStarted) co_return fail(ErrorCode::kUnavailable, "the machine has no processes left");
  play_.started(spec.input);
  ProcessResult result;
  const milliseconds works(static_cast<int64_t>(play_.random.below(calm ? 20 : 400)));
  const bool late = fate == Fate::kHangs && spec.timeout.count() > 0;
  co_await sleep_for(scheduler_, late ? spec.timeout : works);
  result.timed_out = late;
  if (late) {
    result.signal = 9;
  } else {
    end_as(fate, result);
  }
  co_return result;
}

}  // namespace freshet::sim
