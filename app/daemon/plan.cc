#include "app/daemon/plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "app/daemon/engine_tables.h"
#include "base/text_file.h"
#include "functions/check_function.h"
#include "functions/queue/attributes.h"
#include "functions/register.h"

namespace freshet {
namespace {

// A segment is a sixteenth of it and must hold the largest item, before and after a change.
constexpr uint64_t kLeastDataBytes = 13u << 20;

// A key that others can read protects nothing. Many tools write such files, and groups share them: warn, do not refuse.
std::optional<std::string> warning_of_key(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 || (about.st_mode & (S_IROTH | S_IWOTH)) == 0) return std::nullopt;
  return "the private key '" + path + "' can be read or written by everybody: chmod 600 it";
}

Result<std::map<std::string, std::string>> parse_parameters(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> parameters;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return invalid("--parameter '" + text + "' must be NAME=VALUE");
    parameters[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return parameters;
}

// The function that works on the queue says how the queue treats its tasks.
Result<QueueSettings> settings_of(const std::string& table, const Deployment& deployment) {
  for (const auto& function : deployment.functions) {
    const auto named = function.environment.find("QUEUE_TABLE");
    if (named == function.environment.end() || named->second != table || !is_processor(function.handler)) continue;
    auto settings = process_settings(function.environment);
    if (!settings) return invalid("function " + function.name + ": " + settings.error().message);
    return settings->queue;
  }
  return queue_settings({});
}

// `name` stands for the logical id of what no template defines.
TemplatePlace place_of(const Deployment& deployment, const std::string& what, const std::string& name) {
  const auto found = deployment.places.find(what);
  return found == deployment.places.end() ? TemplatePlace{0, name} : found->second;
}

// A function's timeout ends the processor with all that it has in work: those tasks have failed.
void warn_of_short_timeouts(const std::string& file, Deployment& deployment) {
  for (const auto& function : deployment.functions) {
    if (!is_processor(function.handler)) continue;
    const auto settings = process_settings(function.environment);
    if (!settings || settings->runner.kind == RunnerSettings::Kind::kNone) continue;
    const auto longest = settings->max_active + settings->runner.timeout;
    if (function.timeout >= longest) continue;
    const TemplatePlace place = place_of(deployment, "function " + function.name, function.name);
    deployment.warnings.push_back({file, place.line, place.resource, "Timeout",
                                   "it ends tasks in work after " + std::to_string(function.timeout.count() / 1000) +
                                       " s as failed: make it at least MAX_ACTIVE_MS + TASK_TIMEOUT_MS, " +
                                       std::to_string((longest.count() + 999) / 1000) + " s"});
  }
}

// True if the table has the shape of a task queue: tasks by id, and by state and time.
bool looks_like_queue(const TableDefinition& table) {
  const KeySchema& keys = table.keys;
  if (keys.partition.name != attribute::kId || keys.partition.type != Type::kString || keys.sort) return false;
  return std::any_of(table.indexes.begin(), table.indexes.end(), [](const IndexDefinition& index) {
    return index.keys.partition.name == attribute::kStatus && index.keys.sort &&
           index.keys.sort->name == attribute::kCreated;
  });
}

// An application that takes tasks by itself has no leases: tasks that it holds when it ends stay TAKEN.
void hint_at_queues(const std::string& file, Deployment& deployment,
                    const std::map<std::string, QueueSettings>& queues) {
  for (const auto& table : deployment.tables) {
    if (queues.contains(table.name) || !looks_like_queue(table)) continue;
    const TemplatePlace place = place_of(deployment, "table " + table.name, table.name);
    deployment.warnings.push_back(
        {file, place.line, place.resource, "",
         "it looks like a queue of tasks and is none: a task that is TAKEN when its program or the daemon ends stays "
         "TAKEN. --queue " +
             table.name +
             " (or Metadata: {Freshet: {Queue: true}}) gives it leases, stats and explain; see docs/templates.md, "
             "\"Tables that look like queues\""});
  }
}

Result<void> add_modules(const DaemonOptions& options, const std::vector<ModuleKind>& modules, DaemonPlan& plan) {
  for (const ModuleKind& kind : modules) {
    auto module = kind.make(options);
    if (!module) return fail(std::move(module.error()));
    plan.modules.push_back(std::move(*module));
  }
  return {};
}

}  // namespace

Result<std::map<std::string, QueueSettings>> settings_of_queues(const Deployment& deployment,
                                                                const std::vector<std::string>& more) {
  std::map<std::string, QueueSettings> queues;
  auto tables = deployment.queues;
  tables.insert(tables.end(), more.begin(), more.end());
  for (const auto& table : tables) {
    auto settings = settings_of(table, deployment);
    if (!settings) return fail(settings.error());
    queues.emplace(table, std::move(*settings));
  }
  return queues;
}

Result<Deployment> read_deployment(const TemplateOptions& options) {
  if (!options.text.empty()) return read_deployment(options, options.text);
  auto text = read_text_file(options.path);
  if (!text) {
    const bool is_name = options.path.find_first_of("./") == std::string::npos;
    return invalid("the template: " + text.error().message +
                   (is_name ? "; freshet serve " + options.path + " runs a queue without a template" : ""));
  }
  return read_deployment(options, std::move(*text));
}

Result<PlannedDeployment> plan_deployment_of(const TemplateOptions& options, std::string text,
                                             const std::vector<std::string>& queues) {
  PlannedDeployment planned;
  auto deployment = read_deployment(options, std::move(text));
  if (!deployment) return fail(std::move(deployment.error()));
  planned.deployment = std::move(*deployment);
  warn_of_short_timeouts(options.path, planned.deployment);
  auto settings = settings_of_queues(planned.deployment, queues);
  if (!settings) return fail(std::move(settings.error()));
  planned.queues = std::move(*settings);
  hint_at_queues(options.path, planned.deployment, planned.queues);
  return planned;
}

Result<Deployment> read_deployment(const TemplateOptions& options, std::string text) {
  DeploymentInput input;
  auto parameters = parse_parameters(options.parameters);
  if (!parameters) return fail(parameters.error());
  input.source.file = options.path;
  input.source.text = std::move(text);
  input.source.parameters = std::move(*parameters);
  input.source.account = options.account.id;
  input.source.region = options.account.region;
  for (const auto& setting : options.settings) {
    auto parsed = parse_override(setting);
    if (!parsed) return fail(parsed.error());
    input.overrides.push_back(std::move(*parsed));
  }
  input.traces_kept = options.traces_kept;
  input.native_handlers = built_in_handlers();
  input.known_variables = known_variables;
  input.check_function = check_function;
  auto deployment = resolve_deployment(input);
  if (deployment && !options.reads_streams) leave_out_triggers(options, *deployment);
  return deployment;
}

TemplateOptions template_options(const DaemonOptions& options) {
  TemplateOptions out = options.deploy;
  out.reads_streams = !is_on_engine(options);
  out.traces_kept = !options.trace_file.empty() || !options.chrome_trace.empty() || !options.trace_endpoint.empty();
  return out;
}

RuntimeOptions runtime_options(const DaemonParts& parts) {
  RuntimeOptions out;
  out.processes.max_processes = parts.options.max_processes;
  out.processes.times.idle = milliseconds(parts.options.process_idle_ms);
  out.account = parts.options.deploy.account;
  out.log = parts.log;
  out.on_code_left = parts.on_code_left;
  return out;
}

namespace {

Result<void> read_keys(const DaemonOptions& options, PlannedFacts& plan) {
  if (options.credentials.empty()) {
    if (options.member_credentials.empty()) return {};
    return invalid("--member-credentials needs --credentials: without it, requests need no signature");
  }
  auto credentials = Credentials::read(options.credentials);
  if (!credentials) return fail(std::move(credentials.error()));
  plan.credentials = plan.member_credentials = plan.all_credentials = std::move(*credentials);
  if (options.member_credentials.empty()) return {};
  if (!options.fleet) return invalid("--member-credentials needs --fleet");
  auto members = Credentials::read(options.member_credentials);
  if (!members) return invalid("--member-credentials: " + members.error().message);
  auto all = plan.credentials->and_of(*members);
  if (!all) return invalid("--credentials and --member-credentials: " + all.error().message);
  plan.all_credentials = std::move(*all);
  if (members->strongest().role < Role::kOperate) {
    plan.warnings.push_back(
        "--member-credentials has no key with the role operate or admin: the daemons share no tasks");
  }
  plan.member_credentials = std::move(*members);
  return {};
}

}  // namespace

Result<DaemonPlan> plan_daemon(const DaemonOptions& options, const std::vector<ModuleKind>& modules) {
  DaemonPlan plan;
  if (auto keys = read_keys(options, plan); !keys) return fail(std::move(keys.error()));
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return invalid("--tls-cert and --tls-key belong together: give both, or neither");
  }
  if (!options.tls_key.empty()) {
    auto tls = TlsContext::make(options.tls_certificate, options.tls_key);
    if (!tls) return fail(tls.error());
    plan.tls = std::move(*tls);
    if (auto warning = warning_of_key(options.tls_key)) plan.warnings.push_back(std::move(*warning));
  }
  auto trust = TlsTrust::make(options.ca_file);
  if (!trust) return invalid("--ca-file: " + trust.error().message);
  plan.trust = std::move(*trust);
  auto listen = parse_listen(options.listen, plan.credentials.has_value());
  if (!listen) return fail(listen.error());
  plan.listen = *listen;
  if (auto engine = check_engine(options); !engine) return fail(std::move(engine.error()));
  if (auto fleet = check_fleet(options); !fleet) return fail(std::move(fleet.error()));
  if (is_on_engine(options) && options.data == kMemoryDirectory) {
    plan.warnings.push_back(
        "--store dynamodb with --data :memory: forgets definitions, pauses and logs with each stop");
  }
  auto durability = parse_durability(options.durability);
  if (!durability) return fail(durability.error());
  plan.durability = *durability;
  if (options.max_data_bytes > 0 && options.max_data_bytes < kLeastDataBytes) {
    return invalid("--max-data-bytes " + std::to_string(options.max_data_bytes) +
                   ": at least 13MiB, or the largest items would not fit into its segments; 0 for no bound");
  }
  if (!options.deploy.path.empty()) {
    auto deployment = read_deployment(template_options(options));
    if (!deployment) return fail(deployment.error());
    plan.deployment = std::move(*deployment);
  } else if (!options.deploy.settings.empty() || !options.deploy.parameters.empty()) {
    return invalid("--set and --parameter need a template: freshet run TEMPLATE --set ...");
  }
  warn_of_short_timeouts(options.deploy.path, plan.deployment);
  auto queues = settings_of_queues(plan.deployment, options.queues);
  if (!queues) return fail(queues.error());
  plan.queues = std::move(*queues);
  hint_at_queues(options.deploy.path, plan.deployment, plan.queues);
  if (auto ok = add_modules(options, modules, plan); !ok) return fail(std::move(ok.error()));
  return plan;
}

Result<DaemonPlan> plan_again(const DaemonPlan& before, const DaemonOptions& options,
                              const std::vector<ModuleKind>& modules) {
  DaemonPlan plan;
  static_cast<PlannedFacts&>(plan) = before;
  if (auto ok = add_modules(options, modules, plan); !ok) return fail(std::move(ok.error()));
  return plan;
}

}  // namespace freshet
