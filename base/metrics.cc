#include "base/metrics.h"

#include <prometheus/check_names.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <variant>

#include "base/check.h"
#include "base/mutex.h"

namespace freshet {
namespace {

struct Metric {
  template <class M, class... Args>
  Metric(MetricLabels own_labels, std::in_place_type_t<M> type, Args&&... args)
      : labels(std::move(own_labels)), value(type, std::forward<Args>(args)...) {}
  MetricLabels labels;
  std::variant<Counter, Gauge, Histogram> value;
};

struct Family {
  std::string help;
  std::deque<Metric> metrics;  // References stay valid as it grows.
  std::map<MetricLabels, Metric*> by_labels;
};

struct Collect {
  prometheus::MetricFamily& family;
  prometheus::ClientMetric& out;

  void operator()(const Counter& counter) const {
    family.type = prometheus::MetricType::Counter;
    out.counter.value = static_cast<double>(counter.value());
  }
  void operator()(const Gauge& gauge) const {
    family.type = prometheus::MetricType::Gauge;
    out.gauge.value = gauge.value();
  }
  void operator()(const Histogram& histogram) const {
    family.type = prometheus::MetricType::Histogram;
    uint64_t cumulative = 0;
    for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
      cumulative += histogram.bucket(i);
      const bool last = i == histogram.bounds().size();
      out.histogram.bucket.push_back(
          {cumulative, last ? std::numeric_limits<double>::infinity() : histogram.bounds()[i]});
    }
    out.histogram.sample_count = cumulative;
    out.histogram.sample_sum = histogram.sum();
  }
};

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), buckets_(new std::atomic<uint64_t>[bounds_.size() + 1]()) {
  FRESHET_CHECK(std::is_sorted(bounds_.begin(), bounds_.end()), "the bounds of a histogram rise");
}

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  buckets_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

uint64_t Histogram::count() const {
  uint64_t total = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) total += bucket(i);
  return total;
}

double Histogram::quantile(double q) const {
  const double rank = q * static_cast<double>(count());
  double below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    const auto here = static_cast<double>(bucket(i));
    if (here > 0 && below + here >= rank) {
      const double low = i == 0 ? 0 : bounds_[i - 1];
      return low + (bounds_[i] - low) * (rank - below) / here;
    }
    below += here;
  }
  return bounds_.empty() || count() == 0 ? 0 : bounds_.back();
}

std::vector<double> latency_bounds() {
  return {20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3,
          50e-3, 0.1,   0.2,    0.5,    1,      2,    5,    10,   20,    60};
}

struct Metrics::Registry {
  mutable Mutex mutex;
  std::map<std::string, Family, std::less<>> families FRESHET_GUARDED_BY(mutex);
  std::set<std::pair<std::string, std::string>> hidden FRESHET_GUARDED_BY(mutex);  // Labels with their values.

  template <class M, class... Args>
  M& get(std::string_view name, std::string_view help, const MetricLabels& labels, Args&&... args) {
    const MutexLock lock(mutex);
    auto family = families.find(name);
    if (family == families.end()) {
      FRESHET_CHECK(prometheus::CheckMetricName(std::string(name)), "not a Prometheus metric name");
      for (const auto& [label, value] : labels)
        FRESHET_CHECK(prometheus::CheckLabelName(label), "not a Prometheus label name");
      family = families.emplace(std::string(name), Family{std::string(help), {}, {}}).first;
    }
    auto& metrics = family->second.metrics;
    Metric*& known = family->second.by_labels[labels];
    if (!known) known = &metrics.emplace_back(labels, std::in_place_type<M>, std::forward<Args>(args)...);
    Metric& metric = *known;
    FRESHET_CHECK(metrics.front().value.index() == metric.value.index() && std::holds_alternative<M>(metric.value),
                  "one metric name has one type");
    return std::get<M>(metric.value);
  }
};

Metrics::Metrics() : registry_(std::make_unique<Registry>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(std::string_view name, std::string_view help, const MetricLabels& labels) {
  return registry_->get<Counter>(name, help, labels);
}

Gauge& Metrics::gauge(std::string_view name, std::string_view help, const MetricLabels& labels) {
  return registry_->get<Gauge>(name, help, labels);
}

Histogram& Metrics::histogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                              const MetricLabels& labels) {
  return registry_->get<Histogram>(name, help, labels, bounds);
}

void Metrics::hide(const std::string& label, const std::string& value) {
  const MutexLock lock(registry_->mutex);
  registry_->hidden.emplace(label, value);
}

void Metrics::show(const std::string& label, const std::string& value) {
  const MutexLock lock(registry_->mutex);
  registry_->hidden.erase({label, value});
}

std::string Metrics::text() const {
  std::vector<prometheus::MetricFamily> collected;
  {
    const MutexLock lock(registry_->mutex);
    const auto is_hidden = [hidden = registry_->hidden](const auto& label) { return hidden.contains(label); };
    for (const auto& [name, family] : registry_->families) {
      prometheus::MetricFamily& out = collected.emplace_back();
      out.name = name;
      out.help = family.help;
      for (const Metric& metric : family.metrics) {
        if (std::any_of(metric.labels.begin(), metric.labels.end(), is_hidden)) continue;
        prometheus::ClientMetric& client = out.metric.emplace_back();
        for (const auto& [label, value] : metric.labels) client.label.push_back({label, value});
        std::visit(Collect{out, client}, metric.value);
      }
      if (out.metric.empty()) collected.pop_back();
    }
  }
  return prometheus::TextSerializer().Serialize(collected);
}

}  // namespace freshet
