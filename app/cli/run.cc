// freshet run: the daemon.
#include <iostream>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/options_file.h"
#include "app/daemon/daemon.h"
#include "app/daemon/options.h"
#include "base/url.h"
#include "wire/http/cors.h"

namespace freshet::cli {
namespace {

void add_store_options(Command command, DaemonOptions& options) {
  command.add_option("--data", options.data, "Directory of the store, or :memory:")
      .envname("FRESHET_DATA")
      .capture_default_str();
  command.add_option("--durability", options.durability, "sync, interval:<ms> or none")
      .envname("FRESHET_DURABILITY")
      .capture_default_str();
  command.add_option("--max-data-bytes", options.max_data_bytes, "Bound of the log on disk, e.g. 2GiB; 0: the disk's")
      .envname("FRESHET_MAX_DATA_BYTES")
      .size();
  command
      .add_option("--max-memory-bytes", options.max_memory_bytes,
                  "Bound of items and indexes in memory; 0: three quarters of the machine's")
      .envname("FRESHET_MAX_MEMORY_BYTES")
      .size();
  command.add_option("--segment-bytes", options.segment_bytes, "Size of a log segment")
      .envname("FRESHET_SEGMENT_BYTES")
      .size()
      .check(whole(int64_t{1} << 20, int64_t{1} << 32));
  command
      .add_flag("--accept-loss", options.accept_loss,
                "Start although files at the end of the log are missing or too short, with what is left")
      .envname("FRESHET_ACCEPT_LOSS");
  command.add_option("--ttl-sweep-ms", options.ttl_sweep_ms, "How often expired items are looked for")
      .envname("FRESHET_TTL_SWEEP_MS")
      .check(whole(1, 60'000))
      .capture_default_str();
  command
      .add_flag("--trust-clock", options.trust_clock,
                "Believe the wall clock at the start, however far it is ahead of the last write")
      .envname("FRESHET_TRUST_CLOCK");
}

void add_template_options(Command command, DaemonOptions& options) {
  command.add_option("template", options.deploy.path, "SAM or CloudFormation template (YAML or JSON)")
      .envname("FRESHET_TEMPLATE");
  add_deploy_options(command, options.deploy);
  command.get_option("--parameter").envname("FRESHET_PARAMETER");
  command.get_option("--set").envname("FRESHET_SET");
  command.get_option("--account").envname("FRESHET_ACCOUNT");
  command.get_option("--region").envname("FRESHET_REGION");
  command.add_option("--queue", options.queues, "A table that is a queue, besides those the template marks; repeatable")
      .one_value_each()
      .envname("FRESHET_QUEUES");
  command
      .add_option("--priority-queue", options.priority_queues,
                  "File that defines priority queues over tables (docs/priority-queue.md); repeatable")
      .one_value_each()
      .envname("FRESHET_PRIORITY_QUEUES");
  command
      .add_option("--filtered-queue", options.filtered_queues,
                  "File that defines filtered queues (docs/filtered-queue.md); repeatable")
      .one_value_each()
      .envname("FRESHET_FILTERED_QUEUES");
  command
      .add_option("--ordered-writes", options.ordered_writes,
                  "File that defines tables with ordered writes (docs/ordered-writes.md); repeatable")
      .one_value_each()
      .envname("FRESHET_ORDERED_WRITES");
}

void add_service_options(Command command, DaemonOptions& options) {
  command
      .add_option("--listen", options.listen, "Address and port; port 0 picks a free one; loopback, or --credentials")
      .envname("FRESHET_LISTEN")
      .capture_default_str();
  command.add_option("--ready-file", options.ready_file, "Written with the base URL once requests are served")
      .envname("FRESHET_READY_FILE");
  command
      .add_option("--allowed-host", options.allowed_hosts,
                  "A further host accepted in Host and Origin headers; repeatable")
      .one_value_each()
      .envname("FRESHET_ALLOWED_HOST");
  command
      .add_option("--credentials", options.credentials,
                  "File of access keys, as AWS tools have it: requests must be signed with one")
      .envname("FRESHET_CREDENTIALS");
  command.add_option("--tls-cert", options.tls_certificate, "PEM file of the certificate and its chain: serves HTTPS")
      .envname("FRESHET_TLS_CERT");
  command.add_option("--tls-key", options.tls_key, "PEM file of the certificate's private key")
      .envname("FRESHET_TLS_KEY");
  command
      .add_option("--ca-file", options.ca_file,
                  "PEM file of certificates to trust where the daemon asks by https://, besides the system's")
      .envname("FRESHET_CA_FILE");
  command.add_flag("--open-metrics", options.open_metrics, "GET /metrics needs no signature, with --credentials")
      .envname("FRESHET_OPEN_METRICS");
  command
      .add_option("--cors-origin", options.cors_origins,
                  "Origin of web pages that may read answers, like https://app.example, or *; repeatable")
      .one_value_each()
      .envname("FRESHET_CORS_ORIGIN")
      .check({check_origin});
  command.add_option("--io-threads", options.io_threads, "Threads that read and write HTTP")
      .envname("FRESHET_IO_THREADS")
      .check(whole(1, 64))
      .capture_default_str();
  command.add_option("--max-processes", options.max_processes, "Processes of functions, all together")
      .envname("FRESHET_MAX_PROCESSES")
      .check(whole(1, 10'000))
      .capture_default_str();
  command
      .add_option("--process-idle-ms", options.process_idle_ms,
                  "How long a function's process stays without work until it is stopped")
      .envname("FRESHET_PROCESS_IDLE_MS")
      .check(whole(1, 86'400'000))
      .capture_default_str();
  command
      .add_flag("--read-only-functions", options.read_only_functions,
                "No request changes functions, their code or mappings, nor deploys a template")
      .envname("FRESHET_READ_ONLY_FUNCTIONS");
  command
      .add_flag("--watch", options.watch,
                "Use functions' code, and the template, as soon as their files change: for development")
      .envname("FRESHET_WATCH");
  command.add_option("--drain-ms", options.drain_ms, "How long SIGTERM waits for what runs")
      .envname("FRESHET_DRAIN_MS")
      .check(whole(0, 3'600'000))
      .capture_default_str();
  command.add_option("--log-level", options.log_level, "debug, info, warn, error or off")
      .envname("FRESHET_LOG_LEVEL")
      .one_of({"debug", "info", "warn", "error", "off"})
      .capture_default_str();
}

void add_trace_options(Command command, DaemonOptions& options) {
  command.add_option("--trace-file", options.trace_file, "Traces of invocations, a line of OTLP/JSON for each batch")
      .envname("FRESHET_TRACE_FILE");
  command.add_option("--chrome-trace", options.chrome_trace, "The same for chrome://tracing and ui.perfetto.dev")
      .envname("FRESHET_CHROME_TRACE");
  command
      .add_option("--trace-endpoint", options.trace_endpoint,
                  "The same, posted as OTLP/JSON, e.g. http://127.0.0.1:4318/v1/traces; https:// too")
      .envname("FRESHET_TRACE_ENDPOINT")
      .check({[](const std::string& text) {
        const auto url = parse_url(text);
        return url ? std::string() : url.error().message;
      }});
  command.add_option("--trace-bytes", options.trace_bytes, "A trace file of that size becomes FILE.1, e.g. 64MiB")
      .envname("FRESHET_TRACE_BYTES")
      .size()
      .check(whole(int64_t{1} << 16, int64_t{1} << 40));
  command
      .add_option(
          "--xray-port", options.xray_port,
          "UDP port of 127.0.0.1 for the segments of X-Ray's SDKs, with one of the options above; 0: a free one")
      .envname("FRESHET_XRAY_PORT")
      .check(whole(0, 65'535))
      .capture_default_str();
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
  command.add_option("--account", options.account.id, "Account id in ARNs, 12 digits")
      .check({[](const std::string& text) {
        const bool good = text.size() == 12 && text.find_first_not_of("0123456789") == std::string::npos;
        return good ? std::string() : "'" + text + "' is not an account id of 12 digits";
      }})
      .capture_default_str();
  command.add_option("--region", options.account.region, "Region in ARNs")
      .check({[](const std::string& text) {
        constexpr const char* kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
        const bool good = !text.empty() && text.size() <= 64 && text.find_first_not_of(kAllowed) == std::string::npos;
        return good ? std::string() : "'" + text + "' is not a region: small letters, digits and '-' are allowed";
      }})
      .capture_default_str();
}

void add_run_options(Command command, DaemonOptions& options) {
  add_template_options(command, options);
  add_store_options(command, options);
  add_service_options(command, options);
  add_trace_options(command, options);
}

void add_run(Command app, int& exit_status) {
  auto options = std::make_shared<DaemonOptions>();
  auto file = std::make_shared<std::string>();
  const Command command = app.add_subcommand("run", "Run the daemon");
  command.footer(
      "A queue with an HTTP handler:\n"
      "  freshet run config/lifo.yaml --set ProcessTasksFunction.TASK_RUNNER=http://127.0.0.1:8000/\n"
      "An item store for AWS SDKs, keeping nothing:\n"
      "  freshet run --data :memory: --listen 127.0.0.1:8000\n"
      "Every option also as FRESHET_… variable (of those that may be repeated: a value a line), and in a file given\n"
      "with --config (NAME = VALUE a line).");
  command.add_option("--config", *file, "Options file; the command line and the environment win")
      .envname("FRESHET_CONFIG");
  add_run_options(command, *options);
  command.accept_flag("--json", "Accepted as everywhere: what the daemon logs is JSON Lines");
  command.callback([command, file, options, &exit_status] {
    split_environment_lists(command);
    if (!file->empty()) apply_options_file(command, *file);
    exit_status = run_daemon(*options);
  });
}

}  // namespace freshet::cli
