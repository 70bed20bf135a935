// All options of a daemon. The command line, FRESHET_ variables and an options file fill them (the command line wins,
// then the environment, then the file); they are validated before anything is opened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "streams/arn.h"
#include "tables/log/log.h"

namespace freshet {

struct ListenAddress {
  std::string host = "127.0.0.1";
  uint16_t port = 7070;  // 0: a free port.
};

struct TemplateOptions {
  std::string path;  // Empty: no template.
  std::string text;  // If not empty: the template itself, made by a command. Messages call it `path`.
  std::vector<std::string> parameters;  // NAME=VALUE of the template's Parameters.
  std::vector<std::string> settings;    // FUNCTION.VARIABLE=VALUE.
  Account account;                      // Used in ARNs.
  bool traces_kept = false;             // True if an option of the daemon keeps traces.
  bool reads_streams = true;            // False: tables live in an engine whose streams are not read.
};

struct DaemonOptions {
  TemplateOptions deploy;                    // Empty path: an item store that speaks every protocol, without functions.
  std::vector<std::string> queues;           // Tables that are queues besides those the template names.
  std::vector<std::string> priority_queues;  // Files that define priority queues.
  std::vector<std::string> filtered_queues;  // Files that define filtered queues.
  std::vector<std::string> ordered_writes;   // Files that define tables with ordered writes.
  std::string data = "data";                 // Directory, or ":memory:".
  std::string store = "embedded";            // "dynamodb": tables live in the engine at `endpoints`.
  std::vector<std::string> endpoints;        // The URLs of the engine.
  int64_t hedge_after_ms = 0;  // Reads of the engine that have no answer after this time are sent again; 0: never.
  bool create_tables = false;  // Creates the tables and indexes in the engine that the template or a queue needs.
  bool fleet = false;  // True if several daemons share the engine's tables, and each queue is served by one of them.
  std::string fleet_name;         // The name of its fleet; empty: the fleet has none.
  std::string advertise;          // The URL at which other members reach this one; empty: from `listen`.
  int64_t fleet_lease_ms = 3000;  // Other members take over the queues of a member that is silent for this long.
  std::string listen = "127.0.0.1:7070";
  std::string durability = "sync";
  std::string ready_file;
  std::string log_level = "info";
  std::string log_format;         // "human" or "json"; empty: human on a terminal, else json.
  uint64_t max_data_bytes = 0;    // The most bytes of all log segments; 0: as many as the disk has.
  uint64_t max_memory_bytes = 0;  // The most bytes of items and indexes; 0: three quarters of the machine's memory.
  uint64_t segment_bytes = 16u << 20;
  bool accept_loss = false;  // Accepts that files at the end of the log are missing or too short.
  int64_t ttl_sweep_ms = 50;
  bool trust_clock = false;   // Trusts the wall clock at a start, however far it is ahead of the last commit.
  int64_t drain_ms = 25'000;  // The time that SIGTERM waits for running work.
  unsigned io_threads = 1;
  uint64_t max_processes = 64;             // The most processes of all functions together.
  int64_t process_idle_ms = 5 * 60'000;    // A function's process without work is stopped after this time.
  bool read_only_functions = false;        // No request changes functions, mappings or the template.
  bool watch = false;                      // Watches code and template: changes take effect at once.
  std::vector<std::string> allowed_hosts;  // Host headers accepted besides loopback names.
  std::string credentials;                 // File of access keys with which requests must be signed; empty: none.
  std::string member_credentials;          // File of the keys of a fleet's own requests; empty: `credentials`.
  int64_t session_idle_ms = 60 * 60'000;   // A browser's session without a request ends after this time.
  std::string tls_certificate;             // PEM file of the certificate with its chain; empty: plain HTTP.
  std::string tls_key;                     // PEM file.
  std::string ca_file;                     // PEM file: trusted for https://, besides the system's.
  bool open_metrics = false;               // GET /metrics and /queues/NAME/backlog need no signature.
  std::string trace_file;                  // OTLP/JSON, one line per batch; empty: none. The next two are similar.
  std::string chrome_trace;                // File in Chrome's trace format.
  std::string trace_endpoint;              // URL of an OTLP/HTTP endpoint that takes JSON.
  std::string metrics_endpoint;            // The same for metrics.
  std::string metrics_interval = "10s";    // The time between two requests to it, as parse_duration() reads it.
  uint64_t trace_bytes = 64u << 20;        // The most bytes of a trace file; one older file is kept.
  uint64_t xray_port = 2000;               // UDP, if one of those is set; 0 picks a free one.
  uint64_t recording_bytes = 64u << 20;    // The most memory of the flight recorder; 0: it is off.
  std::vector<std::string> cors_origins;   // Web pages that may read answers; "*" for all.
  bool quiet = false;  // People see warnings, errors and the output of functions only. The log keeps everything.
  // Called once, when all work has ended and the store is closed for clients: a sentence for people about what was done
  // and what remains. Loop thread.
  std::function<void(const std::string& text)> on_stopped;
  std::function<void(const std::string& url)> on_ready;  // Called once, as soon as requests are served. Loop thread.
};

// "127.0.0.1:7070", "[::1]:0"; loopback only, unless requests are `signed_for`.
Result<ListenAddress> parse_listen(const std::string& text, bool signed_for = false);
bool is_loopback(std::string_view host);
Result<Durability> parse_durability(const std::string& text);  // "sync", "interval:<ms>", "none".

}  // namespace freshet
