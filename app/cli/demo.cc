// freshet demo: Freshet at work, for people who want to see it.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/serve_choices.h"
#include "app/cli/shipped.h"
#include "app/daemon/options.h"
#include "app/demo/report.h"
#include "app/demo/run_story.h"
#include "base/out_file.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct DemoOptions {
  double seconds = 120;
  uint64_t seed = 1;
  std::string html;
  bool json = false;
  std::vector<std::string> serve;
  std::string durability = "sync";
  std::vector<std::string> against;  // Names of rivals that ship.
  std::vector<std::string> rivals;   // NAME=COMMAND
};

int wrong_demo(const Error& error) {
  std::cerr << "freshet demo: " << plain_lines(error.message, "  ") << '\n';
  return error.code == ErrorCode::kValidation ? kUsage : kFailed;
}

Result<demo::RunOptions> run_options(const DemoOptions& options) {
  demo::RunOptions run;
  std::error_code error;
  run.binary = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return fail(ErrorCode::kIo, "cannot find this program: " + error.message());
  if (auto durability = parse_durability(options.durability); !durability) return fail(durability.error());
  run.durability = options.durability;
  // Refuse a wrong setting here, before a daemon fails to start because of it.
  ServeChoices choices;
  choices.name = "demo";
  choices.to = "http://127.0.0.1/";
  choices.settings = options.serve;
  if (auto queue = queue_of(choices); !queue) return fail(queue.error());
  for (const auto& setting : options.serve) run.serve.insert(run.serve.end(), {"--set", setting});
  run.stopped = interrupted;
  if (options.json) return run;
  run.on_moment = [](const demo::Moment& moment) { std::cout << demo::moment_line(moment) << std::flush; };
  run.killed = [] { std::cout << "  -------   kill -9, and start again on the same data\n" << std::flush; };
  return run;
}

// The driver of a rival that ships, as NAME=COMMAND.
Result<std::string> shipped_rival(const std::string& name) {
  static const std::map<std::string, std::string> titles = {{"bullmq", "BullMQ lifo"},
                                                            {"postgres", "PostgreSQL"},
                                                            {"sqs-pattern", "sample's loop"},
                                                            {"lifo-sample", "LIFO sample"}};
  const auto title = titles.find(name);
  if (title == titles.end()) {
    return invalid("--against '" + name + "' is not known: there are bullmq, postgres, sqs-pattern and lifo-sample");
  }
  const std::string script = shipped_path("bench/rivals/limits_rival.sh");
  if (!std::filesystem::exists(script)) {
    return invalid("--against needs bench/rivals/limits_rival.sh, which comes with the source and with the package");
  }
  return title->second + "=" + shell_word(script) + " " + name;
}

// Runs each rival on the same story. Those that cannot run are named, and left out.
void run_rivals(const DemoOptions& options, const std::vector<std::string>& rivals, demo::Shown& shown) {
  for (const auto& rival : rivals) {
    auto run_with = run_options(options);
    if (!run_with) return;
    const size_t equals = rival.find('=');
    run_with->name = rival.substr(0, equals);
    run_with->rival = rival.substr(equals + 1);
    if (!options.json) std::cout << '\n' << plain_text(run_with->name) << ":\n" << std::flush;
    auto run = demo::run_story(shown.story, shown.tasks, *run_with);
    if (run) {
      shown.runs.push_back(std::move(*run));
    } else {
      std::cerr << "freshet demo: left out: " << plain_lines(run.error().message, "  ") << '\n';
    }
    if (interrupted()) return;
  }
}

Result<std::vector<std::string>> rivals_of(const DemoOptions& options) {
  std::vector<std::string> out;
  for (const auto& name : options.against) {
    auto rival = shipped_rival(name);
    if (!rival) return fail(rival.error());
    out.push_back(std::move(*rival));
  }
  for (const auto& rival : options.rivals) {
    const size_t equals = rival.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == rival.size()) {
      return invalid("--rival '" + rival + "' must be NAME=COMMAND");
    }
    out.push_back(rival);
  }
  return out;
}

