// freshet simulate: a recorded trace of a queue under its own policy, other settings, or other policies.
// docs/simulate.md.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/lab/flight.h"
#include "app/lab/trace_run.h"
#include "base/plain_text.h"
#include "base/text_file.h"

namespace freshet::cli {
namespace {

using SortedJson = nlohmann::json;

struct SimulateOptions {
  std::string trace;
  std::vector<std::string> policies;
  std::vector<std::string> settings;  // NAME=VALUE
  std::string downstream;             // As lab::parse_downstream() reads it; empty: not given.
  int slots = 0;
  uint64_t seed = 1;
  bool json = false;
};

int wrong_simulation(const Error& error) {
  std::cerr << "freshet: " << plain_text(error.message) << '\n';
  return kUsage;
}

// One row: a policy of the lab, or the recorded one, perhaps with other settings.
struct Attempt {
  std::string name;
  std::optional<lab::Policy> policy = {};
  lab::TracePolicy recorded = {};
  Environment set = {};  // The changes by --set.
};

struct Outcome {
  const Attempt* attempt;
  lab::TraceOutcome counts;
};

struct Simulation {
  const SimulateOptions& options;
  const lab::Recording& recording;
  lab::Scenario scenario;
  lab::DownstreamSpec downstream;
  std::vector<Attempt> attempts = {};
  std::vector<Outcome> outcomes = {};
};

// The settings that differ from `before` to `now`; an empty value: no longer set.
Environment difference(const Environment& before, const Environment& now) {
  Environment out;
  for (const auto& [name, value] : before) {
    if (!now.contains(name)) out[name] = "";
  }
  for (const auto& [name, value] : now) {
    const auto was = before.find(name);
    if (was == before.end() || was->second != value) out[name] = value;
  }
  return out;
}

// The changes of the recorded policy, each with what it changed.
std::vector<std::pair<double, Environment>> policy_changes(const lab::Recording& recording) {
  std::vector<std::pair<double, Environment>> out;
  Environment before = recording.policy;
  for (const auto& step : recording.policy_changes) {
    out.emplace_back(std::chrono::duration<double>(step.at).count(), difference(before, step.policy));
    before = step.policy;
  }
  return out;
}

SortedJson json_of(const Simulation& simulation) {
  const auto& real = simulation.recording.real;
  SortedJson out{{"slots", simulation.scenario.slots},
                 {"seconds", std::chrono::duration<double>(simulation.scenario.duration).count()},
                 {"recorded",
                  {{"tasks", real.tasks},
                   {"done", real.done},
                   {"inTime", real.in_time},
                   {"shed", real.shed},
                   {"refused", real.refused}}},
                 {"recordedPolicy", simulation.recording.policy},
                 {"notes", lab::assumptions(simulation.recording, simulation.scenario, simulation.downstream)},
                 {"recordedPolicyChanges", SortedJson::array()},
                 {"policies", SortedJson::array()}};
  for (const auto& [at, changed] : policy_changes(simulation.recording)) {
    out["recordedPolicyChanges"].push_back(SortedJson{{"afterS", at}, {"set", changed}});
  }
  for (const auto& one : simulation.outcomes) {
    out["policies"].push_back(SortedJson{{"policy", one.attempt->name},
                                         {"set", one.attempt->set},
                                         {"tasks", one.counts.tasks},
                                         {"done", one.counts.done},
                                         {"inTime", one.counts.in_time},
                                         {"shed", one.counts.shed},
                                         {"refused", one.counts.refused},
                                         {"ageP50Ms", one.counts.age_p50_ms},
                                         {"ageP99Ms", one.counts.age_p99_ms}});
  }
  return out;
}

std::string policy_lines(const lab::Recording& recording) {
  if (recording.policy.empty()) return {};
  const auto settings = [](const Environment& policy) {
    std::string out;
    for (const auto& [name, value] : policy) {
      out += ' ' + plain_text(name) + (value.empty() ? " (not set)" : '=' + plain_text(value));
    }
    return out + '\n';
  };
  std::string out = "recorded policy:" + settings(recording.policy);
  for (const auto& [at, changed] : policy_changes(recording)) {
    out += fmt::format("changed after {:.1f} s:", at) + settings(changed);
  }
  return out;
}

void print(const Simulation& simulation) {
  if (simulation.options.json) {
    std::cout << json_of(simulation).dump() << '\n';
    return;
  }
  const auto row = [](const std::string& name, uint64_t tasks, uint64_t done, uint64_t in_time, uint64_t shed,
                      uint64_t refused) {
    return fmt::format("{:20}{:>9}{:>9}{:>9}{:>9}{:>9}", name, tasks, done, in_time, shed, refused);
  };
  const auto& real = simulation.recording.real;
  std::cout << fmt::format("{:20}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}{:>12}\n", "", "tasks", "done", "in time", "shed",
                           "refused", "age p50", "age p99")
            << row("as recorded", real.tasks, real.done, real.in_time, real.shed, real.refused) << '\n';
  for (const auto& one : simulation.outcomes) {
    const auto& counts = one.counts;
    std::cout << row(one.attempt->name, counts.tasks, counts.done, counts.in_time, counts.shed, counts.refused)
              << fmt::format("{:>9.1f} ms{:>9.1f} ms\n", counts.age_p50_ms, counts.age_p99_ms);
  }
  std::cout << '\n';
  std::cout << policy_lines(simulation.recording);
  for (const auto& note : lab::assumptions(simulation.recording, simulation.scenario, simulation.downstream)) {
    std::cout << note << '\n';
  }
}

Result<Environment> changes_of(const SimulateOptions& options) {
  Environment out;
  for (const auto& text : options.settings) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return invalid("--set '" + text + "' must be NAME=VALUE, like --set RATE_LIMIT=19");
    }
    out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

// The recorded policy, if there is one; that with what --set changes; the lab's policies that are named.
Result<void> choose(Simulation& simulation, const Environment& changes) {
  const auto& options = simulation.options;
  const auto& recording = simulation.recording;
  if (recording.policy.empty() && changes.empty() && options.policies.empty()) {
    return invalid(options.trace +
                   " is of format 1, which does not hold the policy that was in force: tell it with --set, like --set "
                   "CONCURRENCY=8 --set RATE_LIMIT=19, or name policies to try with --policy");
  }
  const auto add = [&](std::string name, const Environment& set) -> Result<void> {
    auto recorded = lab::recorded_policy(recording, set);
    if (!recorded) return fail(recorded.error());
    simulation.attempts.push_back({std::move(name), {}, std::move(*recorded), set});
    return {};
  };
  if (!recording.policy.empty()) {
    if (auto ok = add("recorded policy", {}); !ok) return ok;
  }
  if (!changes.empty()) {
    if (auto ok = add("with --set", changes); !ok) return ok;
  }
  for (const auto& name : options.policies) {
    auto policy = lab::policy_of(name);
    if (!policy) return fail(policy.error());
    simulation.attempts.push_back({policy->name, std::move(*policy)});
  }
  return {};
}

Result<void> run_attempts(Simulation& simulation) {
  const auto all = " of " + std::to_string(simulation.attempts.size()) + " policies";
  Progress progress("0" + all);
  for (const auto& attempt : simulation.attempts) {
    const auto counts = attempt.policy ? lab::run_trace(simulation.recording, simulation.scenario, *attempt.policy,
                                                        simulation.downstream, simulation.options.seed)
                                       : lab::run_trace(simulation.recording, simulation.scenario, attempt.recorded,
                                                        simulation.downstream, simulation.options.seed);
    if (!counts) {
      progress.end();
      return fail(counts.error());
    }
    simulation.outcomes.push_back({&attempt, *counts});
    progress.show(std::to_string(simulation.outcomes.size()) + all);
  }
  progress.end();
  return {};
}

int run_simulate(const SimulateOptions& options) {
  const auto downstream =
      options.downstream.empty() ? Result<lab::DownstreamSpec>() : lab::parse_downstream(options.downstream);
  if (!downstream) return wrong_simulation(downstream.error());
  const auto changes = changes_of(options);
  if (!changes) return wrong_simulation(changes.error());
  const auto text = read_text_file(options.trace, lab::kMostRecordingBytes);
  if (!text) return wrong_simulation(text.error());
  const auto fixture = lab::read_fixture_or_flight(*text, options.trace);
  if (!fixture) return wrong_simulation(fixture.error());
  const auto recording = lab::read_recording(*fixture);
  if (!recording) return wrong_simulation(recording.error());
  if (auto ok = lab::check_downstream(*recording, !options.downstream.empty()); !ok) {
    return wrong_simulation(fixture->in_file(ok.error()));
  }
  Simulation simulation{options, *recording, lab::scenario_of(*recording, options.slots), *downstream};
  if (auto ok = choose(simulation, *changes); !ok) return wrong_simulation(ok.error());
  if (auto ok = run_attempts(simulation); !ok) return wrong_simulation(ok.error());
  print(simulation);
  return kDone;
}

}  // namespace

void add_simulate(Command app, int& exit_status) {
  auto options = std::make_shared<SimulateOptions>();
  const Command command =
      app.add_subcommand("simulate", "Compute how a recorded load would have gone under other settings or policies");
  command.footer(
      "The trace is a recording of a queue's table: when tasks came, when they were due, how long they took, and "
      "which\n"
      "policy was in force. That policy is played, with its changes at their times; --set changes settings of it from "
      "the\n"
      "start on, --policy adds policies of the lab.\n"
      "Freshet's own policies run in its queue and processor, the others in the lab's model "
      "(docs/overload-experiments.md).\n"
      "  freshet record --seconds 60 --out load.jsonl\n"
      "  freshet simulate load.jsonl --set RATE_LIMIT=15 --downstream 'token-bucket 20/s burst 5'\n"
      "  freshet simulate load.jsonl --policy freshet-deadline,fifo-ttl --slots 8");
  command.add_option("trace", options->trace, "File written by freshet record or freshet recording save")
      .file()
      .required();
  command
      .add_option("--set", options->settings,
                  "NAME=VALUE: a setting of the queue that differs from the recorded policy (docs/settings.md); "
                  "repeatable")
      .one_value_each();
  command.add_option("--downstream", options->downstream,
                     "Limiter behind the queue: none, 'token-bucket 20/s burst 5', 'window 600/60s', "
                     "'sliding 100/10s' or 'concurrency 8'; with 'each group' or 'each key' behind it if each has that "
                     "limit, and 'retry-after' or 'ratelimit' if it answers with those headers");
  command.add_list("--policy", options->policies,
                   "Policies to try, too, with commas between: those of freshet bench overload");
  command
      .add_option("--slots", options->slots,
                  "Tasks that the downstream works on at once [default: the most that were recorded, or that the "
                  "recorded policy lets it]")
      .check(whole(1, 10'000));
  command.add_option("--seed", options->seed, "Seed of the service times of tasks whose end was not recorded")
      .check(seed())
      .capture_default_str();
  command.add_flag("--json", options->json, "Print one JSON document instead of a table");
  command.callback([options, &exit_status] { exit_status = run_simulate(*options); });
}

}  // namespace freshet::cli
