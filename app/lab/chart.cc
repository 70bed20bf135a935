#include "app/lab/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace freshet::lab {

namespace {

// Lengths are those of the viewBox.
struct Canvas {
  const char* style;
  double left, width, height;  // The plot's area.
  double names, hidden_names;  // Widths of the columns behind it.
  double font;
};
constexpr Canvas kWide{"wide", 64, 608, 300, 158, 236, 14};
constexpr Canvas kNarrow{"narrow", 54, 176, 210, 132, 224, 12};
constexpr double kTop = 12;
constexpr double kLeader = 16;  // From a line's end to its name.
constexpr double kMostSteps = 4.5;

// Numbers and their units stay on one line.
std::string together(std::string text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (const std::string unit : {" %", " ms", " s", " x"}) {
    for (size_t at = 1; (at = text.find(unit, at)) != std::string::npos; ++at) {
      const size_t end = at + unit.size();
      const bool is_whole = end == text.size() || !is_letter(text[end]);
      if (is_whole && text[at - 1] >= '0' && text[at - 1] <= '9') text.replace(at, 1, "\u00a0");
    }
  }
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

// A value's place on an axis of that length.
struct AxisScale {
  double least, most, length;
  bool log;
  double at(double value) const {
    const double from = log ? std::log10(least) : least;
    const double to = log ? std::log10(most) : most;
    const double here = log ? std::log10(std::max(value, least)) : value;
    return to > from ? std::clamp((here - from) / (to - from), 0.0, 1.0) * length : 0;
  }
};

// With as many decimals as tell something.
std::string number_text(double value) {
  if (value == std::floor(value) || value >= 10) return fmt::format("{:.0f}", value);
  return value < 0.005 ? "0" : fmt::format("{:.{}f}", value, value < 1 ? 2 : 1);
}

std::string tick_text(double value, Unit unit) {
  if (unit == Unit::kNone) return fmt::format("{:g}", value);
  return value < 1000 ? fmt::format("{:g} ms", value) : fmt::format("{:g} s", value / 1000);
}

std::vector<double> decades(const AxisScale& scale) {
  std::vector<double> out;
  for (double tick = std::pow(10, std::floor(std::log10(scale.least))); tick <= scale.most * 1.001; tick *= 10) {
    if (tick >= scale.least * 0.999) out.push_back(tick);
  }
  return out;
}

double text_width(const std::string& text, double font) {
  return 0.62 * font * static_cast<double>(text.size());
}

// Ticks of x whose texts do not touch, the first ones first.
std::vector<double> apart(const std::vector<double>& ticks, const AxisScale& scale, const Axis& axis, double font) {
  std::vector<std::pair<double, double>> taken;
  std::vector<double> out;
  for (const double tick : ticks) {
    if (tick < scale.least * 0.999 || tick > scale.most * 1.001) continue;
    const double half = text_width(tick_text(tick, axis.unit), font) / 2 + 3;
    const double at = scale.at(tick);
    const bool touches = std::any_of(taken.begin(), taken.end(),
                                     [&](const auto& one) { return at - half < one.second && one.first < at + half; });
    if (touches) continue;
    taken.emplace_back(at - half, at + half);
    out.push_back(tick);
  }
  return out;
}

std::string text(double x, double y, const char* anchor, const std::string& what, const std::string& style) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y, anchor, style,
                     escaped(what));
}

struct Extent {
  double left = 1e300, right = -1e300, bottom = 1e300, top = 0;
};

Extent extent_of(const std::vector<Line>& lines) {
  Extent out;
  for (const auto& line : lines) {
    for (const auto& [x, y] : line.points) {
      out.left = std::min(out.left, x);
      out.right = std::max(out.right, x);
      out.top = std::max(out.top, y);
      if (y > 0) out.bottom = std::min(out.bottom, y);
    }
  }
  return out;
}

class Drawing {
 public:
  Drawing(const Plot& plot, const std::vector<Line>& lines, const Extent& extent, const Canvas& canvas)
      : plot_(plot), lines_(lines), canvas_(canvas) {
    x_ = {plot.x.log ? extent.left : 0, std::max(extent.right, plot.x.most), canvas.width, plot.x.log};
    const double top = std::max({extent.top, plot.y.most, 1e-9});
    if (plot.y.log) {
      const double bottom = std::pow(10, std::floor(std::log10(std::clamp(extent.bottom, top / 1e6, top))));
      y_ = {bottom, std::max(top, bottom * 10), canvas.height, true};
    } else {
      y_ = {0, top * 1.04, canvas.height, false};
    }
  }

