#include "app/lab/trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "app/lab/figures.h"
#include "app/lab/model.h"

namespace freshet::lab {

namespace {

// Settings that a recording has already answered, or that nothing in a simulation depends on.
struct NotSimulated {
  std::string_view name;
  std::string_view why;
};
constexpr NotSimulated kNotSimulated[] = {
    {"DEFAULT_TTL_S", "the recorded tasks have their deadlines already"},
    {"DEFAULT_DEADLINE_MS", "the recorded tasks have their deadlines already"},
    {"DEFAULT_COST", "the recorded tasks have their costs already"},
    {"KEEP_MS", "how long ended tasks are kept changes nothing for those that wait"},
    {"LEASE_MS", "no worker dies in a simulation, so no lease ends"},
};

int concurrency_of(const std::map<std::string, std::string>& policy) {
  const auto setting = policy.find("CONCURRENCY");
  int number = 0;
  if (setting == policy.end()) return number;
  std::from_chars(setting->second.data(), setting->second.data() + setting->second.size(), number);
  return number;
}

// The most that the recorded policy ever allowed; 0: not known, or workers pulled.
int concurrency_of(const Recording& recording) {
  if (recording.real.pulled > 0) return 0;
  int most = concurrency_of(recording.policy);
  for (const auto& step : recording.policy_changes) most = std::max(most, concurrency_of(step.policy));
  return most;
}

Result<QueueSettings> settings_of(const Recording& recording, const std::map<std::string, std::string>& policy,
                                  const Environment& changes) {
  QueueSettings settings;
  settings.shed_log_lines = 1000;
  auto recorded = with_policy(settings, policy);
  if (!recorded) return invalid("the recorded policy cannot be simulated: " + recorded.error().message);
  // Workers that pull are as many as there were; CONCURRENCY is not theirs.
  if (recording.real.pulled > 0) recorded->work.concurrency = std::max(1, recording.real.most_in_work);
  return with_policy(*recorded, changes);
}

TraceOutcome outcome_of(const Recording& recording, const Ledger& ledger) {
  TraceOutcome out;
  const nanoseconds end = recording.length;
  for (const auto& job : ledger.jobs()) {
    const bool done = job.fate == Job::Fate::kStarted && !job.failed && job.end <= end;
    ++out.tasks;
    out.done += done;
    out.in_time += done && job.in_time();
    out.shed += job.fate == Job::Fate::kShed && job.left <= end;
  }
  auto values = figures_of(ledger).values;
  out.age_p50_ms = values["ageP50Ms"];
  out.age_p99_ms = values["ageP99Ms"];
  return out;
}

Result<TraceOutcome> run_setup(const Recording& recording, ProductSetup setup, const DownstreamSpec& downstream,
                               const Scenario& scenario, uint64_t seed) {
  setup.pauses = recording.pauses;
  Ledger ledger(scenario, seed);
  if (!downstream.limiter) {
    auto end = run_product(setup, seed, ledger);
    if (!end) return fail(end.error());
    return outcome_of(recording, ledger);
  }
  LimiterEach limiters(*downstream.limiter, caller_of(recording.trace, downstream.each));
  LimitedDownstream limited(limiters, downstream.hints);
  setup.downstream = &limited;
  auto end = run_product(setup, seed, ledger);
  if (!end) return fail(end.error());
  auto out = outcome_of(recording, ledger);
  for (const auto& call : limited.calls()) out.refused += !call.granted && call.at <= recording.length;
  return out;
}

}  // namespace

LimiterEach::Caller caller_of(const Trace& trace, LimitedBy each) {
  return [&trace, each](size_t number) {
    if (each == LimitedBy::kAll || number >= trace.tasks.size()) return std::string();
    return each == LimitedBy::kGroup ? trace.tasks[number].group : trace.tasks[number].key;
  };
}

Scenario scenario_of(const Recording& recording, int slots) {
  Scenario scenario;
  scenario.trace = &recording.trace;
  scenario.slots = slots > 0 ? slots : std::max({1, recording.real.most_in_work, concurrency_of(recording)});
  scenario.duration = std::max(seconds(1), std::chrono::ceil<seconds>(recording.length));
  nanoseconds sum{0};
  for (const auto service : recording.trace.services) sum += service;
  scenario.mean = std::max(nanoseconds(1), sum / static_cast<int64_t>(recording.trace.services.size()));
  return scenario;
}

Result<TracePolicy> recorded_policy(const Recording& recording, const Environment& changes) {
  for (const auto& one : kNotSimulated) {
    if (!changes.contains(std::string(one.name))) continue;
    return invalid(fmt::format("{} cannot be simulated: {}", one.name, one.why));
  }
  TracePolicy out;
  auto first = settings_of(recording, recording.policy, changes);
  if (!first) return fail(first.error());
  out.settings = std::move(*first);
  for (const auto& step : recording.policy_changes) {
    auto settings = settings_of(recording, step.policy, changes);
    if (!settings) return fail(settings.error());
    out.changes.push_back({step.at, std::move(*settings)});
  }
  return out;
}

Result<void> check_downstream(const Recording& recording, bool is_known) {
  if (is_known || recording.real.refused == 0) return {};
  return invalid(
      fmt::format("in this recording workers gave {} calls back, as where a limiter answers 429 or 503: say "
                  "what stood behind the queue with --downstream, like --downstream 'token-bucket 20/s', or "
                  "--downstream none to simulate it without a limiter",
                  recording.real.refused));
}

std::vector<std::string> assumptions(const Recording& recording, const Scenario& scenario,
                                     const DownstreamSpec& downstream) {
  std::vector<std::string> out;
  out.push_back(
      fmt::format("in time: SUCCESS within the {:.1f} s of the recording and by the task's deadline (its "
                  "'deadline', or its 'ttl' if that is earlier; a task with neither is never late)",
                  std::chrono::duration<double>(recording.length).count()));
  const auto& real = recording.real;
  out.push_back(
      downstream.limiter
          ? "assumed: calls take as long as those recorded, however many are under way; the limiter behind the "
            "queue is as --downstream says, and has refused nothing before the start"
          : fmt::format("assumed: calls take as long as those recorded; at most {} are worked on at once; no "
                        "limiter refuses any",
                        scenario.slots));
  if (real.pulled > 0) {
    out.push_back(fmt::format("assumed: workers that pull take a task as soon as they are free, and are {}",
                              std::max(1, real.most_in_work)));
  }
  const auto learns = [](const auto& policy) {
    return std::any_of(policy.begin(), policy.end(), [](const auto& setting) { return setting.second == "adaptive"; });
  };
  const auto& changes = recording.policy_changes;
  if (learns(recording.policy) ||
      std::any_of(changes.begin(), changes.end(), [&](const PolicyStep& step) { return learns(step.policy); }))
    out.push_back("assumed: whatever the queue learns (rate, concurrency, order) it begins to learn at the start");
  if (!recording.pauses.empty()) {
    out.push_back(
        "assumed: the queue, its groups and keys are paused when they were; of the lab's policies, those that are "
        "models only are not");
  }
  if (real.cancelled > 0) {
    out.push_back(fmt::format("left out: that clients cancelled {} tasks; here these go on", real.cancelled));
  }
  return out;
}

Result<TraceOutcome> run_trace(const Recording& recording, const Scenario& scenario, const TracePolicy& policy,
                               const DownstreamSpec& downstream, uint64_t seed) {
  ProductSetup setup;
  setup.settings = policy.settings;
  setup.changes = policy.changes;
  return run_setup(recording, std::move(setup), downstream, scenario, seed);
}

Result<TraceOutcome> run_trace(const Recording& recording, const Scenario& scenario, const Policy& policy,
                               const DownstreamSpec& downstream, uint64_t seed) {
  if (policy.product) return run_setup(recording, setup_of(policy, scenario), downstream, scenario, seed);
  if (downstream.limiter) {
    return invalid("policy '" + policy.name + "' is a model that knows no limiter: leave it out, or --downstream");
  }
  Ledger ledger(scenario, seed);
  run_model(policy, seed, ledger);
  return outcome_of(recording, ledger);
}

}  // namespace freshet::lab
