// Metrics for OpenTelemetry: the page of GET /metrics as one OTLP/JSON ExportMetricsServiceRequest
// (https://opentelemetry.io/docs/specs/otlp/, the JSON mapping of opentelemetry.proto.collector.metrics.v1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"

namespace freshet {

// A family of the page and its samples, in the page's order.
struct MetricSample {
  std::string name;  // "freshet_commit_seconds_bucket"
  MetricLabels labels;
  double value = 0;
};
struct MetricFamily {
  std::string name;
  std::string help;
  std::string type;  // "counter", "gauge" or "histogram"
  std::vector<MetricSample> samples;
};

// Reads a page that Metrics::text() and metrics_text.h have written. Lines of another form are left out. Pure.
std::vector<MetricFamily> read_metrics_page(std::string_view page);

struct MetricsOrigin {
  WallTime began;  // The start of the daemon: totals and histograms count from then on.
  WallTime now;
  std::string instance;  // "service.instance.id": identifies the daemon among those that send to the same endpoint.
};

// Counters become cumulative monotonic sums, histograms cumulative ones with the bounds of the page, labels attributes.
// Names stay as they are on the page. Values that are no numbers are left out. In one line. Pure.
std::string otlp_metrics_json(const std::vector<MetricFamily>& families, const MetricsOrigin& origin);

}  // namespace freshet