  std::string draw() {
    const double all = canvas_.left + canvas_.width + canvas_.names + canvas_.hidden_names;
    out_ = fmt::format(
        "<svg class=\"{}\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {:g} {:g}\" font-size=\"{:g}\">\n",
        canvas_.style, html_text(plot_.y.title), all, kTop + canvas_.height + 3.2 * canvas_.font, canvas_.font);
    shade();
    axes();
    for (const auto& line : lines_) curve(line);
    names();
    return out_ + "</svg>\n";
  }

 private:
  double at_x(double value) const { return canvas_.left + x_.at(value); }
  double at_y(double value) const { return kTop + canvas_.height - y_.at(value); }

  void shade() {
    if (plot_.shade.empty()) return;
    const double from = at_x(plot_.shade_from), to = at_x(plot_.shade_to);
    out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\" class=\"shade\"/>\n", from,
                        kTop, to - from, canvas_.height);
    out_ += text((from + to) / 2, kTop + canvas_.height * 0.42, "middle", plot_.shade, "quiet");
  }

  void axes() {
    const double bottom = kTop + canvas_.height;
    const double steps_of_x = canvas_.width / 80;
    auto x_ticks = plot_.x.ticks;
    if (x_ticks.empty()) x_ticks = x_.log ? decades(x_) : round_ticks(x_.most, steps_of_x);
    for (const double tick : apart(x_ticks, x_, plot_.x, canvas_.font)) {
      out_ += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:g}\" y2=\"{2:g}\" class=\"grid\"/>\n",
                          at_x(tick), kTop, bottom);
      out_ += text(at_x(tick), bottom + 1.4 * canvas_.font, "middle", tick_text(tick, plot_.x.unit), "quiet");
    }
    for (const double tick : y_.log ? decades(y_) : round_ticks(y_.most, kMostSteps)) {
      out_ += fmt::format("<line x1=\"{0:g}\" x2=\"{1:g}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/>\n",
                          canvas_.left, canvas_.left + canvas_.width, at_y(tick));
      out_ += text(canvas_.left - 6, at_y(tick) + 0.35 * canvas_.font, "end", tick_text(tick, plot_.y.unit), "quiet");
    }
    out_ += text(canvas_.left + canvas_.width / 2, bottom + 2.7 * canvas_.font, "middle", plot_.x.title, "quiet");
  }

  void curve(const Line& line) {
    std::string points;
    for (const auto& [px, py] : line.points) points += fmt::format("{:.1f},{:.1f} ", at_x(px), at_y(py));
    out_ += fmt::format("<polyline class=\"line {}\" points=\"{}\"/>\n", line.look.style, points);
  }

  // The lines that are hidden, or the others, from the top to the bottom of their ends.
  std::vector<const Line*> ending(bool hidden) const {
    std::vector<const Line*> out;
    for (const auto& line : lines_) {
      if (line.look.hidden == hidden && !line.points.empty()) out.push_back(&line);
    }
    std::stable_sort(out.begin(), out.end(), [this](const Line* a, const Line* b) { return end_of(*a) < end_of(*b); });
    return out;
  }
  double end_of(const Line& line) const { return at_y(line.points.back().second); }

  std::vector<double> places_of(const std::vector<const Line*>& lines, double gap) const {
    std::vector<double> ends;
    for (const Line* line : lines) ends.push_back(end_of(*line));
    return spread(ends, gap * canvas_.font, kTop, kTop + canvas_.height + canvas_.font);
  }

  void names() {
    const double column = canvas_.left + canvas_.width;
    const auto shown = ending(false), hidden = ending(true);
    const auto places = places_of(shown, 1.45);
    std::vector<double> ends;
    for (const Line* line : hidden) ends.push_back(end_of(*line));
    const auto ways = lanes(ends, places, 0.6 * canvas_.font, 1.5);
    const auto behind = places_of(hidden, 1.25);
    for (size_t i = 0; i < hidden.size(); ++i) {
      const double next = column + canvas_.names;
      leader(*hidden[i],
             {{column + 2, ends[i]}, {column + kLeader, ways[i]}, {next, ways[i]}, {next + kLeader, behind[i]}});
    }
    for (size_t i = 0; i < shown.size(); ++i) {
      leader(*shown[i], {{column + 2, end_of(*shown[i])}, {column + kLeader, places[i]}});
    }
  }

  // From the line's end to its name, which stands behind the last point.
  void leader(const Line& line, const std::vector<std::pair<double, double>>& way) {
    std::string points = fmt::format("{:.1f},{:.1f}", at_x(line.points.back().first), end_of(line));
    for (const auto& [x, y] : way) points += fmt::format(" {:.1f},{:.1f}", x, y);
    out_ += fmt::format("<polyline class=\"leader {}\" points=\"{}\"/>\n", line.look.style, points);
    out_ += text(way.back().first + 4, way.back().second + 0.35 * canvas_.font, "start", line.look.name,
                 "name " + line.look.style);
  }

  const Plot& plot_;
  const std::vector<Line>& lines_;
  const Canvas& canvas_;
  AxisScale x_{}, y_{};
  std::string out_;
};

