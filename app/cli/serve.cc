// freshet serve: a queue without a template.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/options_file.h"
#include "app/cli/serve_choices.h"
#include "app/cli/serve_welcome.h"
#include "app/cli/wrapped_lines.h"
#include "app/daemon/daemon.h"
#include "app/daemon/options.h"
#include "base/plain_text.h"
#include "base/terminal.h"
#include "tables/engine/embedded.h"

namespace freshet::cli {
namespace {

constexpr std::chrono::hours kLongestDeadline{24 * 366};
constexpr std::chrono::hours kLongestTask{23};  // The function that processes tasks ends after a day.

struct ServeOptions {
  ServeChoices choices;
  DaemonOptions daemon;
  std::string config;
  bool print_template = false;
  bool json = false;
};

// How the user calls the program.
std::string program() {
  const std::string name = program_invocation_name;
  return name.find('/') == std::string::npos ? "freshet" : shell_word(name);
}

// The address that clients on this machine use.
std::string reachable(std::string url) {
  for (const auto& [everywhere, here] : {std::pair("//0.0.0.0:", "//127.0.0.1:"), std::pair("//[::]:", "//[::1]:")}) {
    if (const size_t at = url.find(everywhere); at != std::string::npos) {
      url.replace(at, std::string(everywhere).size(), here);
    }
  }
  return url;
}

ServeWelcome welcome_facts(const DaemonOptions& daemon, const std::string& url) {
  ServeWelcome facts;
  facts.program = program();
  facts.url = reachable(url);
  facts.data = daemon.data == kMemoryDirectory ? daemon.data : std::filesystem::absolute(daemon.data).string();
  if (!daemon.endpoints.empty()) facts.engine = daemon.endpoints.front();
  facts.region = daemon.deploy.account.region;
  facts.credentials = daemon.credentials;
  facts.ca = daemon.tls_certificate;
  return facts;
}

// The sentences are wrapped; the commands below them stay whole, so that they can be copied.
void print_welcome(const std::string& text) {
  const size_t commands = std::min(text.find("put:   "), text.size());
  {
    const WrappedLines wraps(std::cout, screen_of(STDOUT_FILENO));
    std::cout << text.substr(0, commands);
  }
  std::cout << text.substr(commands) << std::flush;
}

int serve(ServeOptions& options, bool level_given) {
  const auto queue = queue_of(options.choices);
  if (!queue) {
    std::cerr << "freshet serve: " << plain_text(queue.error().message)
              << "\nfreshet serve --help explains the options.\n";
    return kUsage;
  }
  const std::string text = template_of(*queue, command_of(options.choices));
  if (options.print_template) {
    std::cout << text;
    return kDone;
  }
  if (const auto missing = missing_program(options.choices)) {
    std::cerr << "freshet serve: " << plain_text(*missing) << '\n';
    return kUsage;
  }
  DaemonOptions& daemon = options.daemon;
  if (daemon.data.empty()) daemon.data = "freshet-data/" + queue->name;
  if (options.json) daemon.log_format = "json";
  daemon.quiet = !level_given;
  daemon.deploy.path = "freshet serve " + queue->name;
  daemon.deploy.text = text;
  daemon.on_ready = [&](const std::string& url) {
    if (!options.json) print_welcome(welcome_text(*queue, welcome_facts(daemon, url)));
  };
  daemon.on_stopped = [&](const std::string& what) {
    if (options.json) return;
    // The terminal has shown ^C on a line of its own.
    const WrappedLines wraps(std::cout, screen_of(STDOUT_FILENO));
    std::cout << (screen_of(STDOUT_FILENO).terminal ? "\n" : "") << "stopped: " << plain_text(what) << std::endl;
  };
  return run_daemon(daemon);
}

void add_work_options(Command command, ServeChoices& choices) {
  command.options_group("Who does the work (one of them)");
  command.add_option("--to", choices.to, "URL to which each task is POSTed as JSON");
  command.add_option("--exec", choices.exec, "Program that is run for each task, with its arguments in the same word");
  command
      .add_option("--function", choices.function,
                  "Function that is called with each task: FILE.py[:NAME] or FILE.mjs[:NAME] (also .js, .cjs); without "
                  "a name it is handler")
      .file();
  command.add_flag("--pull", choices.pull, "No handler: workers take tasks through the task API, under a lease");
  command.options_group("How much at once");
  command
      .add_option(
          "--rate", choices.rate,
          "Most starts a second, like 19 or 0.5; or 600/m, 5000/h; or adaptive: as fast as the handler accepts. "
          "With --pull workers are given no more than that [default: no limit]")
      .check({wrong_rate});
  command.add_option("--concurrency", choices.concurrency,
                     "Most tasks in work at once, or adaptive: as many as the handler can take [default: 8]");
  command
      .add_option("--timeout", choices.timeout,
                  "A task that takes longer is ended; that is a failed attempt. With --pull, how long a lease lasts "
                  "[default: 60s]")
      .check(duration(std::chrono::milliseconds(10), kLongestTask));
  command
      .add_option("--attempts", choices.attempts, "Attempts after which a task that keeps failing is DEAD [default: 5]")
      .check(whole(1, 1'000'000));
}

void add_time_options(Command command, ServeChoices& choices) {
  command.options_group("Which task is next, and for how long");
  command
      .add_option("--late", choices.late,
                  "What a task is worth that is done late. useless: nothing; the most urgent of those that will still "
                  "be in time is next. fades: less; the newest is next. fine: late is better than never; the oldest is "
                  "next, or the newest while more comes than is done [default: fades]")
      .one_of({"useless", "fades", "fine"});
  command
      .add_option("--deadline", choices.deadline,
                  "How long a task is worth doing, from its creation, unless it says so itself: then it is shed "
                  "[default: 1h; with --late fine, for ever]")
      .check(duration(std::chrono::milliseconds(1), kLongestDeadline));
  command
      .add_option("--keep", choices.keep,
                  "How long an ended task stays with its result; by outcome like SUCCESS=10m,DEAD=7d "
                  "[default: 1h,DEAD=7d]")
      .check({wrong_keep});
  command.add_option("--order", choices.order, "The order itself, for those who know; it wins over --late")
      .one_of({"lifo", "fifo", "adaptive", "deadline"});
  command
      .add_option("--set", choices.settings,
                  "VARIABLE=VALUE: any other setting of the queue (docs/settings.md); repeatable")
      .one_value_each();
}

}  // namespace

void add_serve(Command app, int& exit_status) {
  auto options = std::make_shared<ServeOptions>();
  options->daemon.data.clear();
  const Command command = app.add_subcommand("serve", "Run a queue, without a template");
  command.footer(
      "A queue in front of an API that allows 20 calls a second, whose tasks are worth nothing after 5 seconds:\n"
      "  freshet serve emails --to http://127.0.0.1:8000/send --rate 19 --deadline 5s --late useless\n"
      "A queue that workers take tasks from:\n"
      "  freshet serve renders --pull --timeout 5m --listen 127.0.0.1:7071\n"
      "The template that stands for it, to go on from (freshet run emails.yaml):\n"
      "  freshet serve emails --to http://127.0.0.1:8000/send --print-template");
  command.add_option("name", options->choices.name, "Name of the queue, and of its table").required();
  add_work_options(command, options->choices);
  add_time_options(command, options->choices);
  command.options_group("Options");
  command.add_flag("--print-template", options->print_template,
                   "Print the template that this queue stands for, and run nothing");
  command.add_option("--config", options->config, "File of options; the command line and the environment win over it")
      .file()
      .envname("FRESHET_CONFIG");
  add_serve_options(command, options->daemon);
  command.get_option("--data").description(
      "Folder of the store, or :memory: to keep nothing [default: freshet-data/NAME]");
  command.options_group("Options");
  command.add_flag("--json", options->json, "Log JSON Lines, and print nothing else");
  command.callback([command, options, &exit_status] {
    split_environment_lists(command);
    if (!options->config.empty()) apply_options_file(command, options->config);
    exit_status = serve(*options, command.get_option("--log-level").given());
  });
}

}  // namespace freshet::cli
