#include "app/daemon/whatif_route.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "app/daemon/recording_route.h"
#include "runtime/api/json_members.h"
#include "wire/api/calls.h"
#include "wire/http/own_error.h"
#include "wire/http/target.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

constexpr size_t kMostAlternatives = 16;
constexpr size_t kMostSettings = 32;  // In one alternative.
constexpr size_t kMostLimiterText = 200;
// Longer recordings are cut to their newest half until they are not: they are in memory as a whole.
constexpr size_t kMostRecordingBytes = 32u << 20;
constexpr size_t kMostAnswerBytes = 16u << 20;
constexpr uint64_t kMostMemory = 1u << 30;
constexpr milliseconds kLeastLast{1'000};
// It has a low priority: on a busy machine its CPU time takes longer than that. It skips windows to end in time.
constexpr int kSlower = 2;
constexpr milliseconds kMostWait{30'000};
// Then it is ended.
constexpr milliseconds kMostOverTime{60'000};
// Moves before the start that say which tasks waited then.
constexpr milliseconds kBeforeTheStart{60'000};

bool is_whatif_path(std::string_view target) {
  constexpr std::string_view kRoot = "/queues/";
  constexpr std::string_view kEnd = "/whatif";
  const std::string_view path = target.substr(0, target.find('?'));
  if (!path.starts_with(kRoot) || !path.ends_with(kEnd) || path.size() <= kRoot.size() + kEnd.size()) return false;
  return path.substr(kRoot.size(), path.size() - kRoot.size() - kEnd.size()).find('/') == std::string_view::npos;
}

bool is_setting_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Visible, in one word: what a setting has.
bool is_setting_value(std::string_view text) {
  return text.size() <= 256 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c != 0x7f; });
}

// `freshet whatif` says what is wrong within it.
bool is_limiter_text(std::string_view text) {
  return text.size() <= kMostLimiterText &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= ' ' && c != 0x7f; });
}

Result<std::string> read_alternative(const JsonView& settings) {
  const auto object = object_in(settings);
  if (!object) return fail(object.error());
  if (object->size() == 0 || object->size() > kMostSettings) {
    return invalid("'" + settings.path() + "' must have 1 to " + std::to_string(kMostSettings) + " settings");
  }
  std::string out;
  for (const JsonView setting : *object) {
    const std::string where = "'" + setting.path() + "'";
    if (!is_setting_name(setting.name())) return invalid(where + " is the name of no setting (docs/settings.md)");
    std::string value(setting.text());
    if (setting.is(JsonKind::kBool)) value = setting.boolean() ? "true" : "false";
    const bool is_plain = setting.is(JsonKind::kString) || setting.is(JsonKind::kNumber) || setting.is(JsonKind::kBool);
    if (!is_plain) return invalid(where + " must be a text or a number");
    if (!is_setting_value(value)) return invalid(where + " must be one word of at most 256 characters");
    const std::string word = std::string(setting.name()) + "=";
    if ((" " + out).find(" " + word) != std::string::npos) return invalid(where + " is there twice");
    out += (out.empty() ? "" : " ") + word + value;
  }
  return out;
}

// Empty: the comparison was ended.
using Outcome = std::optional<Result<ProcessResult>>;

