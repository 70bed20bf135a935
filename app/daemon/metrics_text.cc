#include "app/daemon/metrics_text.h"

#include <fmt/format.h>

namespace freshet {
namespace {

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

void append_line(std::string& out, const std::string& name, const MetricLabels& labels, const std::string& value) {
  out += name;
  if (!labels.empty()) {
    char before = '{';
    for (const auto& [label, text] : labels) {
      out += before + label + "=\"";
      append_escaped(out, text);
      out += '"';
      before = ',';
    }
    out += '}';
  }
  out += ' ' + value + '\n';
}

}  // namespace

void append_family(std::string& out, std::string_view name, std::string_view help, std::string_view type) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void append_sample(std::string& out, std::string_view name, const MetricLabels& labels, double value) {
  append_line(out, std::string(name), labels, fmt::format("{}", value));
}

void append_histogram(std::string& out, std::string_view name, const MetricLabels& labels,
                      const HistogramValue& histogram) {
  const std::string base(name);
  uint64_t below = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    below += histogram.counts[i];
    MetricLabels with_bound = labels;
    with_bound.emplace_back("le",
                            i < histogram.bounds.size() ? fmt::format("{}", histogram.bounds[i]) : std::string("+Inf"));
    append_line(out, base + "_bucket", with_bound, std::to_string(below));
  }
  append_line(out, base + "_sum", labels, fmt::format("{}", histogram.sum));
  append_line(out, base + "_count", labels, std::to_string(below));
}

}  // namespace freshet
