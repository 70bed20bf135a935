#include "tests/sim/machine/run_options.h"

#include "base/random.h"
#include "tests/sim/machine/handlers.h"
#include "tests/sim/machine/sources.h"

namespace freshet::sim {

namespace {

// Settings of the queue that a part of the plan stands for.
void add_policies(const Plan& plan, DaemonOptions& options) {
  Random random(plan.seed + 99);
  static constexpr const char* kOrders[] = {"fifo", "adaptive", "deadline"};
  const auto set = [&](const std::string& setting) {
    options.deploy.settings.push_back("ProcessTasksFunction." + setting);
  };
  set("LEASE_MS=8000");
  set("BACKOFF_MAX_MS=8000");
  const std::string order = kOrders[random.below(3)];
  if (plan.has("orders")) set("ORDER=" + order);
  if (plan.has("bounded")) set("MAX_WAITING=" + std::to_string(30 + random.below(300)));
  if (plan.has("margins")) set(std::string("DEADLINE_MARGIN=") + (random.below(2) == 0 ? "p90" : "yield"));
  if (plan.has("adaptive")) set("CONCURRENCY=adaptive");
  // Longer than clients send a create again.
  if (plan.has("keep")) set("KEEP_MS=" + std::to_string(40'000 + random.below(60'000)) + ",DEAD=600000");
  if (plan.has("rate")) set("RATE_LIMIT=" + std::to_string(rate_of(plan)));
  if (plan.has("limiter") && !plan.has("rate")) set("RATE_LIMIT=adaptive");
}

}  // namespace

bool has_runner(const Plan& plan) {
  return plan.has("http-runner") || plan.has("functions") || plan.has("programs");
}

bool has_events(const Plan& plan) {
  return !plan.has("http-runner") && plan.has("functions") && plan.has("events");
}

bool has_further_events(const Plan& plan) {
  const bool any = plan.has("fifo-topics") || plan.has("destinations");
  return any && !plan.has("http-runner") && plan.has("functions");
}

std::string template_of(const Plan& plan) {
  const bool functions = !plan.has("http-runner") && plan.has("functions");
  if (has_further_events(plan)) return sources() + "/tests/sim/machine/events-further.yaml";
  if (has_events(plan)) return sources() + "/tests/sim/machine/events.yaml";
  return sources() + (functions ? "/tests/sim/machine/functions.yaml" : "/config/lifo.yaml");
}

std::string runner_of(const Plan& plan) {
  if (plan.has("http-runner")) return "http://127.0.0.1:" + std::to_string(kHandlerPort) + "/";
  if (plan.has("functions")) return "function:WorkFunction";
  return plan.has("programs") ? "exec:/bin/true work" : "none";
}

int rate_of(const Plan& plan) {
  return 5 + static_cast<int>(Random(plan.seed + 98).below(100));
}

milliseconds latest_answer_of(const Plan& plan) {
  return milliseconds(10 + static_cast<int64_t>(Random(plan.seed + 97).below(300)));
}

DaemonOptions options_of(const Plan& plan) {
  DaemonOptions options;
  options.deploy.path = template_of(plan);
  options.deploy.parameters = {"TaskRunner=" + runner_of(plan), "MaxAttempts=4", "DefaultTtlSeconds=0", "Concurrency=3",
                               "TaskTimeoutMs=5000"};
  add_policies(plan, options);
  const std::string own = sources() + "/tests/sim/machine/";
  if (plan.has("priority-queue")) options.priority_queues.push_back(sources() + "/config/priority-queue.json");
  if (plan.has("strict-queue")) options.priority_queues.push_back(own + "strict-queue.json");
  if (plan.has("filtered-queues")) options.filtered_queues = {own + "filtered-queues.json"};
  if (plan.has("ordered-writes")) options.ordered_writes = {sources() + "/config/ordered-writes.json"};
  options.data = "/simulated/data";
  options.listen = "127.0.0.1:7070";
  options.durability = plan.has("no-syncs") ? "none" : plan.has("interval-durability") ? "interval:50" : "sync";
  // Segments of a sixteenth, and a quarter for what only streams need.
  const uint64_t least = plan.has("huge-values") ? 26 : 13;
  if (plan.has("little-data")) options.max_data_bytes = (least + plan.seed % 8) << 20;
  options.segment_bytes = plan.has("small-segments") ? 1u << 20 : 4u << 20;
  if (plan.has("little-memory")) options.max_memory_bytes = 24u << 20;
  options.drain_ms = 5'000;
  return options;
}

}  // namespace freshet::sim
