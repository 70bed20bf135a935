// Plots as inline SVG: lines over an axis, and bars. Pure: data in, text out.
#pragma once

#include <string>
#include <vector>

namespace freshet::lab {

struct Line {
  std::string name;
  std::string colour;
  bool dashed = false;
  bool strong = false;  // Ours, among others.
  std::vector<std::pair<double, double>> points;
};

struct Axes {
  std::string title;
  std::string x;  // What the axes show.
  std::string y;
  bool log_x = false;
  bool log_y = false;
  std::vector<double> x_ticks;  // Empty: five, evenly.
  double y_max = 0;             // 0: as the data need.
  double y_min = 0;
};

// With a legend at its right.
std::string line_chart(const Axes& axes, const std::vector<Line>& lines);

struct Bar {
  std::string name;
  std::string colour;
  double value = 0;
};
// Horizontal bars, labelled with their values in `unit`.
std::string bar_chart(const std::string& title, const std::string& unit, const std::vector<Bar>& bars);

}  // namespace freshet::lab
