// freshet whatif: what other settings would have made of the last minutes of a queue. docs/simulate.md, "What if".
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <iostream>
#include <iterator>
#include <optional>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/cli/recording_fetch.h"
#include "app/cli/remote.h"
#include "app/cli/whatif_print.h"
#include "app/cli/wrapped_lines.h"
#include "app/lab/trace_run.h"
#include "app/lab/whatif_grid.h"
#include "base/duration_text.h"
#include "base/plain_text.h"
#include "base/text_file.h"

namespace freshet::cli {
namespace {

constexpr std::chrono::hours kLongestAsked{24 * 366};
constexpr int kNice = 10;  // The daemon, which may be on the same machine, comes first.

struct WhatIfCommand {
  Remote remote;
  std::string file;                   // Empty: of the running daemon; "-": standard input.
  std::vector<std::string> settings;  // NAME=VALUE, together one alternative.
  std::vector<std::string> tries;     // "NAME=VALUE NAME=VALUE", an alternative each.
  std::vector<std::string> policies;
  std::string downstream;
  std::string window;
  std::string last = "10m";
  std::string budget = "10s";
  std::string within;  // Empty: as long as it takes.
  int resamples = lab::WhatIfOptions().resamples;
  uint64_t seed = 1;
};

int wrong_question(const Error& error) {
  std::cerr << "freshet: " << plain_text(error.message) << '\n';
  return kUsage;
}

nanoseconds cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

nanoseconds now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

Result<void> add_setting(Environment& out, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return invalid("'" + text + "' must be NAME=VALUE, like ORDER=deadline");
  }
  out[text.substr(0, equals)] = text.substr(equals + 1);
  return {};
}

Result<std::vector<lab::Alternative>> alternatives_of(const WhatIfCommand& options, const Environment& in_force) {
  std::vector<lab::Alternative> out;
  Environment together;
  for (const auto& text : options.settings) {
    if (auto ok = add_setting(together, text); !ok) return fail(ok.error());
  }
  std::vector<Environment> sets;
  if (!together.empty()) sets.push_back(std::move(together));
  for (const auto& text : options.tries) {
    Environment set;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (word.empty()) continue;
      if (auto ok = add_setting(set, std::string(word)); !ok) return fail(ok.error());
    }
    if (!set.empty()) sets.push_back(std::move(set));
  }
  for (const auto& name : options.policies) {
    auto policy = lab::policy_of(name);
    if (!policy) return fail(policy.error());
    out.push_back({policy->name, {}, std::move(*policy)});
  }
  if (sets.empty() && out.empty()) sets = lab::usual_alternatives(in_force);
  for (auto& set : sets) {
    std::string name = lab::name_of(set);
    out.push_back({std::move(name), std::move(set)});
  }
  return out;
}

Result<Fixture> fixture_of(const lab::Flight& flight) {
  Fixture out = flight.fixture(flight.from());
  if (out.records.empty())
    return invalid("no task of " + flight.queue() +
                   " came, started or ended in its recording: ask again when tasks have ended");
  return out;
}

Result<Fixture> read_recorded_file(const std::string& path) {
  auto text = path == "-" ? Result<std::string>(std::string(std::istreambuf_iterator<char>(std::cin), {}))
                          : read_text_file(path);
  if (!text) return fail(text.error());
  if (!lab::is_flight(*text)) return read_fixture(*text, path == "-" ? "standard input" : path);
  lab::Flight flight;
  if (auto added = flight.add(*text); !added) return fail(added.error());
  return fixture_of(flight);
}

// Nothing: an error has been printed, and `status` is the exit status for it.
std::optional<Fixture> get_fixture(const WhatIfCommand& options, milliseconds last, int& status) {
  Result<Fixture> fixture = fail(ErrorCode::kInternal, "");
  if (!options.file.empty()) {
    fixture = read_recorded_file(options.file);
  } else {
    Session session(options.remote);
    session.find_queue();
    const auto flight = fetch_recording(options.remote, session.queue(), last, status);
    if (!flight) return std::nullopt;
    fixture = fixture_of(*flight);
  }
  if (fixture) return std::move(*fixture);
  status = wrong_question(fixture.error());
  return std::nullopt;
}

Result<lab::WhatIf> compare(const lab::Recording& recording, const std::vector<lab::Alternative>& alternatives,
                            lab::WhatIfOptions& options) {
  Progress progress("0 windows");
  options.cpu_time = cpu_time;
  options.progress = [&](size_t done, size_t all) {
    progress.show(std::to_string(done) + " of " + std::to_string(all) + " windows");
  };
  auto result = lab::what_if(recording, alternatives, options);
  progress.end();
  return result;
}

// An error if the file is of another queue than the one that was named. Without a name the file says which it is.
Result<void> check_name(const WhatIfCommand& options, const std::string& queue) {
  const std::string& named = options.remote.queue;
  const bool is_named = options.remote.chosen_by && options.remote.chosen_by->given();
  if (options.file.empty() || !is_named || named == queue) return {};
  const std::string file = options.file == "-" ? "the recording" : options.file;
  return invalid(file + " is of queue '" + queue + "', not of '" + named + "'");
}

