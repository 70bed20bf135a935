#include "app/daemon/otlp_metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "base/number_text.h"
#include "base/version.h"
#include "tables/value/json_quoted.h"

namespace freshet {
namespace {

// Takes what stands before `end`, and `end` itself, off the text; all of it if there is none.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

// A label's value up to its closing quote, without the backslashes of the page. Empty if no quote closes it.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return out;
    }
    if (text[i] == '\\' && i + 1 < text.size()) {
      out += text[++i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return std::nullopt;
}

// `text` begins behind the '{', and ends behind the '}' when all is well.
bool take_labels(std::string_view& text, MetricLabels& labels) {
  while (!text.empty() && text.front() != '}') {
    if (text.front() == ',') text.remove_prefix(1);
    std::string name(take_until(text, '='));
    if (text.empty() || text.front() != '"') return false;
    text.remove_prefix(1);
    auto value = take_quoted(text);
    if (!value) return false;
    labels.emplace_back(std::move(name), std::move(*value));
  }
  if (text.empty()) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  return read_number_in(text, value) ? std::optional(value) : std::nullopt;
}

std::optional<MetricSample> sample_of(std::string_view line) {
  MetricSample sample;
  const size_t end = line.find_first_of("{ ");
  if (end == std::string_view::npos) return std::nullopt;
  sample.name = line.substr(0, end);
  const bool has_labels = line[end] == '{';
  line.remove_prefix(has_labels ? end + 1 : end);
  if (has_labels && !take_labels(line, sample.labels)) return std::nullopt;
  if (line.empty() || line.front() != ' ') return std::nullopt;
  const auto value = number_in(line.substr(1));
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

std::string attributes_of(const MetricLabels& labels) {
  std::string out = R"("attributes":[)";
  for (const auto& [name, value] : labels) {
    if (out.back() != '[') out += ',';
    out += R"({"key":)" + json_quoted(name) + R"(,"value":{"stringValue":)" + json_quoted(value) + "}}";
  }
  return out + "]";
}

std::string nanoseconds_of(WallTime at) {
  return fmt::format("\"{}000000\"", epoch_ms(at));
}

// The members that every point has.
std::string point_of(const MetricLabels& labels, const MetricsOrigin& origin) {
  return "{" + attributes_of(labels) + R"(,"startTimeUnixNano":)" + nanoseconds_of(origin.began) +
         R"(,"timeUnixNano":)" + nanoseconds_of(origin.now);
}

void add_point(std::string& points, const std::string& point) {
  if (!points.empty()) points += ',';
  points += point + '}';
}

std::string number_points(const MetricFamily& family, const MetricsOrigin& origin) {
  std::string points;
  for (const MetricSample& sample : family.samples) {
    if (!std::isfinite(sample.value)) continue;
    add_point(points, point_of(sample.labels, origin) + fmt::format(R"(,"asDouble":{})", sample.value));
  }
  return points;
}

// The page counts what lies below each bound; OTLP wants the count of each bucket.
std::string histogram_points(const MetricFamily& family, const MetricsOrigin& origin) {
  std::string points;
  std::string bounds;
  std::string counts;
  double below = 0;
  double sum = 0;
  for (const MetricSample& sample : family.samples) {
    if (sample.name == family.name + "_bucket") {
      counts += fmt::format("{}\"{:.0f}\"", counts.empty() ? "" : ",", sample.value - below);
      below = sample.value;
      const std::string& bound = sample.labels.back().second;
      if (bound != "+Inf") bounds += (bounds.empty() ? "" : ",") + bound;
    } else if (sample.name == family.name + "_sum") {
      sum = sample.value;
    } else if (sample.name == family.name + "_count") {
      add_point(points, point_of(sample.labels, origin) +
                            fmt::format(R"(,"count":"{:.0f}","sum":{},"bucketCounts":[{}],"explicitBounds":[{}])",
                                        sample.value, std::isfinite(sum) ? sum : 0, counts, bounds));
      bounds.clear();
      counts.clear();
      below = 0;
    }
  }
  return points;
}

// The unit in UCUM, as the names' endings say it; "" for none.
std::string_view unit_of(std::string_view name) {
  if (name.ends_with("_total")) name.remove_suffix(6);
  if (name.ends_with("_seconds")) return "s";
  return name.ends_with("_bytes") ? "By" : "";
}

std::string metric_of(const MetricFamily& family, const MetricsOrigin& origin) {
  std::string out = R"({"name":)" + json_quoted(family.name) + R"(,"description":)" + json_quoted(family.help) +
                    R"(,"unit":)" + json_quoted(unit_of(family.name));
  constexpr std::string_view kCumulative = R"(],"aggregationTemporality":2)";
  if (family.type == "histogram") {
    return out + R"(,"histogram":{"dataPoints":[)" + histogram_points(family, origin) + std::string(kCumulative) + "}}";
  }
  if (family.type == "counter") {
    return out + R"(,"sum":{"dataPoints":[)" + number_points(family, origin) + std::string(kCumulative) +
           R"(,"isMonotonic":true}})";
  }
  return out + R"(,"gauge":{"dataPoints":[)" + number_points(family, origin) + "]}}";
}

}  // namespace

std::vector<MetricFamily> read_metrics_page(std::string_view page) {
  std::vector<MetricFamily> families;
  while (!page.empty()) {
    std::string_view line = take_until(page, '\n');
    if (line.starts_with("# HELP ")) {
      line.remove_prefix(7);
      MetricFamily& family = families.emplace_back();
      family.name = take_until(line, ' ');
      family.help = line;
    } else if (line.starts_with("# TYPE ") && !families.empty()) {
      families.back().type = line.substr(line.rfind(' ') + 1);
    } else if (auto sample = sample_of(line); sample && !families.empty()) {
      families.back().samples.push_back(std::move(*sample));
    }
  }
  return families;
}

std::string otlp_metrics_json(const std::vector<MetricFamily>& families, const MetricsOrigin& origin) {
  std::string out = R"({"resourceMetrics":[{"resource":{)" +
                    attributes_of({{"service.name", "freshet"},
                                   {"service.version", std::string(version())},
                                   {"service.instance.id", origin.instance}}) +
                    R"(},"scopeMetrics":[{"scope":{"name":"freshet"},"metrics":[)";
  for (const MetricFamily& family : families) {
    if (out.back() != '[') out += ',';
    out += metric_of(family, origin);
  }
  return out + "]}]}]}";
}

}  // namespace freshet
