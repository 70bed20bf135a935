// freshet bench overload: the overload lab in simulated time. docs/overload.md.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <thread>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/lab/plan.h"
#include "app/lab/report.h"

namespace freshet::cli {
namespace {

struct OverloadOptions {
  lab::Plan plan;
  std::vector<std::string> policies;
  lab::Experiment experiment;
  bool json = false;
  std::string html;
};

int wrong(const Error& error) {
  std::cerr << "freshet: " << error.message << '\n';
  return kUsage;
}

int run_overload(OverloadOptions& options) {
  auto& experiment = options.experiment;
  auto scenarios = lab::scenarios_of(options.plan);
  if (!scenarios) return wrong(scenarios.error());
  experiment.scenarios = std::move(*scenarios);
  if (options.policies.empty()) experiment.policies = lab::policies();
  for (const auto& name : options.policies) {
    auto policy = lab::policy_of(name);
    if (!policy) return wrong(policy.error());
    experiment.policies.push_back(std::move(*policy));
  }
  std::ofstream html;
  if (!options.html.empty()) {
    html.open(options.html, std::ios::binary);
    if (!html) return wrong(invalid("cannot write '" + options.html + "'").value());
  }
  Progress progress;
  experiment.on_progress = [&](size_t done, size_t all) {
    progress.show(std::to_string(done) + " of " + std::to_string(all) + " runs");
  };
  const auto cells = lab::run(experiment);
  progress.clear();
  if (!cells) {
    std::cerr << "freshet: " << cells.error().message << '\n';
    return kFailed;
  }
  std::cout << (options.json ? lab::json_report(experiment, *cells) + "\n" : lab::table_report(*cells));
  if (html.is_open()) {
    html << lab::html_report(experiment, *cells);
    html.flush();
    if (!html) return wrong(invalid("cannot write '" + options.html + "'").value());
  }
  return kDone;
}

}  // namespace

void add_bench_overload(CLI::App& bench, int& exit_status) {
  auto options = std::make_shared<OverloadOptions>();
  options->experiment.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  CLI::App* command = bench.add_subcommand("overload", "The overload lab: policies under too much load, simulated");
  command->footer(
      "Without a choice: the story of docs/overload.md. With one: every combination of what is given. No daemon is\n"
      "needed: Freshet's own policies run in its queue, processor and store, on a simulated clock.\n"
      "  freshet bench overload --html overload.html\n"
      "  freshet bench overload --load 2,10 --service lognormal --policy freshet,fifo-codel --seeds 20 --json");
  auto& plan = options->plan;
  const auto list = [command](const char* name, auto& values, const char* what) {
    return command->add_option(name, values, what)->delimiter(',');
  };
  list("--shape", plan.shapes, "poisson, bursty (5 x for 2 s of 10), step (0.8, the load for 10 s, 0.8), stall (30 s)");
  list("--load", plan.loads, "x capacity; of bursty the mean");
  list("--service", plan.services, "constant, exponential, lognormal (sigma 1), bimodal (90/10, 1:10)");
  list("--scale", plan.scales, "SLOTSxTIME: 16x100ms, 1x1ms");
  list("--deadline", plan.deadlines, "x mean service time; 0: a third each of 3, 10, 100");
  list("--retries", plan.retries, "How often clients try again that were not served in time");
  command->add_flag("--groups", plan.groups, "A quiet group beside one that is a thousand times louder");
  command->add_option("--seconds", plan.seconds, "Simulated length of a run")->check(whole(1, 3600));
  list("--policy", options->policies, "Some of the policies; all if not given");
  command->add_option("--seeds", options->experiment.seeds, "Runs of each")
      ->check(whole(1, 1000))
      ->capture_default_str();
  command->add_option("--first-seed", options->experiment.first_seed, "Of the first run")->capture_default_str();
  command->add_option("--jobs", options->experiment.jobs, "Runs at a time")->check(whole(1, 256));
  command->add_flag("--json", options->json, "One JSON document instead of a table");
  command->add_option("--html", options->html, "Also write a page with plots");
  command->callback([options, &exit_status] { exit_status = run_overload(*options); });
}

}  // namespace freshet::cli
