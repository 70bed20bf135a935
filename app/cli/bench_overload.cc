// freshet bench overload: the overload lab, in simulated or in real time. docs/overload-experiments.md.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "app/cli/bench_limits.h"
#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/progress.h"
#include "app/daemon/options.h"
#include "app/lab/plan.h"
#include "app/lab/report.h"
#include "base/out_file.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct OverloadOptions {
  lab::Plan plan;
  std::vector<std::string> policies;
  lab::Experiment experiment;
  bool real = false;
  lab::RealOptions real_options;
  std::vector<std::string> rivals;  // NAME=COMMAND
  bool json = false;
  std::string html;
  std::string scenarios;  // "limits"; empty: those of the plan.
  LimitsOptions limits;
};

int wrong_experiment(const Error& error) {
  std::cerr << "freshet: " << plain_lines(error.message, "  ") << '\n';
  return kUsage;
}

Result<lab::Policy> rival_of(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    return invalid("--rival '" + text + "' must be NAME=COMMAND");
  }
  lab::Policy rival;
  rival.name = rival.title = text.substr(0, equals);
  rival.command = text.substr(equals + 1);
  return rival;
}

// A run in real time needs this program's path, and ends its daemon when it is ended.
Result<void> prepare_real(OverloadOptions& options) {
  if (auto durability = parse_durability(options.real_options.durability); !durability) return fail(durability.error());
  // The daemon ends and its folder goes, however the experiment ends. A closed output does not end it.
  hear_interrupts(SecondSignal::kIsHeardToo);
  signal(SIGPIPE, SIG_IGN);
  options.real_options.stopped = interrupted;
  std::error_code error;
  options.real_options.binary = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return fail(ErrorCode::kIo, "cannot find this program: " + error.message());
  options.experiment.jobs = 1;
  options.experiment.real = options.real_options;
  return {};
}

Result<void> choose(OverloadOptions& options) {
  auto& experiment = options.experiment;
  auto scenarios = lab::scenarios_of(options.real ? lab::for_real_time(options.plan) : options.plan);
  if (!scenarios) return fail(scenarios.error());
  experiment.scenarios = std::move(*scenarios);
  if (options.real && options.policies.empty()) {
    options.policies = {"clairvoyant", "fifo", "freshet", "freshet-bounded"};
  }
  if (options.policies.empty()) experiment.policies = lab::policies();
  for (const auto& name : options.policies) {
    auto policy = lab::policy_of(name);
    if (!policy) return fail(policy.error());
    experiment.policies.push_back(std::move(*policy));
  }
  for (const auto& text : options.rivals) {
    auto rival = rival_of(text);
    if (!rival) return fail(rival.error());
    experiment.policies.push_back(std::move(*rival));
  }
  return options.real ? prepare_real(options) : Result<void>();
}

int run_limits(OverloadOptions& options) {
  auto& limits = options.limits;
  limits.policies = options.policies;
  limits.first_seed = options.experiment.first_seed;
  limits.seeds = options.experiment.seeds;
  limits.jobs = options.experiment.jobs;
  limits.json = options.json;
  limits.seconds = options.plan.seconds;
  if (!options.html.empty()) {
    return wrong_experiment(invalid("--scenarios limits writes no page: --html does not go with it").value());
  }
  if (!options.rivals.empty()) {
    return wrong_experiment(invalid("--scenarios limits has models of others: --rival does not go with it").value());
  }
  if (!options.plan.is_default()) {
    return wrong_experiment(
        invalid("--scenarios limits has its own load: --shape, --load, --service, --scale, --deadline, "
                "--retries and --groups do not go with it")
            .value());
  }
  if (options.real) {
    if (auto ready = prepare_real(options); !ready) return wrong_experiment(ready.error());
    limits.real = options.real_options;
  }
  return run_bench_limits(limits);
}

int run_overload(OverloadOptions& options) {
  if (!options.scenarios.empty()) return run_limits(options);
  auto& experiment = options.experiment;
  if (auto chosen = choose(options); !chosen) return wrong_experiment(chosen.error());
  std::ofstream html;
  if (!options.html.empty()) {
    html.open(options.html, std::ios::binary);
    if (!html) return wrong_experiment(invalid(cannot_write(options.html)).value());
  }
  Progress progress("the first runs have begun");
  experiment.on_progress = [&](size_t done, size_t all) {
    progress.show(std::to_string(done) + " of " + std::to_string(all) + " runs");
  };
  const auto cells = lab::run(experiment);
  progress.end();
  if (!cells) {
    wrong_experiment(cells.error());
    return cells.error().code == ErrorCode::kValidation ? kUsage : kFailed;
  }
  std::cout << (options.json ? lab::json_report(experiment, *cells) + "\n" : lab::table_report(*cells));
  if (html.is_open()) {
    html << lab::html_report(experiment, *cells);
    html.flush();
    if (!html) return wrong_experiment(invalid(cannot_write(options.html)).value());
  }
  return kDone;
}

}  // namespace

