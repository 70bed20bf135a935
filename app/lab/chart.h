// Draws plots as pieces of an HTML page: lines as inline SVG, bars as HTML. Pure: data in, text out. Colours, fonts and
// visibility come from the page's style sheet (page_style.h), through the classes named here.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace freshet::lab {

// The look of a line or a bar.
struct Look {
  std::string name;   // Shown at the line's end, or before the bar.
  std::string style;  // Its CSS classes.
  // Hidden until the reader switches it on. The names of such lines have a column of their own, so that names never
  // overlap.
  bool hidden = false;
};

struct Line {
  Look look;
  std::vector<std::pair<double, double>> points;
};

enum class Unit { kNone, kMilliseconds };

struct Axis {
  std::string title;
  Unit unit = Unit::kNone;
  bool log = false;
  double most = 0;            // The axis reaches at least to this value.
  std::vector<double> ticks;  // The most important first; empty: round numbers.
};

struct Plot {
  std::string finding;                  // The sentence above the plot; may be empty.
  Axis x, y;                            // A linear y axis begins at 0.
  double shade_from = 0, shade_to = 0;  // A part of x in which something happens, and its name.
  std::string shade;
};

// Round numbers from 0 on, at most `steps` steps: 0, 25, 50, 75, 100.
std::vector<double> round_ticks(double most, double steps);
// Places labels of height `gap` near their `wanted` positions: in their order, without overlap, within `least` and
// `most` if there is room, and moved as little as possible.
std::vector<double> spread(std::vector<double> wanted, double gap, double least, double most);

// Returns the heights at which lines pass a column of labels, each of which reaches `half` above and below its middle:
// close to `wanted`, in the same order, at most `gap` apart where several share a space, and never through a label.
// `wanted` and `labels` are in ascending order.
std::vector<double> lanes(const std::vector<double>& wanted, const std::vector<double>& labels, double half,
                          double gap);

// A figure, in two forms: for wide and for narrow windows. Later lines are drawn over earlier ones. Empty without
// points.
std::string line_chart(const Plot& plot, const std::vector<Line>& lines);

struct Bar {
  Look look;
  double value = 0;
};
// A figure with bars, each with its value in `unit`, as shares of `most` or of the largest. Empty without bars.
std::string bar_chart(const std::string& finding, const std::string& title, const std::string& unit, double most,
                      const std::vector<Bar>& bars);

// Escapes text for HTML. Numbers and their units stay on one line.
std::string html_text(const std::string& text);

}  // namespace freshet::lab
