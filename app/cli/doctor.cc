// freshet doctor: what a DynamoDB-compatible engine can do, and what a template needs there.

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/progress.h"
#include "app/cli/remote.h"
#include "app/daemon/plan.h"
#include "app/engines/doctor.h"
#include "app/engines/place.h"
#include "base/plain_text.h"
#include "tables/lease/fleet_tables.h"

namespace freshet::cli {
namespace {

struct DoctorCommand {
  std::string endpoint;
  TemplateOptions deploy;
  std::string region;
  std::string ca;
  bool fleet = false;
  bool no_writes = false;
  bool json = false;
};

int end_with(const Error& error, int status) {
  std::cerr << "freshet: " << plain_text(error.message) << '\n';
  return status;
}

const char* word_of(engines::Finding::State state) {
  switch (state) {
    case engines::Finding::State::kOk:
      return "ok";
    case engines::Finding::State::kLacks:
      return "lacks";
    case engines::Finding::State::kBad:
      return "bad";
    case engines::Finding::State::kUnsure:
      return "unsure";
  }
  return "";
}

void print(const std::vector<engines::Finding>& findings, bool json) {
  if (json) {
    Json list = Json::array();
    for (const auto& finding : findings) {
      list.push_back({{"state", word_of(finding.state)}, {"what", finding.what}, {"said", finding.said}});
    }
    std::cout << Json{{"findings", list}}.dump() << '\n';
    return;
  }
  for (const auto& finding : findings) {
    std::string word = word_of(finding.state);
    word.resize(7, ' ');
    std::cout << word << plain_text(finding.what);
    if (!finding.said.empty()) std::cout << ": " << plain_text(finding.said);
    std::cout << '\n';
  }
}

int status_of(const std::vector<engines::Finding>& findings) {
  int status = kDone;
  for (const auto& finding : findings) {
    const bool unusable = finding.what == "endpoint" || finding.what == "access key";
    if (finding.state == engines::Finding::State::kBad) return unusable ? kUnreachable : kDifferent;
    if (finding.state == engines::Finding::State::kUnsure) status = kUnreachable;
  }
  return status;
}

Async<void> ask(engines::Place& place, engines::DoctorOptions options, std::vector<engines::Finding>& out) {
  auto findings = co_await engines::examine(*place.caller(), place.remote(), std::move(options));
  out = std::move(findings);
}

// The tables of the template and, if asked for, those of a fleet that serves it.
void want(Deployment deployment, bool fleet, engines::DoctorOptions& options) {
  const auto is_enabled = [](const auto& one) { return one.enabled; };
  const auto& tables = deployment.tables;
  const auto& mappings = deployment.mappings;
  FleetNeeds needs;
  needs.queues = std::any_of(tables.begin(), tables.end(), [](const auto& table) { return table.books.has_value(); });
  needs.schedules = std::any_of(deployment.schedules.begin(), deployment.schedules.end(), is_enabled);
  needs.mappings = std::any_of(mappings.begin(), mappings.end(), is_enabled);
  for (const MappingDefinition& mapping : mappings) {
    if (mapping.enabled) options.read.insert(mapping.table);
  }
  options.wanted = std::move(deployment.tables);
  for (TableDefinition& table : options.wanted) {
    if (!options.read.contains(table.name)) table.stream.reset();  // Nobody reads it there.
  }
  if (!fleet) return;
  for (TableDefinition& table : fleet_tables(needs)) options.wanted.push_back(std::move(table));
}

int run(const DoctorCommand& command) {
  engines::DoctorOptions options;
  Deployment wanted;
  if (!command.deploy.path.empty()) {
    TemplateOptions deploy = command.deploy;
    deploy.reads_streams = false;  // An engine's streams do not start queues.
    auto deployment = read_deployment(deploy);
    if (!deployment) {
      std::cerr << "freshet: " << plain_lines(deployment.error().message, plain_text(command.deploy.path) + ":")
                << '\n';
      return kUsage;
    }
    wanted = std::move(*deployment);
  }
  want(std::move(wanted), command.fleet, options);
  if (!engines::is_endpoint(command.endpoint)) {
    return end_with({ErrorCode::kValidation, "--endpoint must be http[s]://HOST[:PORT]", {}}, kUsage);
  }
  auto loop = engines::StoreLoop::make(command.ca);
  if (!loop) return end_with(loop.error(), kUsage);
  engines::PlaceOptions where;
  where.region = command.region;
  auto place = engines::Place::open(command.endpoint, where, **loop);
  if (!place) return end_with(place.error(), kUsage);
  hear_interrupts();
  Progress progress("endpoint");
  options.table = "freshet-doctor-" + (*loop)->random().uuid();
  options.writes = !command.no_writes;
  options.streams = &(*place)->streams();
  options.http = &(*loop)->http();
  options.url = command.endpoint;
  options.is_stopped = [] { return interrupted(); };
  options.on_progress = [&](const std::string& what) { progress.show(plain_text(what)); };
  std::vector<engines::Finding> findings;
  (*loop)->run(ask(**place, std::move(options), findings));
  progress.end();
  print(findings, command.json);
  return status_of(findings);
}

}  // namespace

void add_doctor(Command app, int& exit_status) {
  auto options = std::make_shared<DoctorCommand>();
  const Command command = app.add_subcommand("doctor", "Find out what a DynamoDB-compatible engine can do");
  command.add_option("--endpoint", options->endpoint, "http[s]://HOST[:PORT] of the engine").required();
  command
      .add_option("--template", options->deploy.path, "Compare the tables of this template with those that are there")
      .shipped_file();
  command
      .add_option("--region", options->region,
                  "Region that requests are signed for; without it that of the profile, or us-east-1")
      .envname("AWS_REGION");
  command.add_option("--ca", options->ca, "PEM file of certificates to trust besides the system's").file();
  command.add_flag("--fleet", options->fleet, "Look for the tables of a fleet, too (docs/fleet.md)");
  command.add_flag("--no-writes", options->no_writes, "Make no table: look only at what is there");
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "It makes a table of its own, freshet-doctor-ID, writes to it for some seconds, and drops it.\n"
      "Access keys come from the environment, ~/.aws/credentials, ~/.aws/config, or the credentials\n"
      "endpoint of a container or an instance. Exit status 7: something is bad; what an engine lacks is no fault. 6: "
      "it did not\n"
      "answer some questions, also when asked again ('unsure').\n"
      "Examples:\n"
      "  freshet doctor --endpoint http://127.0.0.1:8000\n"
      "  freshet doctor --endpoint https://dynamodb.eu-west-1.amazonaws.com --region eu-west-1 --template "
      "config/lifo.yaml");
  command.callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace freshet::cli
