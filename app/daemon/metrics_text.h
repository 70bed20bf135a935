// Prometheus text (version 0.0.4) for values that base/metrics.h does not hold: counters with a fraction, and
// histograms whose buckets are counted elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"

namespace freshet {

// The two lines that every family begins with. `type`: "counter", "gauge" or "histogram".
void append_family(std::string& out, std::string_view name, std::string_view help, std::string_view type);
void append_sample(std::string& out, std::string_view name, const MetricLabels& labels, double value);

struct HistogramValue {
  std::vector<double> bounds;    // Upper ones, rising, without the last bucket's.
  std::vector<uint64_t> counts;  // Each bucket's own count; one more than bounds.
  double sum = 0;
};
void append_histogram(std::string& out, std::string_view name, const MetricLabels& labels,
                      const HistogramValue& histogram);

}  // namespace freshet