std::string caption(const std::string& finding, const std::string& what) {
  std::string out = "<figcaption>";
  if (!finding.empty()) out += "<strong>" + html_text(finding) + "</strong>\n";
  return out + "<span>" + html_text(what) + "</span></figcaption>\n";
}

}  // namespace

std::vector<double> round_ticks(double most, double steps) {
  if (most <= 0 || steps < 1) return {0};
  const double rough = most / steps;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.5, 2.0, 1.0}) {
    if (factor * power >= rough * 0.999) step = factor * power;
  }
  std::vector<double> out;
  for (int i = 0; i * step <= most * 1.001; ++i) out.push_back(i * step);
  return out;
}

std::vector<double> spread(std::vector<double> wanted, double gap, double least, double most) {
  // Labels that touch stand together as a block around the middle of what they want.
  struct Block {
    double sum;  // Adds up the places that its labels want, each less its distance from the first.
    size_t count;
    double first;
  };
  std::vector<Block> blocks;
  const auto place = [&](Block& block) {
    const double last = most - gap * static_cast<double>(block.count - 1);
    block.first = std::max(least, std::min(block.sum / static_cast<double>(block.count), last));
  };
  for (const double at : wanted) {
    blocks.push_back({at, 1, 0});
    place(blocks.back());
    while (blocks.size() > 1) {
      const Block last = blocks.back();
      Block& before = blocks[blocks.size() - 2];
      const double height = gap * static_cast<double>(before.count);
      if (before.first + height <= last.first) break;
      before.sum += last.sum - height * static_cast<double>(last.count);
      before.count += last.count;
      place(before);
      blocks.pop_back();
    }
  }
  std::vector<double> out;
  for (const auto& block : blocks) {
    for (size_t i = 0; i < block.count; ++i) out.push_back(block.first + gap * static_cast<double>(i));
  }
  return out;
}

std::vector<double> lanes(const std::vector<double>& wanted, const std::vector<double>& labels, double half,
                          double gap) {
  struct Lane {
    double from, to;
    std::vector<double> wanted;
  };
  std::vector<Lane> all = {{-1e9, 1e9, {}}};
  for (const double label : labels) {
    all.back().to = label - half;
    all.push_back({label + half, 1e9, {}});
  }
  for (const double at : wanted) {
    const auto away = [at](const Lane& lane) { return std::abs(std::clamp(at, lane.from, lane.to) - at); };
    Lane* nearest = &all.front();
    for (Lane& lane : all) {
      if (lane.from < lane.to && away(lane) < away(*nearest)) nearest = &lane;
    }
    nearest->wanted.push_back(at);
  }
  std::vector<double> out;
  for (const Lane& lane : all) {
    const double fits = (lane.to - lane.from) / static_cast<double>(lane.wanted.size() + 1);
    const auto places = spread(lane.wanted, std::min(gap, fits), lane.from, lane.to);
    out.insert(out.end(), places.begin(), places.end());
  }
  return out;
}

std::string line_chart(const Plot& plot, const std::vector<Line>& lines) {
  const Extent extent = extent_of(lines);
  if (extent.left > extent.right) return {};
  std::string out = "<figure>\n" + caption(plot.finding, plot.y.title);
  // With hidden lines switched on, it may be wider than the window: then it scrolls, also by the keyboard.
  const bool scrolls = std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.look.hidden; });
  out += "<div class=\"plot\"" + std::string(scrolls ? " tabindex=\"0\"" : "") + ">\n";
  for (const Canvas* canvas : {&kWide, &kNarrow}) out += Drawing(plot, lines, extent, *canvas).draw();
  return out + "</div></figure>\n";
}

std::string bar_chart(const std::string& finding, const std::string& title, const std::string& unit, double most,
                      const std::vector<Bar>& bars) {
  if (bars.empty()) return {};
  for (const auto& bar : bars) most = std::max(most, bar.value);
  std::string out = "<figure>\n" + caption(finding, title) + "<div class=\"bars\">\n";
  for (const auto& bar : bars) {
    const double share = most > 0 ? bar.value / most * 100 : 0;
    const auto value = number_text(bar.value);
    out += fmt::format(
        "<div class=\"bar {}\"><span>{}</span><span class=\"track\"><i style=\"width:{:.2f}%\"></i></span>"
        "<span>{}</span></div>\n",
        bar.look.style, html_text(bar.look.name), share, html_text(value + " " + unit));
  }
  return out + "</div></figure>\n";
}

std::string html_text(const std::string& text) {
  return escaped(together(text));
}

}  // namespace freshet::lab