int run_whatif(const WhatIfCommand& options) {
  const nanoseconds begun = now();
  (void)::nice(kNice);
  const auto spec =
      options.downstream.empty() ? Result<lab::DownstreamSpec>() : lab::parse_downstream(options.downstream);
  if (!spec) return wrong_question(spec.error());
  const milliseconds last = *parse_duration(options.last, milliseconds(1), kLongestAsked);
  int status = kDone;
  auto fixture = get_fixture(options, last, status);
  if (!fixture) return status;
  const std::string queue = fixture->header.table;
  if (auto named = check_name(options, queue); !named) return wrong_question(named.error());
  const auto recording = lab::read_recording(*fixture);
  fixture.reset();  // It is large.
  if (!recording) return wrong_question(recording.error());
  if (recording->policy.empty()) {
    return wrong_question({ErrorCode::kValidation,
                           options.file + " is of format 1, which does not hold the policy that was in force, so "
                                          "nothing can be compared with it",
                           nullptr});
  }
  const Environment& in_force =
      recording->policy_changes.empty() ? recording->policy : recording->policy_changes.back().policy;
  auto alternatives = alternatives_of(options, in_force);
  if (!alternatives) return wrong_question(alternatives.error());
  lab::WhatIfOptions how;
  if (!options.window.empty()) how.window = *parse_duration(options.window, milliseconds(1), kLongestAsked);
  how.last = last;
  how.budget = *parse_duration(options.budget, milliseconds(1), kLongestAsked);
  how.resamples = options.resamples;
  how.seed = options.seed;
  how.downstream = *spec;
  if (!options.within.empty()) how.within = *parse_duration(options.within, milliseconds(1), kLongestAsked);
  how.wall_time = [begun] { return now() - begun; };
  auto result = compare(*recording, *alternatives, how);
  if (!result) return wrong_question(result.error());
  const ComparedQueue compared{queue,
                               in_force,
                               *alternatives,
                               lab::assumptions_of(*recording, *alternatives, how, result->window),
                               options.seed,
                               options.resamples,
                               std::move(*result)};
  if (options.remote.json) {
    std::cout << whatif_json(compared).dump() << '\n';
  } else {
    const Screen screen = screen_of(STDOUT_FILENO);
    const WrappedLines wraps(std::cout, screen);
    std::cout << whatif_text(compared, screen);
  }
  return kDone;
}

void add_questions(Command command, WhatIfCommand& options) {
  command
      .add_option("--set", options.settings,
                  "NAME=VALUE: a setting that differs from the policy in force (docs/settings.md); repeatable, all "
                  "together are one alternative [default: usual orders, margins and limits, each by itself]")
      .one_value_each();
  command
      .add_option("--try", options.tries,
                  "'NAME=VALUE NAME=VALUE': the settings of one alternative; repeatable, each is another alternative")
      .one_value_each();
  command.add_list("--policy", options.policies,
                   "Policies to try, too, with commas between: those of freshet bench overload");
  command.add_option("--last", options.last, "How much of the recording to look at, up to now")
      .check(duration(milliseconds(1), kLongestAsked))
      .capture_default_str();
  command
      .add_option("--window", options.window,
                  "Length of the windows that are played [default: 60s, or less if the budget is not enough for that]")
      .check(duration(seconds(1), kLongestAsked));
  command.add_option("--budget", options.budget, "CPU time; windows for which it is not enough are skipped")
      .check(duration(milliseconds(1), kLongestAsked))
      .capture_default_str();
  command
      .add_option("--within", options.within,
                  "Time in which it ends, on a busy machine too; windows for which it is not enough are skipped "
                  "[default: as long as the budget takes]")
      .check(duration(milliseconds(1), kLongestAsked));
}

}  // namespace

void add_whatif(Command app, int& exit_status) {
  auto options = std::make_shared<WhatIfCommand>();
  const Command command =
      app.add_subcommand("whatif", "Compare what other settings would have made of the last minutes of a queue");
  options->remote.option = "the first argument";
  options->remote.add_connection_options(command);
  options->remote.chosen_by =
      command.add_option("queue", options->remote.queue, "Name of the queue: that of its table").check(not_empty());
  command.add_option("--file", options->file, "File written by freshet recording save; - for standard input").file();
  add_questions(command, *options);
  command.add_option("--downstream", options->downstream,
                     "Limiter behind the queue, as for freshet simulate [default: what was refused is refused again]");
  command
      .add_option("--resamples", options->resamples,
                  "How often each window is played with times and arrivals that are drawn again, for the intervals")
      .check(whole(0, 1'000))
      .capture_default_str();
  command.add_option("--seed", options->seed, "Seed of what is drawn").check(seed()).capture_default_str();
  command.add_flag("--json", options->remote.json, "Print one JSON document");
  command.footer(
      "It reads the flight recording of a running daemon, or a saved one, and plays it in windows of a minute under "
      "the\n"
      "policy in force, under other settings, and beside the best that is known.\n"
      "  freshet whatif emails\n"
      "  freshet whatif emails --set ORDER=deadline --set CONCURRENCY=8 --last 30m\n"
      "  freshet whatif --file trouble.jsonl --try ORDER=fifo --try 'ORDER=lifo DEADLINE_MARGIN=p90'");
  command.callback([options, &exit_status] { exit_status = run_whatif(*options); });
}

}  // namespace freshet::cli