// Says that one runs for as long as it lives.
class Turn {
 public:
  Turn(Comparisons& comparisons, const Promise<Outcome>& outcome) : comparisons_(comparisons) {
    comparisons_.started([outcome] { outcome.set(std::nullopt); });
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { comparisons_.stopped(); }

 private:
  Comparisons& comparisons_;
};

struct WhatIfDesk {
  std::unique_ptr<Route> recording;
  Comparisons& comparisons;
  Scheduler& scheduler;
  Spawner& spawner;
};

Async<void> run_into(Promise<Outcome> outcome, Spawner& spawner, ProcessSpec spec) {
  auto result = co_await spawner.run(std::move(spec));
  outcome.set(std::move(result));
}

HttpResponse stopping_answer() {
  return tasks::error_answer(
      {ErrorCode::kUnavailable, "the daemon is stopping, so the comparison ends: ask again once it is back", nullptr});
}

ProcessSpec spec_of(const WhatIfRequest& request, milliseconds last, std::string recording) {
  const milliseconds within = kSlower * request.budget + kMostWait;
  ProcessSpec spec;
  // The spawner's own program, which is this one, whatever lies at its path by now.
  spec.argv = {"/proc/self/exe",
               "whatif",
               "--json",
               "--file=-",
               "--last=" + std::to_string(last.count()) + "ms",
               "--budget=" + std::to_string(request.budget.count()) + "ms",
               "--within=" + std::to_string(within.count()) + "ms",
               "--seed=" + std::to_string(request.seed)};
  if (request.window) spec.argv.push_back("--window=" + std::to_string(request.window->count()) + "ms");
  if (!request.downstream.empty()) spec.argv.push_back("--downstream=" + request.downstream);
  for (const std::string& one : request.tries) spec.argv.push_back("--try=" + one);
  spec.input = std::move(recording);
  spec.timeout = within + kMostOverTime;
  spec.max_output = kMostAnswerBytes;
  spec.limits.memory = kMostMemory;
  return spec;
}

// The last line that it wrote for people, without its name.
std::string said_by(const ProcessResult& result) {
  constexpr std::string_view kName = "freshet: ";
  std::string_view text = result.error_output;
  while (text.ends_with('\n')) text.remove_suffix(1);
  text = text.substr(text.rfind('\n') + 1);
  if (text.starts_with(kName)) text.remove_prefix(kName.size());
  return std::string(text);
}

HttpResponse answer_of(const Result<ProcessResult>& result) {
  constexpr int kWrongInput = 2;  // app/cli/commands.h
  if (!result) return tasks::error_answer(result.error());
  if (result->exit_status == 0) return tasks::json_answer(result->output);
  if (result->exit_status == kWrongInput) return tasks::error_answer({ErrorCode::kValidation, said_by(*result), {}});
  const char* less = ": compare fewer settings, or a shorter time (lastMs)";
  if (result->timed_out) {
    return tasks::error_answer({ErrorCode::kTimeout, std::string("the comparison took too long") + less, {}});
  }
  if (result->out_of_memory) {
    return tasks::error_answer(
        {ErrorCode::kUnavailable, std::string("the comparison needs too much memory") + less, {}});
  }
  return tasks::error_answer({ErrorCode::kInternal, "the comparison failed: " + said_by(*result), {}});
}

class WhatIfExchange final : public Exchange {
 public:
  WhatIfExchange(WhatIfDesk& desk, std::string path, WhatIfRequest request)
      : desk_(desk), path_(std::move(path)), request_(std::move(request)) {}

  Async<void> run() override {
    if (desk_.comparisons.ended()) {
      response_ = stopping_answer();
      co_return;
    }
    if (desk_.comparisons.runs()) {
      response_ = tasks::error_answer({ErrorCode::kTooManyRequests,
                                       "another comparison runs, and there is one at a time: ask again when it has "
                                       "ended",
                                       nullptr});
      co_return;
    }
    const Promise<Outcome> outcome(desk_.scheduler);
    const Turn turn(desk_.comparisons, outcome);
    milliseconds last = request_.last;
    std::string lines;
    for (;; last /= 2) {
      const bool fits = co_await collect(last, lines);
      if (failed_) co_return;
      if (fits) break;
      if (last / 2 < kLeastLast) {
        response_ = tasks::error_answer(
            {ErrorCode::kRequestTooLarge,
             "the recording has more than 32 MiB; save it, and compare it with 'freshet whatif --file FILE'", nullptr});
        co_return;
      }
    }
    ProcessSpec spec = spec_of(request_, last, std::move(lines));
    Scope work;  // Its end is that of the process.
    work.spawn(run_into(outcome, desk_.spawner, std::move(spec)));
    const Outcome ended = co_await outcome.future();
    response_ = ended ? answer_of(*ended) : stopping_answer();
  }
  HttpResponse respond() override { return std::move(response_); }

 private:
  // Reads the recording, with turns of the loop between its parts. Returns false if it is too large. If it cannot be
  // had, `failed_` is set and the response says why.
  Async<bool> collect(milliseconds last, std::string& lines) {
    lines.clear();
    std::string query = "?from=-" + std::to_string((last + kBeforeTheStart).count());
    while (!query.empty()) {
      HttpRequest request;
      request.method = "GET";
      request.target = path_ + "/recording" + query;
      const auto exchange = desk_.recording->accept(std::move(request));
      co_await exchange->run();
      HttpResponse part = exchange->respond();
      failed_ = part.status != 200;
      if (failed_) {
        response_ = std::move(part);
        co_return false;
      }
      lines += part.body;
      if (lines.size() > kMostRecordingBytes) co_return false;
      const std::string_view next = header(part.headers, "X-Freshet-Next");
      query = next.empty() ? "" : "?place=" + std::string(next);
      co_await sleep_for(desk_.scheduler, milliseconds(1));
      failed_ = desk_.comparisons.ended();
      if (failed_) {
        response_ = stopping_answer();
        co_return false;
      }
    }
    co_return true;
  }

