// freshet simulate: a recorded trace of a queue under other policies. docs/overload.md.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/lab/trace_run.h"
#include "base/plain_text.h"
#include "base/text_file.h"

namespace freshet::cli {
namespace {

using Json = nlohmann::json;

struct SimulateOptions {
  std::string trace;
  std::vector<std::string> policies;
  int slots = 0;
  uint64_t seed = 1;
  bool json = false;
};

int wrong(const Error& error) {
  std::cerr << "freshet: " << plain_text(error.message) << '\n';
  return kUsage;
}

struct Outcome {
  std::string policy;
  lab::TraceOutcome counts;
};

void print(const SimulateOptions& options, const lab::Scenario& scenario, const lab::RealRun& real,
           const std::vector<Outcome>& outcomes) {
  if (options.json) {
    Json out{{"slots", scenario.slots},
             {"seconds", std::chrono::duration<double>(scenario.duration).count()},
             {"recorded", {{"tasks", real.tasks}, {"done", real.done}, {"inTime", real.in_time}, {"shed", real.shed}}},
             {"policies", Json::array()}};
    for (const auto& one : outcomes) {
      out["policies"].push_back(Json{{"policy", one.policy},
                                     {"tasks", one.counts.tasks},
                                     {"done", one.counts.done},
                                     {"inTime", one.counts.in_time},
                                     {"shed", one.counts.shed},
                                     {"ageP50Ms", one.counts.age_p50_ms},
                                     {"ageP99Ms", one.counts.age_p99_ms}});
    }
    std::cout << out.dump() << '\n';
    return;
  }
  const auto row = [](const std::string& name, uint64_t tasks, uint64_t done, uint64_t in_time, uint64_t shed) {
    return fmt::format("{:20}{:>9}{:>9}{:>9}{:>9}", name, tasks, done, in_time, shed);
  };
  std::cout << fmt::format("{:20}{:>9}{:>9}{:>9}{:>9}{:>12}{:>12}\n", "", "tasks", "done", "in time", "shed", "age p50",
                           "age p99");
  std::cout << row("as recorded", real.tasks, real.done, real.in_time, real.shed) << '\n';
  for (const auto& one : outcomes) {
    std::cout << row(one.policy, one.counts.tasks, one.counts.done, one.counts.in_time, one.counts.shed)
              << fmt::format("{:>9.1f} ms{:>9.1f} ms\n", one.counts.age_p50_ms, one.counts.age_p99_ms);
  }
}

int run_simulate(const SimulateOptions& options) {
  const auto text = read_text_file(options.trace);
  if (!text) return wrong(text.error());
  const auto fixture = read_fixture(*text, options.trace);
  if (!fixture) return wrong(fixture.error());
  const auto recording = lab::read_recording(*fixture);
  if (!recording) return wrong(recording.error());
  const auto scenario = lab::scenario_of(*recording, options.slots);
  std::vector<Outcome> outcomes;
  Progress progress("0 of " + std::to_string(options.policies.size()) + " policies");
  for (const auto& name : options.policies) {
    const auto policy = lab::policy_of(name);
    const auto counts = policy ? lab::run_trace(*recording, scenario, *policy, options.seed) : fail(policy.error());
    if (!counts) {
      progress.end();
      return wrong(counts.error());
    }
    outcomes.push_back({policy->name, *counts});
    progress.show(std::to_string(outcomes.size()) + " of " + std::to_string(options.policies.size()) + " policies");
  }
  progress.end();
  print(options, scenario, recording->real, outcomes);
  return kDone;
}

}  // namespace

void add_simulate(Command app, int& exit_status) {
  auto options = std::make_shared<SimulateOptions>();
  options->policies = {"freshet",  "freshet-margin", "freshet-adaptive", "freshet-deadline",
                       "fifo-ttl", "fifo-codel",     "clairvoyant"};
  const Command command =
      app.add_subcommand("simulate", "Say what a recorded load would have come to under other policies");
  command.footer(
      "The trace is a recording of a queue's table: when tasks came, when they were due, how long they took. "
      "Freshet's\n"
      "own policies run in its queue and processor, the others in the lab's model (docs/overload.md).\n"
      "  freshet record --seconds 60 --out load.jsonl\n"
      "  freshet simulate load.jsonl --policy freshet,fifo-ttl --slots 8");
  command.add_option("trace", options->trace, "File written by freshet record").file().required();
  command
      .add_list("--policy", options->policies, "Policies to try, with commas between: those of freshet bench overload")
      .capture_default_str();
  command.add_option("--slots", options->slots, "Tasks that are in work at once [default: the most that were recorded]")
      .check(whole(1, 10'000));
  command.add_option("--seed", options->seed, "Seed of the service times of tasks whose end was not recorded")
      .check(seed())
      .capture_default_str();
  command.add_flag("--json", options->json, "Print one JSON document instead of a table");
  command.callback([options, &exit_status] { exit_status = run_simulate(*options); });
}

}  // namespace freshet::cli