int show_limits(const DemoOptions& options) {
  demo::Shown shown;
  shown.story.length = std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(options.seconds));
  shown.story.seed = options.seed;
  shown.tasks = demo::tasks_of(shown.story);
  auto run_with = run_options(options);
  if (!run_with) return wrong_demo(run_with.error());
  const auto rivals = rivals_of(options);
  if (!rivals) return wrong_demo(rivals.error());
  std::ofstream html;
  if (!options.html.empty()) {
    html.open(options.html, std::ios::binary);
    if (!html) return wrong_demo({ErrorCode::kValidation, "--html: " + cannot_write(options.html), nullptr});
  }
  // The daemon ends and its folder goes, however the demo ends. A closed output does not end it.
  hear_interrupts(SecondSignal::kIsHeardToo);
  signal(SIGPIPE, SIG_IGN);
  if (!options.json) std::cout << demo::introduction(shown.story, shown.tasks) << '\n' << std::flush;
  auto run = demo::run_story(shown.story, shown.tasks, *run_with);
  if (!run) return wrong_demo(run.error());
  shown.runs.push_back(std::move(*run));
  run_rivals(options, *rivals, shown);
  std::cout << (options.json ? demo::json_report(shown) : demo::text_report(shown));
  if (html.is_open()) {
    html << demo::html_report(shown);
    html.flush();
    if (!html) return wrong_demo({ErrorCode::kIo, cannot_write(options.html), nullptr});
    if (!options.json) std::cout << "\nThe page: " << plain_text(options.html) << '\n';
  }
  return shown.runs.front().books_balance() ? kDone : kDifferent;
}

void add_limits(Command demo, int& exit_status) {
  auto options = std::make_shared<DemoOptions>();
  const Command command =
      demo.add_subcommand("limits", "An API with a limit that changes, ten times as much work, and a kill -9");
  command.footer(
      "It starts an API that answers 429 beyond its limit, and `freshet serve` in front of it, on free ports of\n"
      "127.0.0.1 and in a temporary folder, and removes both. It ends with status 7 if the books do not add up.\n"
      "  freshet demo limits --html limits.html\n"
      "  freshet demo limits --seconds 60 --set RATE_LIMIT=19");
  command
      .add_option("--seconds", options->seconds,
                  "Length of the run, 15 to 3600; below 60 it shows mostly the search for the limit [default: 120]")
      .check(whole(15, 3600));
  command.add_option("--seed", options->seed, "Seed of the tasks").check(seed()).capture_default_str();
  command.add_option("--html", options->html, "Write the result as a page into this file");
  command
      .add_option("--set", options->serve,
                  "VARIABLE=VALUE: another setting of the queue (docs/settings.md); repeatable")
      .one_value_each();
  command
      .add_option("--durability", options->durability,
                  "When the daemon acknowledges a write: sync, interval:MS or none")
      .capture_default_str();
  command.add_list("--against", options->against,
                   "Run these rivals on the same tasks afterwards: bullmq, postgres, sqs-pattern (the loop of the LIFO "
                   "sample) and lifo-sample (its own files, in the folder that $LIFO_SAMPLE names)");
  command
      .add_option("--rival", options->rivals,
                  "NAME=COMMAND: run another queue's driver, too; it POSTs tasks of the file $LAB_ARRIVALS to "
                  "$LAB_HANDLER; repeatable")
      .one_value_each();
  command.add_flag("--json", options->json, "Print JSON at the end, and nothing else");
  command.callback([options, &exit_status] { exit_status = show_limits(*options); });
}

}  // namespace

void add_demo(Command app, int& exit_status) {
  const Command command = app.add_subcommand("demo", "See Freshet at work, in two minutes");
  command.require_subcommand();
  command.footer(
      "An API with a limit that changes, on free ports and in a temporary folder:\n"
      "  freshet demo limits");
  add_limits(command, exit_status);
}

}  // namespace freshet::cli
