#include <chrono>

#include "app/daemon/deployer.h"
#include "app/daemon/modules.h"
#include "app/daemon/process_metrics.h"
#include "base/version.h"
#include "wire/http/server.h"
#include "wire/service/api_route.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"

namespace freshet {
namespace {

double in_seconds(nanoseconds d) {
  return std::chrono::duration<double>(d).count();
}

void set_loop(Metrics& metrics, const Loop& loop) {
  const LoopStats& stats = loop.stats();
  metrics.counter("freshet_loop_turns_total", "Turns of the loop").set(stats.turns);
  metrics.gauge("freshet_loop_turn_max_seconds", "Longest turn up to its commit").set(in_seconds(stats.steps.max));
  metrics.gauge("freshet_loop_commit_max_seconds", "Longest that the end of a turn held up the loop")
      .set(in_seconds(stats.commits.max));
  metrics.gauge("freshet_mailbox_depth", "Works delivered by I/O threads and not yet taken")
      .set(static_cast<double>(loop.mailbox_depth()));
}

void set_store(Metrics& metrics, const EmbeddedStats& stats, uint64_t memory_limit) {
  const auto set = [&](const char* name, const char* help, uint64_t value) {
    metrics.gauge(name, help).set(static_cast<double>(value));
  };
  const auto total = [&](const char* name, const char* help, uint64_t value) {
    metrics.counter(name, help).set(value);
  };
  metrics.gauge("freshet_commit_max_seconds", "Longest commit").set(in_seconds(stats.commits.max));
  set("freshet_store_items", "Items in all tables", stats.items);
  set("freshet_store_memory_bytes", "What --max-memory-bytes bounds: tables, items, indexes, streams, definitions",
      stats.memory_bytes);
  set("freshet_store_memory_limit_bytes", "The bound of freshet_store_memory_bytes", memory_limit);
  set("freshet_store_log_bytes", "Log files on disk", stats.log_bytes);
  set("freshet_store_log_bytes_left", "Bytes that may be appended before the disk or the bound is full",
      stats.log_bytes_left);
  total("freshet_store_appended_bytes_total", "Bytes appended by writes", stats.appended_bytes);
  total("freshet_store_moved_bytes_total", "Bytes appended by compaction", stats.moved_bytes);
  total("freshet_store_expired_total", "Items removed by TTL", stats.expired);
  total("freshet_store_throttled_total", "Writes refused by caps", stats.throttled);
  set("freshet_store_ttl_paused", "1 while TTL and sheds wait because the wall clock is not trusted",
      stats.ttl_paused ? 1 : 0);
}

void set_functions(Metrics& metrics, Runtime& runtime) {
  for (const auto& [name_of, stats] : runtime.invoker().stats()) {
    const std::string& function = name_of;  // C++20 lets a lambda capture a binding; clang 14 does not.
    const auto set = [&](const char* name, const char* help, uint64_t value) {
      metrics.gauge(name, help, {{"function", function}}).set(static_cast<double>(value));
    };
    const auto total = [&](const char* name, const char* help, uint64_t value) {
      metrics.counter(name, help, {{"function", function}}).set(value);
    };
    total("freshet_function_invocations_total", "Invocations", stats.invocations);
    total("freshet_function_errors_total", "Invocations that failed", stats.errors);
    total("freshet_function_timeouts_total", "Those ended at their timeout", stats.timeouts);
    total("freshet_function_throttles_total", "Synchronous invocations refused", stats.throttles);
    set("freshet_function_running", "Invocations running", static_cast<uint64_t>(stats.running));
    set("freshet_function_queued_events", "Asynchronous events waiting", stats.queued);
    total("freshet_function_dropped_events_total", "Asynchronous events given up", stats.dropped);
  }
}

void set_processes(Metrics& metrics, const Runtime& runtime) {
  for (const auto& [name_of, stats] : runtime.process_stats()) {
    const std::string& function = name_of;
    const auto total = [&](const char* name, const char* help, uint64_t value) {
      metrics.counter(name, help, {{"function", function}}).set(value);
    };
    metrics.gauge("freshet_function_processes", "Processes of the function", {{"function", function}})
        .set(static_cast<double>(stats.running));
    total("freshet_function_process_starts_total", "Processes started", stats.starts);
    total("freshet_function_process_crashes_total", "Processes that ended by themselves or had to be ended while idle",
          stats.crashes);
    total("freshet_function_bad_answers_total", "Calls of the Runtime API that did not fit", stats.bad_answers);
    total("freshet_function_log_lines_total", "Lines that processes logged", stats.log_lines);
    total("freshet_function_log_dropped_lines_total", "Lines above the rate", stats.log_dropped_lines);
    total("freshet_function_log_dropped_bytes_total", "Bytes of output above the rate", stats.log_dropped_bytes);
  }
}

// The loop counts durations by powers of two of a microsecond; shown as a Prometheus histogram.
void append_counts(std::string& out, const std::string& name, const std::string& help, const DurationCounts& counts) {
  out += "# HELP " + name + " " + help + "\n# TYPE " + name + " histogram\n";
  uint64_t below = 0;
  for (size_t i = 0; i + 1 < DurationCounts::kBuckets; ++i) {
    below += counts.buckets[i];
    const double bound = static_cast<double>(uint64_t{1} << i) / 1e6;
    out += name + "_bucket{le=\"" + std::to_string(bound) + "\"} " + std::to_string(below) + "\n";
  }
  out += name + "_bucket{le=\"+Inf\"} " + std::to_string(counts.count) + "\n" + name + "_sum " +
         std::to_string(in_seconds(counts.sum)) + "\n" + name + "_count " + std::to_string(counts.count) + "\n";
}

// The few figures that open pages of the dashboard ask for again and again. All metrics cost far more instructions.
std::string daemon_json(const DaemonParts& parts, WallTime started, milliseconds up) {
  const EmbeddedStats stats = parts.store->stats();
  std::string out;
  {
    JsonObject json(out);
    json.text("version", version());
    json.number("started", epoch_ms(started));
    json.number("upMs", up.count());
    json.number("memoryBytes", stats.memory_bytes);
    json.number("memoryLimitBytes", parts.memory_limit);
    json.number("logBytes", stats.log_bytes);
    json.number("logBytesLeft", stats.log_bytes_left);
    json.number("connections", parts.server ? parts.server->connections() : 0);
    json.number("requestsInFlight", parts.server ? parts.server->in_flight() : 0);
    std::string& commits = json.raw("commits") += '[';
    for (size_t i = 0; i < DurationCounts::kBuckets; ++i) {
      if (stats.commits.buckets[i] == 0) continue;
      if (commits.back() != '[') commits += ',';
      JsonObject one(commits);
      if (i + 1 < DurationCounts::kBuckets) one.number("withinUs", uint64_t{1} << i);
      one.number("count", stats.commits.buckets[i]);
    }
    commits += ']';
  }
  return out;
}

class FiguresModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    return {};
  }
  void add_routes(Routes& routes) override {
    const auto answer = [this](const HttpRequest&) -> Async<HttpResponse> {
      return tasks::json_answer(daemon_json(*parts_, started_, up()));
    };
    routes.push_back(make_api_route(ApiCall::kDaemon, answer));
  }
  void begin() override {
    started_ = parts_->loop.clock().wall();
    began_ = parts_->loop.clock().boot();
  }
  Async<void> measure(Metrics& metrics, std::string& histograms) override {
    const EmbeddedStats stats = parts_->store->stats();
    metrics.gauge("freshet_build_info", "1; the labels say which program this is", {{"version", version()}}).set(1);
    set_loop(metrics, parts_->loop);
    set_store(metrics, stats, parts_->memory_limit);
    if (const HttpServer* server = parts_->server) {
      metrics.gauge("freshet_http_connections", "Open connections of clients")
          .set(static_cast<double>(server->connections()));
      metrics.gauge("freshet_http_requests_in_flight", "Requests that are not answered yet")
          .set(static_cast<double>(server->in_flight()));
    }
    set_functions(metrics, *parts_->runtime);
    set_processes(metrics, *parts_->runtime);
    const Deployer::Counts& deployed = parts_->deployer->counts();
    metrics.counter("freshet_deployments_total", "Templates applied while it runs, since the start")
        .set(deployed.applied);
    metrics.counter("freshet_deployments_refused_total", "Templates refused while it runs, since the start")
        .set(deployed.refused);
    append_counts(histograms, "freshet_commit_seconds", "From the append of a turn's writes until they are durable",
                  stats.commits);
    append_counts(histograms, "freshet_loop_turn_seconds", "Time of a turn up to its commit",
                  parts_->loop.stats().steps);
    append_process(histograms);
    return {};
  }

 private:
  DaemonParts* parts_ = nullptr;
  // A step of the wall clock changes nothing.
  milliseconds up() const { return std::chrono::floor<milliseconds>(parts_->loop.clock().boot() - began_); }

  WallTime started_{};
  BootTime began_{};
};

}  // namespace

ModuleKind figures_module() {
  return {"figures", make_module<FiguresModule>};
}

}  // namespace freshet