  WhatIfDesk& desk_;
  const std::string path_;  // "/queues/NAME", as it was sent.
  const WhatIfRequest request_;
  bool failed_ = false;
  HttpResponse response_;
};

class WhatIfRoute final : public Route {
 public:
  WhatIfRoute(std::unique_ptr<Route> recording, Comparisons& comparisons, Scheduler& scheduler, Spawner& spawner)
      : desk_{std::move(recording), comparisons, scheduler, spawner} {}

  bool matches(const HttpRequest& request) const override { return is_whatif_path(request.target); }

  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    const auto refuse = [](const Error& error) { return answer_with_response(tasks::error_answer(error)); };
    const auto target = parse_target(request.target);
    if (!target) return refuse(target.error());
    if (request.method != "POST") {
      return answer_with_response(method_not_allowed(request, api_methods(target->segments)));
    }
    for (const auto& [name, value] : target->query) {
      if (is_signature_member(name)) continue;
      return refuse({ErrorCode::kValidation, "'" + name + "' in the query: the body has all parameters", nullptr});
    }
    thread_local JsonDocument document;
    const auto body = document.parse(request.body.empty() ? std::string_view("{}") : request.body);
    if (!body) return refuse(body.error());
    auto wanted = read_whatif(*body);
    if (!wanted) return refuse(wanted.error());
    constexpr std::string_view kEnd = "/whatif";
    std::string path = request.target.substr(0, request.target.find('?'));
    path.resize(path.size() - kEnd.size());
    return std::make_unique<WhatIfExchange>(desk_, std::move(path), std::move(*wanted));
  }

 private:
  WhatIfDesk desk_;
};

}  // namespace

Result<WhatIfRequest> read_whatif(const JsonView& body) {
  WhatIfRequest out;
  std::optional<milliseconds> last;
  std::optional<milliseconds> budget;
  JsonMembers members(body, {"lastMs", "windowMs", "budgetMs", "seed", "downstream", "settings"});
  members.duration("lastMs", kLeastLast.count(), 3'600'000, last);
  members.duration("windowMs", 1'000, 3'600'000, out.window);
  members.duration("budgetMs", 100, 30'000, budget);
  members.integer("seed", 0, int64_t{1} << 53, out.seed);
  members.text("downstream", out.downstream);
  if (members.error()) return fail(*members.error());
  if (!is_limiter_text(out.downstream)) {
    return invalid("'downstream' must be at most " + std::to_string(kMostLimiterText) +
                   " visible characters, like 'token-bucket 20/s'");
  }
  out.last = last.value_or(out.last);
  out.budget = budget.value_or(out.budget);
  const auto settings = body.find("settings");
  if (!settings) return out;
  const auto list = list_in(*settings);
  if (!list) return fail(list.error());
  if (list->size() > kMostAlternatives) {
    return invalid("'settings' must have at most " + std::to_string(kMostAlternatives) + " alternatives");
  }
  for (const JsonView one : *list) {
    auto alternative = read_alternative(one);
    if (!alternative) return fail(alternative.error());
    out.tries.push_back(std::move(*alternative));
  }
  return out;
}

std::unique_ptr<Route> make_whatif_route(std::unique_ptr<Route> recording, Comparisons& comparisons,
                                         Scheduler& scheduler, Spawner& spawner) {
  return std::make_unique<WhatIfRoute>(std::move(recording), comparisons, scheduler, spawner);
}

std::unique_ptr<Route> make_whatif_route(TaskQueues& queues, const FlightRecorder* recorder, Comparisons& comparisons,
                                         Scheduler& scheduler, Spawner& spawner) {
  return make_whatif_route(make_recording_route(queues, recorder, scheduler.clock()), comparisons, scheduler, spawner);
}

}  // namespace freshet