void add_bench_overload(Command bench, int& exit_status) {
  auto options = std::make_shared<OverloadOptions>();
  options->experiment.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const Command command = bench.add_subcommand(
      "overload", "The overload lab: compare policies under too much load, simulated or in real time");
  command.footer(
      "Without options it runs the story of docs/overload-experiments.md; with some, every combination of what is "
      "given. No daemon is needed: Freshet's own policies run in its queue, processor and store, on a simulated "
      "clock.\n"
      "  freshet bench overload --html overload.html\n"
      "  freshet bench overload --load 2,10 --service lognormal --policy freshet,fifo-codel --seeds 20 --json\n"
      "The table has the main figures; --html and --json have all of them.");
  auto& plan = options->plan;
  const auto list = [command](const char* name, auto& values, const char* what) {
    return command.add_list(name, values, what);
  };
  list("--shape", plan.shapes,
       "How tasks arrive: poisson, bursty (5 times the load for 2 s of 10), step (0.8, then the load for 10 s, then "
       "0.8) or stall (nothing is done for 30 s) [default: poisson]");
  list("--load", plan.loads,
       "How much arrives, in multiples of what the workers can do; the mean for bursty [default: eleven from 0.5 to "
       "10; 0.8, 1, 2 and 10 in real time]");
  list("--service", plan.services,
       "How long tasks take: constant, exponential, lognormal (sigma 1) or bimodal (one in ten takes ten times as "
       "long) [default: exponential]");
  list("--scale", plan.scales, "Number of workers and mean time of a task, like 4x500us [default: 16x100ms and 1x1ms]");
  list("--deadline", plan.deadlines,
       "Deadline of a task, in multiples of its mean time; 0: a third each has 3, 10 and 100 [default: 10]");
  list("--retries", plan.retries, "How often a client tries again that was not served in time [default: 0]");
  command.add_flag("--groups", plan.groups, "Add a quiet group beside one that sends a thousand times as much");
  command
      .add_option("--seconds", plan.seconds,
                  "Seconds of a run [default: 12 to 70, by --shape and --scale; 8 in real time]")
      .check(whole(1, 3600));
  list("--policy", options->policies, "Policies to compare [default: all]");
  const auto seeds = command
                         .add_option("--seeds", options->experiment.seeds,
                                     "Runs of each combination, each with its own seed [default: 5, or 1 in real "
                                     "time, or 10 of limits]")
                         .check(whole(1, 1000));
  command.add_option("--first-seed", options->experiment.first_seed, "Seed of the first run")
      .check(seed())
      .capture_default_str();
  command.add_option("--jobs", options->experiment.jobs, "Runs at the same time").check(whole(1, 256));
  const auto real =
      command.add_flag("--real", options->real,
                       "Run in real time: the daemon itself, an HTTP handler, clients that do not wait for answers");
  command
      .add_option("--durability", options->real_options.durability,
                  "When that daemon acknowledges a write: sync, interval:MS or none")
      .needs(real)
      .capture_default_str();
  command
      .add_flag("--check-simulate", options->real_options.check_simulate,
                "Record each run of Freshet, too, and compare it with what freshet simulate says of it")
      .needs(real);
  command
      .add_option("--record", options->real_options.record,
                  "Write a recording of each run of Freshet into this folder, for freshet simulate")
      .needs(real)
      .existing_folder();
  command
      .add_option("--rival", options->rivals,
                  "NAME=COMMAND: another queue and the driver that runs it (bench/rivals); repeatable")
      .one_value_each()
      .needs(real);
  const auto scenarios =
      command
          .add_option("--scenarios", options->scenarios,
                      "limits: a flood before a downstream with a limit that changes unannounced, instead of what the "
                      "options above describe")
          .one_of({"limits"});
  list("--limiter", options->limits.limiters,
       "How that downstream limits: token-bucket, window-1s, window-60s, sliding-10s, shared, concurrency, "
       "each-group [default: all]")
      .needs(scenarios);
  list("--headers", options->limits.headers, "What it says of its limit: none, retry-after, ratelimit [default: all]")
      .needs(scenarios);
  command.add_flag("--json", options->json, "Print one JSON document instead of a table");
  command.add_option("--html", options->html, "Write a page with plots, too").file();
  command.callback([options, seeds, &exit_status] {
    if (options->real && !seeds.given()) options->experiment.seeds = 1;
    if (!options->scenarios.empty() && !options->real && !seeds.given()) options->experiment.seeds = 10;
    exit_status = run_overload(*options);
  });
}

}  // namespace freshet::cli
