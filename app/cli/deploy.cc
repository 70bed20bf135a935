// freshet deploy: brings a running daemon to what a template says.
#include <filesystem>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/refusal.h"
#include "app/cli/remote.h"
#include "app/daemon/options.h"
#include "base/plain_text.h"
#include "base/text_file.h"

namespace freshet::cli {
namespace {

struct DeployOptions {
  Remote remote;
  TemplateOptions deploy;
  bool dry_run = false;
};

void print_changes(const Json& answer, bool dry_run) {
  for (const Json& warning : answer.at("warnings"))
    std::cerr << "warning: " << plain_text(warning.get<std::string>()) << '\n';
  const Json& changes = answer.at("changes");
  for (const Json& change : changes) {
    const std::string kind = change.value("change", "");
    const char sign = kind == "create" ? '+' : kind == "change" ? '~' : kind == "remove" ? '-' : '=';
    const std::string detail = change.value("detail", "");
    std::cout << sign << ' ' << plain_text(change.value("type", "")) << ' ' << plain_text(change.value("name", ""))
              << (detail.empty() ? "" : ": " + plain_text(detail))
              << (kind == "keep" ? " (no longer in the template; stays with its items)" : "") << '\n';
  }
  if (changes.empty()) std::cout << "nothing to change\n";
  if (dry_run) std::cerr << "nothing was done (--dry-run)\n";
  for (const auto& [name, value] : answer.at("outputs").items())
    std::cout << plain_text(name) << " = " << plain_text(value.get<std::string>()) << '\n';
}

int refused(const HttpResponse& response, const std::string& file, const std::string& credentials) {
  const RefusalText refusal = refusal_in(response);
  if (refusal.code != "ValidationException") return report_refusal(response, credentials);
  // The template's faults, a line each.
  std::cerr << "freshet: " << plain_lines(refusal.message, plain_text(file) + ":") << '\n';
  return kUsage;
}

int deploy(const DeployOptions& options) {
  auto text = read_text_file(options.deploy.path);
  if (!text) {
    std::cerr << "freshet: the template: " << plain_text(text.error().message) << '\n';
    return kUsage;
  }
  auto client = connect_to(options.remote.url, options.remote.credentials, options.remote.ca);
  if (!client) {
    std::cerr << "freshet: " << plain_text(client.error().message) << '\n';
    return kUsage;
  }
  const std::string file = std::filesystem::absolute(options.deploy.path).lexically_normal().string();
  const Json body{{"file", file},
                  {"template", std::move(*text)},
                  {"parameters", options.deploy.parameters},
                  {"settings", options.deploy.settings},
                  {"dryRun", options.dry_run}};
  std::string sent;
  try {
    sent = body.dump();
  } catch (const Json::exception&) {
    std::cerr << "freshet: " << plain_text(options.deploy.path) << " is not UTF-8\n";
    return kUsage;
  }
  auto response = (*client)->call("POST", "/deploy", sent, {{"Content-Type", "application/json"}});
  if (!response) return unreachable(response.error());
  if (response->status >= 300) return refused(*response, file, options.remote.credentials);
  if (options.remote.json) {
    std::cout << response->body << '\n';
  } else {
    print_changes(Json::parse(response->body), options.dry_run);
  }
  return kDone;
}

}  // namespace

void add_deploy(Command app, int& exit_status) {
  auto options = std::make_shared<DeployOptions>();
  const Command command = app.add_subcommand("deploy", "Apply a template to a running daemon");
  command.add_option("template", options->deploy.path, "SAM or CloudFormation template (YAML or JSON)")
      .shipped_file()
      .required();
  add_deploy_options(command, options->deploy);
  command.remove_option("--account");
  command.remove_option("--region");
  command.add_flag("--dry-run", options->dry_run, "Only show what would change");
  options->remote.add_connection_options(command);
  command.add_flag("--json", options->remote.json, "Print JSON");
  command.footer(
      "What differs is changed while the daemon runs: items, queued events and positions stay. What the template "
      "before\n"
      "had made and this one does not name goes, except tables. The daemon reads the folders of code (CodeUri) "
      "itself:\n"
      "it has to run on this machine. SIGHUP makes it read the template that it was started with again.\n"
      "--parameter and --set are not remembered from the start: without them the template's defaults come back.\n"
      "  freshet deploy template.yaml --dry-run\n"
      "  freshet deploy template.yaml --set ProcessTasksFunction.CONCURRENCY=4");
  command.callback([options, &exit_status] { exit_status = deploy(*options); });
}

}  // namespace freshet::cli
