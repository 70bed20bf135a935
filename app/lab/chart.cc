#include "app/lab/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace freshet::lab {

namespace {

constexpr double kLeft = 60, kTop = 34, kWidth = 560, kHeight = 300;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

// A value's place on an axis of that length.
struct Scale {
  double least, most, length;
  bool log;
  double at(double value) const {
    const double from = log ? std::log10(least) : least;
    const double to = log ? std::log10(most) : most;
    const double here = log ? std::log10(std::max(value, least)) : value;
    return to > from ? std::clamp((here - from) / (to - from), 0.0, 1.0) * length : 0;
  }
};

std::vector<double> ticks_of(const Scale& scale) {
  std::vector<double> out;
  if (scale.log) {
    for (double tick = std::pow(10, std::floor(std::log10(scale.least))); tick <= scale.most * 1.001; tick *= 10) {
      if (tick >= scale.least * 0.999) out.push_back(tick);
    }
    return out;
  }
  for (int i = 0; i <= 5; ++i) out.push_back(scale.least + (scale.most - scale.least) * i / 5);
  return out;
}

std::string text(double x, double y, const char* anchor, const std::string& what, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y, anchor, more,
                     escaped(what));
}

void draw_axes(std::string& out, const Axes& axes, const Scale& x, const Scale& y) {
  out += text(kLeft, 18, "start", axes.title, "font-weight=\"bold\" font-size=\"14\"");
  for (const double tick : axes.x_ticks.empty() ? ticks_of(x) : axes.x_ticks) {
    const double at = kLeft + x.at(tick);
    out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#eee\"/>\n", at, kTop,
                       kTop + kHeight);
    out += text(at, kTop + kHeight + 16, "middle", fmt::format("{:g}", tick));
  }
  for (const double tick : ticks_of(y)) {
    const double at = kTop + kHeight - y.at(tick);
    out += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n", kLeft,
                       kLeft + kWidth, at);
    out += text(kLeft - 6, at + 4, "end", fmt::format("{:.3g}", tick));
  }
  out += text(kLeft + kWidth / 2, kTop + kHeight + 36, "middle", axes.x);
  out += text(kLeft, kTop - 4, "start", axes.y, "fill=\"#666\"");
}

}  // namespace

std::string line_chart(const Axes& axes, const std::vector<Line>& lines) {
  double left = 1e300, right = -1e300, bottom = 1e300, top = axes.y_max;
  for (const auto& line : lines) {
    for (const auto& [px, py] : line.points) {
      left = std::min(left, px);
      right = std::max(right, px);
      if (axes.y_max <= 0) top = std::max(top, py);
      if (py > 0) bottom = std::min(bottom, py);
    }
  }
  if (left > right) return {};
  const Scale x{left, right, kWidth, axes.log_x};
  const Scale y{axes.log_y ? std::max(bottom, top / 1e6) : axes.y_min, std::max(top, axes.y_min + 1e-9), kHeight,
                axes.log_y};
  std::string out =
      "<svg viewBox=\"0 0 900 390\" width=\"900\" height=\"390\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n";
  draw_axes(out, axes, x, y);
  double row = kTop + 8;
  for (const auto& line : lines) {
    std::string points;
    for (const auto& [px, py] : line.points) {
      points += fmt::format("{:.1f},{:.1f} ", kLeft + x.at(px), kTop + kHeight - y.at(py));
    }
    const auto stroke = fmt::format("stroke=\"{}\" stroke-width=\"{}\" {}", line.colour, line.strong ? 3 : 1.5,
                                    line.dashed ? "stroke-dasharray=\"6 4\"" : "");
    out += fmt::format("<polyline fill=\"none\" {} points=\"{}\"/>\n", stroke, points);
    out += fmt::format("<line x1=\"640\" x2=\"664\" y1=\"{0}\" y2=\"{0}\" {1}/>\n", row, stroke);
    out += text(670, row + 4, "start", line.name);
    row += 18;
  }
  return out + "</svg>\n";
}

std::string bar_chart(const std::string& title, const std::string& unit, const std::vector<Bar>& bars) {
  double most = 1e-9;
  for (const auto& bar : bars) most = std::max(most, bar.value);
  const double height = 34 + 22 * static_cast<double>(bars.size());
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 900 {0}\" width=\"900\" height=\"{0}\" font-family=\"sans-serif\" font-size=\"12\">\n",
      height);
  out += text(10, 18, "start", title, "font-weight=\"bold\" font-size=\"14\"");
  double row = 30;
  for (const auto& bar : bars) {
    out += text(220, row + 13, "end", bar.name);
    out += fmt::format("<rect x=\"228\" y=\"{}\" width=\"{:.1f}\" height=\"16\" fill=\"{}\"/>\n", row,
                       std::max(1.0, bar.value / most * 520), bar.colour);
    out += text(236 + bar.value / most * 520, row + 13, "start", fmt::format("{:.3g} {}", bar.value, unit));
    row += 22;
  }
  return out + "</svg>\n";
}

}  // namespace freshet::lab
