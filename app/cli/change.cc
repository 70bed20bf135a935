// freshet cancel, redrive: changing a running daemon's queue.
#include <CLI/CLI.hpp>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/remote.h"

namespace freshet::cli {
namespace {

struct ChangeOptions {
  Remote remote;
  std::vector<std::string> ids;
  std::string state = "DEAD";
  uint32_t limit = 1000;
};

int cancel(const ChangeOptions& options) {
  Session session(options.remote);
  const Json answer = session.call("POST", "/cancel", Json{{"taskIds", options.ids}});
  if (answer.is_null()) return session.exit_status();
  int status = kDone;
  for (const auto& result : answer["results"]) {
    if (options.remote.json) std::cout << result.dump() << '\n';
    if (result.contains("error")) {
      status = exit_status_of(result["error"].value("code", ""));
      if (!options.remote.json) std::cerr << "freshet: " << result["error"].value("message", "") << '\n';
    } else if (!options.remote.json) {
      std::cout << result.value("taskId", "") << ' ' << result.value("taskStatus", "") << '\n';
    }
  }
  return status;
}

int redrive(const ChangeOptions& options) {
  Json request{{"state", options.state}, {"limit", options.limit}};
  if (!options.ids.empty()) request["taskIds"] = options.ids;
  Session session(options.remote);
  const Json answer = session.call("POST", "/redrive", request);
  if (answer.is_null()) return session.exit_status();
  if (options.remote.json) {
    std::cout << answer.dump() << '\n';
  } else {
    std::cout << answer.value("redriven", 0) << " back to PENDING\n";
  }
  return kDone;
}

}  // namespace

void add_cancel(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ChangeOptions>();
  CLI::App* command =
      app.add_subcommand("cancel", "Cancel tasks that wait; one that runs is told at its next heartbeat");
  options->remote.add_options(*command);
  command->add_option("ids", options->ids, "Task ids")->required();
  command->callback([options, &exit_status] { exit_status = cancel(*options); });
}

void add_redrive(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ChangeOptions>();
  CLI::App* command = app.add_subcommand("redrive", "Put dead, failed or cancelled tasks back to PENDING");
  options->remote.add_options(*command);
  command->add_option("ids", options->ids, "Task ids; none: all of that state");
  command->add_option("--state", options->state, "DEAD, FAILURE or CANCELLED")->capture_default_str();
  command->add_option("--limit", options->limit, "At most so many")->capture_default_str();
  command->callback([options, &exit_status] { exit_status = redrive(*options); });
}

}  // namespace freshet::cli
