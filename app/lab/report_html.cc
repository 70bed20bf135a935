#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "app/lab/chart.h"
#include "app/lab/report.h"

namespace freshet::lab {

namespace {

using Cells = std::vector<Cell>;

std::string colour_of(const Policy& policy) {
  if (policy.clairvoyant) return "#000000";
  if (policy.name == "freshet") return "#d62728";
  if (policy.name == "freshet-adaptive") return "#1f77b4";
  if (policy.name == "freshet-margin") return "#ff7f0e";
  if (policy.name == "freshet-deadline") return "#006d5b";
  constexpr std::array kOthers = {"#9e9e9e", "#8c564b", "#bcbd22", "#2ca02c", "#17becf", "#9467bd",
                                  "#e377c2", "#7f7f7f", "#aec7e8", "#98df8a", "#c5b0d5", "#c49c94"};
  size_t place = 0;
  for (const auto& one : policies()) {
    if (one.name == policy.name) break;
    ++place;
  }
  // Rivals: whatever colour their name has.
  if (place == policies().size()) place = std::accumulate(policy.name.begin(), policy.name.end(), size_t{0});
  return kOthers[place % kOthers.size()];
}

Line line_of(const Policy& policy) {
  return {policy.title, colour_of(policy), policy.clairvoyant, policy.product, {}};
}

double value(const Cell& cell, const char* name) {
  const auto it = cell.figures.find(name);
  return it == cell.figures.end() ? 0 : it->second.mean;
}

// A line for each policy: `name` over the load.
std::vector<Line> over_load(const Cells& cells, const char* name, double scale) {
  std::vector<Line> lines;
  for (const auto& cell : cells) {
    auto line =
        std::find_if(lines.begin(), lines.end(), [&](const Line& one) { return one.name == cell.policy.title; });
    if (line == lines.end()) line = lines.insert(lines.end(), line_of(cell.policy));
    line->points.emplace_back(cell.scenario.load, value(cell, name) * scale);
  }
  return lines;
}

std::vector<Line> ages(const Cells& cells) {
  std::vector<Line> lines;
  for (const auto& cell : cells) {
    if (cell.first.ages.empty()) continue;
    auto line = line_of(cell.policy);
    for (size_t p = 0; p <= 100; ++p) {
      line.points.emplace_back(static_cast<double>(p), std::max(0.1, cell.first.ages[p]));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Line> time_lines(const Cells& cells) {
  std::vector<Line> lines;
  constexpr size_t kSmooth = 4;
  for (const auto& cell : cells) {
    auto line = line_of(cell.policy);
    const auto& bins = cell.first.bins;
    for (size_t i = 0; i + kSmooth < bins.size(); ++i) {
      Bin second;
      for (size_t j = i; j < i + kSmooth; ++j) {
        second.created += bins[j].created;
        second.in_time += bins[j].in_time;
      }
      const double at = std::chrono::duration<double>(kBin * i).count();
      line.points.emplace_back(at, static_cast<double>(second.in_time) / cell.scenario.capacity() * 100);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string bars(const std::string& title, const std::string& unit, const Cells& cells, const char* name,
                 double scale) {
  std::vector<Bar> out;
  for (const auto& cell : cells) {
    out.push_back({cell.policy.title, colour_of(cell.policy), value(cell, name) * scale});
  }
  return out.empty() ? std::string() : bar_chart(title, unit, out);
}

template <class Wanted>
Cells some(const Cells& cells, Wanted wanted) {
  Cells out;
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(out), wanted);
  return out;
}

// Whatever was run of one group of scenarios that differ in their load or shape only.
std::string section(const Cells& cells) {
  const auto plain = [](const Cell& cell) {
    return cell.scenario.shape == Shape::kPoisson && cell.scenario.retries == 0 && cell.scenario.quiet_share == 0;
  };
  const auto sweep = some(cells, plain);
  std::string out;
  Axes axes{"Goodput",
            "load, x capacity",
            "done within deadline, % of capacity",
            true,
            false,
            {0.5, 0.8, 1, 1.5, 2, 3, 5, 10},
            105};
  out += line_chart(axes, over_load(sweep, "goodput", 100));
  axes.title = "Age at start, p99";
  axes.y = "ms";
  axes.log_y = true;
  axes.y_max = 0;
  out += line_chart(axes, over_load(sweep, "ageP99Ms", 1));
  const auto twice = some(sweep, [](const Cell& cell) { return cell.scenario.load == 2; });
  out += line_chart({"Age at start at 2 x", "percentile", "ms", false, true, {0, 25, 50, 75, 90, 100}, 0}, ages(twice));
  out += bars("Worker time spent on tasks that were late, at 2 x", "%", twice, "wastedShare", 100);
  const auto step = some(cells, [](const Cell& c) { return c.scenario.shape == Shape::kStep && c.scenario.load == 3; });
  out +=
      line_chart({"A step to 3 x from 20 s to 30 s", "s", "done within deadline, % of capacity", false, false, {}, 0},
                 time_lines(step));
  const auto stall = some(cells, [](const Cell& cell) { return cell.scenario.shape == Shape::kStall; });
  out += line_chart(
      {"The workers stall from 20 s to 50 s", "s", "done within deadline, % of capacity", false, false, {}, 0},
      time_lines(stall));
  const auto fair = some(cells, [](const Cell& cell) { return cell.scenario.quiet_share > 0; });
  out += bars("Fairness (Jain) between two groups, one a thousand times louder, at 3 x", "", fair, "jain", 1);
  const auto again = some(cells, [](const Cell& cell) { return cell.scenario.retries > 0; });
  out += bars("Goodput at 2 x when clients try up to three times", "%", again, "goodput", 100);
  return out;
}

}  // namespace

std::string html_report(const Experiment& experiment, const std::vector<Cell>& cells) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Freshet: overload</title>\n"
      "<style>body{font-family:sans-serif;max-width:940px;margin:2em "
      "auto;color:#222}pre{font-size:11px;overflow-x:auto}"
      "svg{display:block;margin:1.5em 0;max-width:100%}</style></head><body>\n<h1>More work than can be done</h1>\n";
  out += fmt::format(
      "<p>{} time, {} seed{} from {}; curves of ages and time lines are of the first. "
      "docs/overload.md says what each plot shows.</p>\n",
      experiment.real ? "Real" : "Simulated", experiment.seeds, experiment.seeds == 1 ? "" : "s",
      experiment.first_seed);
  const auto group = [](const Scenario& scenario) {
    return fmt::format("{} of {:g} ms at {} slots, deadline {}", name_of(scenario.service),
                       std::chrono::duration<double, std::milli>(scenario.mean).count(), scenario.slots,
                       scenario.deadline > 0 ? fmt::format("{:g} x", scenario.deadline) : std::string("mixed"));
  };
  std::vector<std::string> groups;
  for (const auto& cell : cells) {
    const auto name = group(cell.scenario);
    if (std::find(groups.begin(), groups.end(), name) == groups.end()) groups.push_back(name);
  }
  for (const auto& name : groups) {
    out += "<h2>" + name + "</h2>\n";
    out += section(some(cells, [&](const Cell& cell) { return group(cell.scenario) == name; }));
  }
  return out + "<h2>All figures</h2>\n<pre>" + table_report(cells) + "</pre>\n</body></html>\n";
}

}  // namespace freshet::lab
