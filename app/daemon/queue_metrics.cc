#include "app/daemon/queue_metrics.h"

#include <algorithm>
#include <chrono>

#include "app/daemon/metrics_text.h"

namespace freshet {
namespace {

// The sets of samples of one queue: each has its name as a label.
class QueueMetrics {
 public:
  QueueMetrics(Metrics& metrics, const std::string& queue) : metrics_(metrics), queue_(queue) {}

  void gauge(const char* name, const char* help, double value, MetricLabels labels = {}) {
    metrics_.gauge(name, help, with_queue(std::move(labels))).set(value);
  }
  void total(const char* name, const char* help, uint64_t value, MetricLabels labels = {}) {
    metrics_.counter(name, help, with_queue(std::move(labels))).set(value);
  }

 private:
  MetricLabels with_queue(MetricLabels labels) const {
    labels.insert(labels.begin(), {"queue", queue_});
    return labels;
  }

  Metrics& metrics_;
  const std::string& queue_;
};

void set_tasks(QueueMetrics& metrics, const QueueStats& stats, WallTime now) {
  for (const auto& [state, depth] : stats.depth) {
    metrics.gauge("freshet_queue_depth", "Tasks by state", static_cast<double>(depth), {{"state", state}});
    const auto bytes = stats.bytes.find(state);
    metrics.gauge("freshet_queue_bytes", "Bytes of tasks by state, as they are stored",
                  bytes == stats.bytes.end() ? 0 : static_cast<double>(bytes->second), {{"state", state}});
  }
  const auto age = [&](const char* which, const std::optional<WallTime>& created) {
    const double seconds = created ? std::chrono::duration<double>(now - *created).count() : 0;
    // The clock may have been set back.
    metrics.gauge("freshet_queue_age_seconds", "Age of the newest and oldest PENDING task; 0 if none",
                  std::max(0.0, seconds), {{"which", which}});
  };
  metrics.gauge("freshet_queue_paused", "1 while the whole queue is paused", stats.state == "paused" ? 1 : 0);
  age("newest", stats.newest);
  age("oldest", stats.oldest);
  metrics.gauge("freshet_queue_running", "Tasks held under a lease of this daemon", static_cast<double>(stats.running));
}

void set_transitions(QueueMetrics& metrics, const QueueStats& stats) {
  auto flow = stats.flow;
  for (const char* arrow : {"->PENDING", "PENDING->TAKEN", "TAKEN->SUCCESS"}) flow.try_emplace(arrow, 0);
  const auto named = [](std::string state) { return state.empty() ? std::string("none") : state; };
  for (const auto& [arrow, count] : flow) {
    const size_t mark = arrow.find("->");
    metrics.total("freshet_queue_transitions_total",
                  "Transitions between states since the queue exists; none: before the creation, or removed", count,
                  {{"from", named(arrow.substr(0, mark))}, {"to", named(arrow.substr(mark + 2))}});
  }
  for (const auto& [arrow, count] : stats.flow) {
    metrics.total("freshet_queue_moves_total", "Old name of freshet_queue_transitions_total", count,
                  {{"arrow", arrow}});
  }
  auto shed = stats.shed;
  for (const char* reason : {"ttl", "deadline", "deadline-margin"}) shed.try_emplace(reason, 0);
  for (const auto& [reason, count] : shed) {
    metrics.total("freshet_queue_shed_total", "Tasks shed since the queue exists", count, {{"reason", reason}});
  }
}

void set_punctuality(QueueMetrics& metrics, const Punctuality& counts, BootTime now) {
  const InTimeStats stats = counts.stats(now);
  for (size_t i = 0; i < kTaskEnds; ++i) {
    metrics.total("freshet_queue_ended_total",
                  "Tasks that ended, since the start: in-time and no-deadline are in time, the others are not",
                  counts.ends(static_cast<TaskEnd>(i)), {{"outcome", std::string(kTaskEndNames[i])}});
  }
  if (const auto share = stats.last_minute.share()) {
    metrics.gauge("freshet_queue_in_time_ratio",
                  "Share of the tasks in time that ended in the last minute; absent if none has ended", *share);
  }
  metrics.total("freshet_queue_calls_total", "Attempts that began: calls of the handler, and takes by workers",
                stats.since_start.calls);
  for (size_t i = 0; i < kWastedCalls; ++i) {
    metrics.total("freshet_queue_wasted_calls_total", "Attempts whose result was of no use, since the start",
                  counts.wastes(static_cast<WastedCall>(i)), {{"reason", std::string(kWastedCallNames[i])}});
  }
  for (size_t i = 0; i < kRefusals; ++i) {
    metrics.total("freshet_queue_downstream_refusals_total", "Tasks that the downstream refused, since the start",
                  counts.downstream_refusals(static_cast<DownstreamRefusal>(i)),
                  {{"reason", std::string(kRefusalNames[i])}});
  }
}

void set_policies(QueueMetrics& metrics, Queue& queue) {
  const auto refused = [&](const char* reason, uint64_t count) {
    metrics.total("freshet_queue_refused_total", "Creations refused, since the start", count, {{"reason", reason}});
  };
  refused("max-waiting", queue.refusals().tasks);
  refused("max-waiting-bytes", queue.refusals().bytes);
  refused("deadline", queue.refusals().late);
  refused("deadline-passed", queue.refusals().passed);
  refused("max-lanes", queue.refusals().lanes);
  const auto& downstream = queue.downstream();
  const auto& work = queue.settings().work;
  metrics.gauge("freshet_queue_concurrency", "Tasks that the processor may have in work now",
                static_cast<double>(downstream.concurrency ? downstream.concurrency->limit()
                                                           : static_cast<size_t>(work.concurrency)));
  if (const double rate = downstream.starts_a_second(work); rate > 0) {
    metrics.gauge("freshet_queue_rate_limit",
                  "Tasks a second that may start by RATE_LIMIT, as set or as learnt; absent without a limit", rate);
  }
  if (queue.key_limits().on()) {
    metrics.gauge("freshet_queue_at_limit",
                  "Groups (or keys, see LIMIT_BY) that may start no task now; absent without limits",
                  static_cast<double>(queue.key_limits().at_limit()));
  }
  metrics.gauge("freshet_queue_breaker_open", "1 while the downstream takes nothing",
                downstream.breaker.open() ? 1 : 0);
}

HistogramValue value_of(const Durations& durations) {
  HistogramValue out;
  for (const auto bound : Durations::kBounds) out.bounds.push_back(std::chrono::duration<double>(bound).count());
  for (size_t i = 0; i <= Durations::kBounds.size(); ++i) out.counts.push_back(durations.bucket(i));
  out.sum = durations.sum_seconds();
  return out;
}

}  // namespace

void set_queue(Metrics& metrics, Queue& queue, const QueueStats* stats, const Clock& clock) {
  QueueMetrics out(metrics, queue.name());
  if (stats) {
    set_tasks(out, *stats, clock.wall());
    set_transitions(out, *stats);
  }
  set_punctuality(out, queue.punctuality(), clock.boot());
  set_policies(out, queue);
  out.total("freshet_queue_unserved_total", "Tasks that lack what they need to be served, since the start",
            queue.unserved());
  out.total("freshet_queue_bounced_total", "Old name of the sum of freshet_queue_downstream_refusals_total",
            queue.bounced_tasks());
}

void append_queue_histograms(std::string& page, const std::vector<std::shared_ptr<Queue>>& queues) {
  if (queues.empty()) return;
  const auto append = [&](const char* name, const char* help, auto durations_of) {
    append_family(page, name, help, "histogram");
    for (const auto& queue : queues) {
      append_histogram(page, name, {{"queue", queue->name()}}, value_of(durations_of(queue->punctuality())));
    }
  };
  append("freshet_queue_completion_seconds", "From the creation of a task to the end of its work",
         [](const Punctuality& counts) -> const Durations& { return counts.completion(); });
  append("freshet_queue_handler_seconds", "Time of the handler, or the worker, for one attempt that it ended",
         [](const Punctuality& counts) -> const Durations& { return counts.work(); });
}

}  // namespace freshet
