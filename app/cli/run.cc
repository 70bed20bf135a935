// freshet run: the daemon.
#include <iostream>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/options_file.h"
#include "app/daemon/daemon.h"
#include "app/daemon/modules.h"
#include "app/daemon/options.h"
#include "wire/http/cors.h"

namespace freshet::cli {
namespace {

void add_store_options(Command command, DaemonOptions& options) {
  command.options_group("Store");
  command.add_option("--data", options.data, "Folder of the store, or :memory: to keep nothing")
      .folder()
      .envname("FRESHET_DATA")
      .capture_default_str();
  command
      .add_option("--store", options.store,
                  "Where tables live: embedded (in --data) or dynamodb (in the engine at --endpoint; docs/engines.md)")
      .envname("FRESHET_STORE")
      .capture_default_str()
      .one_of({"embedded", "dynamodb"});
  command
      .add_list("--endpoint", options.endpoints,
                "URLs of a DynamoDB-compatible engine, with commas between; repeatable")
      .envname("FRESHET_ENDPOINT")
      .one_value_each();
  command
      .add_option(
          "--hedge-after-ms", options.hedge_after_ms,
          "Send a read of the engine again that has no answer after so long, and take the first answer; 0: never")
      .envname("FRESHET_HEDGE_AFTER_MS")
      .capture_default_str()
      .check(cli::whole(0, 10'000));
  command
      .add_flag("--create-tables", options.create_tables,
                "Make missing tables and indexes in the engine; without it, a start that misses one is refused")
      .envname("FRESHET_CREATE_TABLES");
  command
      .add_flag("--fleet", options.fleet,
                "Serve the engine's queues together with other daemons, each queue by one of them (docs/fleet.md)")
      .envname("FRESHET_FLEET");
  command
      .add_option("--fleet-name", options.fleet_name,
                  "Name of the fleet: a daemon with another one, or none, does not start on its tables")
      .envname("FRESHET_FLEET_NAME");
  command
      .add_option("--advertise", options.advertise,
                  "URL at which the other daemons of the fleet reach this one; by default that of --listen")
      .envname("FRESHET_ADVERTISE");
  command
      .add_option("--member-credentials", options.member_credentials,
                  "File of access keys with which the daemons of the fleet sign requests of their own; by default that "
                  "of --credentials")
      .file()
      .envname("FRESHET_MEMBER_CREDENTIALS");
  command
      .add_option("--fleet-lease-ms", options.fleet_lease_ms,
                  "Others take over when a daemon of the fleet is silent for so long")
      .envname("FRESHET_FLEET_LEASE_MS")
      .capture_default_str()
      .check(cli::whole(1000, 60'000));
  command
      .add_option("--durability", options.durability,
                  "When a write is acknowledged: sync (it is on the disk), interval:MS (synced so often) or none")
      .envname("FRESHET_DURABILITY")
      .capture_default_str();
  command
      .add_option("--max-data-bytes", options.max_data_bytes,
                  "Most bytes of the log on disk, like 2GiB; 0: as many as the disk has")
      .envname("FRESHET_MAX_DATA_BYTES")
      .size();
  command
      .add_option("--max-memory-bytes", options.max_memory_bytes,
                  "Most bytes of items and indexes in memory; 0: three quarters of the machine's memory")
      .envname("FRESHET_MAX_MEMORY_BYTES")
      .size();
  command.add_option("--segment-bytes", options.segment_bytes, "Size of a log segment")
      .envname("FRESHET_SEGMENT_BYTES")
      .size()
      .check(whole(int64_t{1} << 20, int64_t{1} << 32));
  command
      .add_flag("--accept-loss", options.accept_loss,
                "Start although files at the end of the log are missing or too short. What they held is lost")
      .envname("FRESHET_ACCEPT_LOSS");
  command.add_option("--ttl-sweep-ms", options.ttl_sweep_ms, "Milliseconds between two searches for expired items")
      .envname("FRESHET_TTL_SWEEP_MS")
      .check(whole(1, 60'000))
      .capture_default_str();
  command
      .add_flag("--trust-clock", options.trust_clock,
                "Trust the wall clock at the start, however far it is ahead of the last write")
      .envname("FRESHET_TRUST_CLOCK");
}

void add_template_options(Command command, DaemonOptions& options) {
  command.options_group("Template and queues");
  command.add_option("template", options.deploy.path, "SAM or CloudFormation template (YAML or JSON)")
      .shipped_file()
      .envname("FRESHET_TEMPLATE");
  add_deploy_options(command, options.deploy);
  command.get_option("--parameter").envname("FRESHET_PARAMETER");
  command.get_option("--set").envname("FRESHET_SET");
  command
      .add_option("--queue", options.queues,
                  "A table that is a queue of tasks, besides those that the template marks; repeatable")
      .one_value_each()
      .envname("FRESHET_QUEUES");
}

// Modules bring their own.
void add_module_options(Command command, DaemonOptions& options, OptionGroup group) {
  for (const ModuleKind& kind : all_modules()) {
    if (kind.add_options != nullptr && kind.group == group) kind.add_options(command, options);
  }
}

void add_definition_options(Command command, DaemonOptions& options) {
  command.get_option("--account").envname("FRESHET_ACCOUNT");
  command.get_option("--region").envname("FRESHET_REGION");
  add_module_options(command, options, OptionGroup::kQueues);
}

void add_service_options(Command command, DaemonOptions& options) {
  command.options_group("Connections and access");
  command
      .add_option("--listen", options.listen,
                  "Address and port; port 0 picks a free one. An address beyond loopback needs --credentials")
      .envname("FRESHET_LISTEN")
      .capture_default_str();
  command.add_option("--ready-file", options.ready_file, "File that gets the base URL as soon as requests are served")
      .file()
      .envname("FRESHET_READY_FILE");
  command
      .add_option(
          "--allowed-host", options.allowed_hosts,
          "A further name that clients call this server by (the Host header), like queue.example.com, or *.example.com "
          "for all names below; behind a proxy its public name; repeatable")
      .one_value_each()
      .envname("FRESHET_ALLOWED_HOST")
      .check(host_name());
  command
      .add_option("--credentials", options.credentials,
                  "File of access keys in the form of ~/.aws/credentials. Every request must then be signed with one")
      .file()
      .envname("FRESHET_CREDENTIALS");
  command
      .add_option("--session-idle-ms", options.session_idle_ms,
                  "Milliseconds after which a browser that signed in to the dashboard and sends nothing is signed out")
      .envname("FRESHET_SESSION_IDLE_MS")
      .check(whole(1000, 3'600'000))
      .capture_default_str();
  command.add_option("--tls-cert", options.tls_certificate, "PEM file of a certificate with its chain, to serve HTTPS")
      .file()
      .envname("FRESHET_TLS_CERT");
  command.add_option("--tls-key", options.tls_key, "PEM file of the certificate's private key")
      .file()
      .envname("FRESHET_TLS_KEY");
  command
      .add_option(
          "--ca-file", options.ca_file,
          "PEM file of certificates that the daemon trusts, besides the system's, when it calls https:// addresses")
      .file()
      .envname("FRESHET_CA_FILE");
  command
      .add_flag("--open-metrics", options.open_metrics,
                "Answer GET /metrics and GET /queues/NAME/backlog without a signature, although --credentials is given")
      .envname("FRESHET_OPEN_METRICS");
  command
      .add_option("--cors-origin", options.cors_origins,
                  "Origin of web pages that may send requests and read answers, like https://app.example, or * for "
                  "all; repeatable")
      .one_value_each()
      .envname("FRESHET_CORS_ORIGIN")
      .check({check_origin});
  command.add_option("--io-threads", options.io_threads, "Threads that read and write HTTP")
      .envname("FRESHET_IO_THREADS")
      .check(whole(1, 64))
      .capture_default_str();
  command.options_group("Functions and tasks");
  add_module_options(command, options, OptionGroup::kFunctions);
  command
      .add_flag("--watch", options.watch,
                "Use the template and the functions' code as soon as their files change, for development")
      .envname("FRESHET_WATCH");
  command.add_option("--drain-ms", options.drain_ms, "Milliseconds that SIGTERM waits for work that runs")
      .envname("FRESHET_DRAIN_MS")
      .check(whole(0, 3'600'000))
      .capture_default_str();
  command.options_group("Log and traces");
  command.add_option("--log-level", options.log_level, "Log events from this level on: debug, info, warn, error or off")
      .envname("FRESHET_LOG_LEVEL")
      .one_of({"debug", "info", "warn", "error", "off"})
      .capture_default_str();
  command.add_option("--log-format", options.log_format, "human or json [default: human on a terminal, json elsewhere]")
      .envname("FRESHET_LOG_FORMAT")
      .one_of({"human", "json"});
}

void add_rest(Command command, DaemonOptions& options) {
  add_store_options(command, options);
  add_service_options(command, options);
  add_module_options(command, options, OptionGroup::kTraces);
}

}  // namespace

void add_deploy_options(Command command, TemplateOptions& options) {
  // One value each: what follows it may be the template.
  command.add_option("--parameter", options.parameters, "NAME=VALUE for the template's Parameters; repeatable")
      .one_value_each();
  command
      .add_option("--set", options.settings,
                  "FUNCTION.VARIABLE=VALUE: sets a function's environment variable; repeatable")
      .one_value_each();
  add_account_options(command, options.account);
}

void add_account_options(Command command, Account& account) {
  command.add_option("--account", account.id, "Account id in ARNs, 12 digits")
      .check({[](const std::string& text) {
        const bool good = text.size() == 12 && text.find_first_not_of("0123456789") == std::string::npos;
        return good ? std::string() : "'" + text + "' is not an account id of 12 digits";
      }})
      .capture_default_str();
  command.add_option("--region", account.region, "Region in ARNs")
      .check({[](const std::string& text) {
        constexpr const char* kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
        const bool good = !text.empty() && text.size() <= 64 && text.find_first_not_of(kAllowed) == std::string::npos;
        return good ? std::string() : "'" + text + "' is not a region: small letters, digits and '-' are allowed";
      }})
      .capture_default_str();
}

void add_run_options(Command command, DaemonOptions& options) {
  add_template_options(command, options);
  add_definition_options(command, options);
  add_rest(command, options);
}

void add_serve_options(Command command, DaemonOptions& options) {
  command.options_group("More queues");
  add_account_options(command, options.deploy.account);
  add_definition_options(command, options);
  add_rest(command, options);
}

void add_run(Command app, int& exit_status) {
  auto options = std::make_shared<DaemonOptions>();
  auto file = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  const Command command = app.add_subcommand("run", "Run the daemon");
  command.footer(
      "A queue with an HTTP handler:\n"
      "  freshet run config/lifo.yaml --set ProcessTasksFunction.TASK_RUNNER=http://127.0.0.1:8000/\n"
      "An item store for AWS SDKs, keeping nothing:\n"
      "  freshet run --data :memory: --listen 127.0.0.1:8000\n"
      "An option may also be set by the environment variable that stands beside it (if it is repeatable: a value a "
      "line),\n"
      "or in the file of --config (NAME = VALUE a line).");
  command.add_option("--config", *file, "File of options; the command line and the environment win over it")
      .file()
      .envname("FRESHET_CONFIG");
  add_run_options(command, *options);
  command.options_group("Options");
  command.add_flag("--json", *json, "Log JSON Lines: the same as --log-format json");
  command.callback([command, file, json, options, &exit_status] {
    split_environment_lists(command);
    if (!file->empty()) apply_options_file(command, *file);
    if (*json) options->log_format = "json";
    exit_status = run_daemon(*options);
  });
}

}  // namespace freshet::cli
