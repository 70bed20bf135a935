// Metrics in the Prometheus sense. Registered by name and labels, updated from any thread without a lock, printed as
// Prometheus text. Names and help texts are ours (a bad or conflicting name aborts); label values may be anything.
//
// Keep the reference that registering returns: looking a metric up takes a lock and compares labels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace freshet {

class Counter {
 public:
  void add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  // Sets a total that is counted elsewhere. A smaller value than before means that its source started again from 0.
  void set(uint64_t total) { value_.store(total, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double n) { value_.fetch_add(n, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Histogram {
 public:
  // Upper bounds (inclusive) of the buckets, rising; a last one without bound is added.
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);

  const std::vector<double>& bounds() const { return bounds_; }
  uint64_t bucket(size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }  // i <= bounds().size()
  uint64_t count() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }
  // Estimate by interpolation within a bucket, q in [0, 1]; 0 if nothing was observed; the highest bound if beyond it.
  double quantile(double q) const;

 private:
  const std::vector<double> bounds_;
  const std::unique_ptr<std::atomic<uint64_t>[]> buckets_;
  std::atomic<double> sum_{0};
};

// Returns bucket bounds for latencies in seconds: 20 µs to 60 s, about three per decade.
std::vector<double> latency_bounds();

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  // The same name and labels give the same metric. References live as long as the registry. Any thread.
  Counter& counter(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  // All histograms of one name share the bounds of the first.
  Histogram& histogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                       const MetricLabels& labels = {});

  // Hides all metrics with this label from text() until show() is called for it. Any thread.
  void hide(const std::string& label, const std::string& value);
  void show(const std::string& label, const std::string& value);

  // Prometheus text exposition (version 0.0.4), families sorted by name, metrics in order of registration. Any thread.
  std::string text() const;

 private:
  struct Registry;
  const std::unique_ptr<Registry> registry_;
};

}  // namespace freshet
