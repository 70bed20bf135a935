#include "app/cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli/command_table.h"
#include "app/cli/commands.h"
#include "app/cli/help.h"
#include "app/cli/usage.h"
#include "app/cli/wrapped_lines.h"
#include "base/terminal.h"
#include "base/version.h"

namespace freshet::cli {
namespace {

// All of them, or those of one name or alias.
std::vector<const CLI::App*> commands_of(const CLI::App& app, const std::string& name = {}) {
  return app.get_subcommands([&](const CLI::App* one) { return name.empty() || one->check_name(name); });
}

int parse_and_run(int argc, char** argv) {
  CLI::App app(
      "Freshet: a durable task processor for when work arrives faster than it can be done and the newest matters most");
  app.name("freshet");
  use_help(app, screen_of(STDOUT_FILENO));
  app.require_subcommand(1);
  app.set_version_flag("--version", version());
  app.footer("freshet COMMAND --help explains each. The first minute: README.md.");
  int exit_status = kDone;
  add_commands(Command(app), exit_status);
  const auto word_at = [&](int at) { return std::string(argc > at ? argv[at] : ""); };
  const auto first = commands_of(app, word_at(1));
  const bool nested = argc > 1 && !first.empty() && first[0]->get_require_subcommand_min() > 0;
  const CLI::App& parent = nested ? *first[0] : app;
  const std::string word = word_at(nested ? 2 : 1);
  if (word.empty() || (word[0] != '-' && commands_of(parent, word).empty())) {
    std::cerr << explain_commands(parent, word) << '\n';
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version.
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << explain_usage(app, error) << '\n';
    return kUsage;
  } catch (const nlohmann::json::exception&) {
    // The answer is JSON, but with other members or types: it is some other server's.
    std::cerr
        << "freshet: the server answers, but not as Freshet does: is --url (or FRESHET_URL) the daemon's address?\n";
    return kFailed;
  }
  return exit_status;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  const WrappedLines wraps(std::cerr, screen_of(STDERR_FILENO));
  const int status = parse_and_run(argc, argv);
  // The disk is full or the descriptor is closed: the reader did not get all of the output.
  errno = 0;
  if (std::cout.flush()) return status;
  const std::string why = errno == 0 ? "" : ": " + std::string(std::strerror(errno));
  std::cerr << "freshet: cannot write to standard output" << why << '\n';
  return status == kDone ? kFailed : status;
}

}  // namespace freshet::cli
