#include "app/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "app/cli/commands.h"

namespace freshet::cli {

int run_command_line(int argc, char** argv) {
  CLI::App app(
      "Freshet: a durable task processor for when work arrives faster than it can be done and the newest matters most");
  app.name("freshet");
  app.require_subcommand(1);
  app.set_version_flag("--version", FRESHET_VERSION);
  app.footer("freshet COMMAND --help explains each. The first minute: README.md.");
  int exit_status = kDone;
  add_run(app, exit_status);
  add_put(app, exit_status);
  add_get(app, exit_status);
  add_list(app, exit_status);
  add_stats(app, exit_status);
  add_cancel(app, exit_status);
  add_redrive(app, exit_status);
  add_record(app, exit_status);
  add_replay(app, exit_status);
  add_bench(app, exit_status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  return exit_status;
}

}  // namespace freshet::cli
