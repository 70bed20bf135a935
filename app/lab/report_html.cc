#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "app/lab/chart.h"
#include "app/lab/findings.h"
#include "app/lab/page_style.h"
#include "app/lab/report.h"
#include "app/lab/report_columns.h"

namespace freshet::lab {

namespace {

using Cells = std::vector<Cell>;

// The policies that are shown unless the reader asks for more, with their classes of page_style.h. Where fewer of them
// take part, others have their places.
struct Shown {
  const char* policy;
  const char* style;
};
constexpr std::array<Shown, 6> kStory = {{{"freshet", "c0 ours"},
                                          {"fifo", "c1"},
                                          {"fifo-ttl", "c2"},
                                          {"fifo-codel", "c3"},
                                          {"lifo-ttl", "c4"},
                                          {"clairvoyant", "possible"}}};
constexpr std::array<const char*, kColours> kForOthers = {"c5", "c1", "c2", "c3", "c4", "c0"};

// How each policy of an experiment looks on its page.
class Looks {
 public:
  explicit Looks(const std::vector<Policy>& policies) {
    std::set<std::string> styles;
    const auto show = [&](const Policy& policy, const std::string& style) {
      looks_[policy.name] = {shown_name(policy), style, false};
      order_[policy.name] = policy.clairvoyant ? 2 : style == "c0 ours" ? 0 : 1;
      styles.insert(style.substr(0, 2));
    };
    for (const auto& [name, style] : kStory) {
      for (const auto& policy : policies) {
        if (policy.name == name) show(policy, style);
      }
    }
    for (const auto& policy : policies) {
      if (looks_.contains(policy.name)) continue;
      const auto free = std::find_if(kForOthers.begin(), kForOthers.end(),
                                     [&](const char* style) { return !styles.contains(style); });
      if (looks_.size() < kStory.size() && free != kForOthers.end()) {
        show(policy, *free);
      } else {
        hidden_.push_back(&policy);
      }
    }
    for (size_t i = 0; i < hidden_.size(); ++i) {
      looks_[hidden_[i]->name] = {shown_name(*hidden_[i]), fmt::format("hidden h{}", i), true};
      order_[hidden_[i]->name] = -1;
    }
  }

  const Look& of(const Policy& policy) const { return looks_.at(policy.name); }
  // Later curves lie above earlier ones: hidden curves, the wide one of Freshet, the others, the possible.
  int order(const Policy& policy) const { return order_.at(policy.name); }
  const std::vector<const Policy*>& hidden() const { return hidden_; }

 private:
  std::map<std::string, Look> looks_;
  std::map<std::string, int> order_;
  std::vector<const Policy*> hidden_;
};

double value(const Cell& cell, const char* name) {
  const auto it = cell.figures.find(name);
  return it == cell.figures.end() ? 0 : it->second.mean;
}

template <class Wanted>
Cells some(const Cells& cells, Wanted wanted) {
  Cells out;
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(out), wanted);
  return out;
}

// The plots of all scenarios that differ in their load or shape only.
class Section {
 public:
  Section(const Cells& cells, const Looks& looks) : cells_(cells), looks_(looks) {
    std::stable_sort(cells_.begin(), cells_.end(),
                     [&](const Cell& a, const Cell& b) { return looks_.order(a.policy) < looks_.order(b.policy); });
  }

  std::string draw() const { return sweep() + at_twice() + events() + groups() + retries(); }

 private:
  std::string sweep() const {
    const auto cells = some(cells_, plain);
    Plot plot{goodput_finding(cells), {}, {}, 0, 0, {}};
    plot.x = {"load, x capacity", Unit::kNone, true, 0, {1, 10, 2, 5, 0.5, 3, 0.8, 1.5}};
    plot.y = {"Goodput: done within the deadline, % of capacity", Unit::kNone, false, 100, {}};
    std::string out;
    // For a single load a table says as much.
    const auto other = std::find_if(cells.begin(), cells.end(),
                                    [&](const Cell& one) { return one.scenario.load != cells.front().scenario.load; });
    if (other == cells.end()) {
      return bars(plot.finding, plot.y.title, "%", 100, cells, "goodput", 100);
    }
    out += line_chart(plot, over_load(cells, "goodput", 100));
    plot.finding = slow_wait_finding(cells);
    plot.y = {"Wait from creation to start that 99 of 100 tasks do not exceed", Unit::kMilliseconds, true, 0, {}};
    return out + line_chart(plot, over_load(cells, "ageP99Ms", 1));
  }

  std::string at_twice() const {
    const auto cells = some(cells_, [](const Cell& cell) { return plain(cell) && cell.scenario.load == 2; });
    Plot plot{median_wait_finding(cells), {}, {}, 0, 0, {}};
    plot.x = {"% of the tasks that are started", Unit::kNone, false, 0, {0, 100, 50, 25, 75}};
    plot.y = {"Wait from creation to start that so many tasks do not exceed, at 2 x capacity",
              Unit::kMilliseconds,
              true,
              0,
              {}};
    return line_chart(plot, waits(cells)) + bars(waste_finding(cells),
                                                 "Worker time spent on tasks that were late, at 2 x capacity, %", "%",
                                                 100, cells, "wastedShare", 100);
  }

  std::string events() const {
    auto step = some(cells_, [](const Cell& one) { return one.scenario.shape == Shape::kStep; });
    // The story has two steps, and one of them shows it.
    const auto three = some(step, [](const Cell& one) { return one.scenario.load == 3; });
    if (!three.empty()) step = three;
    const auto stall = some(cells_, [](const Cell& one) { return one.scenario.shape == Shape::kStall; });
    return each_scenario(step,
                         [&](const Cells& cells, const std::string&) {
                           return event(cells, kStep, fmt::format("{:g} x", cells.front().scenario.load));
                         }) +
           each_scenario(stall, [&](const Cells& cells, const std::string&) { return event(cells, kStall, "stall"); });
  }

  std::string event(const Cells& cells, seconds length, const std::string& name) const {
    Plot plot{recovery_finding(cells), {}, {}, 0, 0, {}};
    plot.x = {"seconds", Unit::kNone, false, static_cast<double>(cells.front().scenario.duration.count()), {}};
    plot.y = {"Tasks done within the deadline, by when they were created, % of those created then",
              Unit::kNone,
              false,
              100,
              {}};
    plot.shade_from = static_cast<double>(kCalm.count());
    plot.shade_to = static_cast<double>((kCalm + length).count());
    plot.shade = name;
    return line_chart(plot, time_lines(cells));
  }

  std::string groups() const {
    const auto with_groups = some(cells_, [](const Cell& cell) { return cell.scenario.quiet_share > 0; });
    return each_scenario(with_groups, [&](const Cells& cells, const std::string& name) {
      return bars(fairness_finding(cells), "The quiet group's tasks done within the deadline" + name + ", %", "%", 100,
                  cells, "quietInTimeShare", 100);
    });
  }

  std::string retries() const {
    const auto with_retries = some(cells_, [](const Cell& cell) { return cell.scenario.retries > 0; });
    return each_scenario(with_retries, [&](const Cells& cells, const std::string& name) {
      return bars(retries_finding(cells), "Goodput when clients try again" + name + ", % of capacity", "%", 100, cells,
                  "goodput", 100);
    });
  }

  // A plot for each scenario. `draw` also gets what distinguishes it from the others, like ", step 3 x".
  template <class Draw>
  static std::string each_scenario(const Cells& cells, Draw draw) {
    std::vector<std::string> names;
    for (const auto& cell : cells) {
      const auto name = cell.scenario.name();
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    std::string out;
    for (const auto& name : names) {
      const auto one = some(cells, [&](const Cell& cell) { return cell.scenario.name() == name; });
      const auto& scenario = one.front().scenario;
      out += draw(one, names.size() > 1 ? fmt::format(", {} {:g} x", name_of(scenario.shape), scenario.load) : "");
    }
    return out;
  }

  static bool plain(const Cell& cell) {
    return cell.scenario.shape == Shape::kPoisson && cell.scenario.retries == 0 && cell.scenario.quiet_share == 0;
  }

  // A line for each policy: `name` over the load.
  std::vector<Line> over_load(const Cells& cells, const char* name, double scale) const {
    std::vector<Line> lines;
    for (const auto& cell : cells) {
      const auto look = looks_.of(cell.policy);
      auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& one) { return one.look.name == look.name; });
      if (line == lines.end()) line = lines.insert(lines.end(), {look, {}});
      line->points.emplace_back(cell.scenario.load, value(cell, name) * scale);
    }
    return lines;
  }

  std::vector<Line> waits(const Cells& cells) const {
    std::vector<Line> lines;
    for (const auto& cell : cells) {
      if (cell.first.ages.empty()) continue;
      Line line{looks_.of(cell.policy), {}};
      for (size_t p = 0; p <= 100; ++p) {
        line.points.emplace_back(static_cast<double>(p), std::max(0.1, cell.first.ages[p]));
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

  // For the tasks that were created within a second around each moment.
  std::vector<Line> time_lines(const Cells& cells) const {
    std::vector<Line> lines;
    constexpr size_t kSecond = seconds(1) / kBin;
    for (const auto& cell : cells) {
      Line line{looks_.of(cell.policy), {}};
      const auto& bins = cell.first.bins;
      for (size_t i = 0; i + kSecond < bins.size(); ++i) {
        Bin second;
        for (size_t j = i; j < i + kSecond; ++j) {
          second.created += bins[j].created;
          second.in_time += bins[j].in_time;
        }
        const double at = std::chrono::duration<double>(kBin * (i + kSecond / 2)).count();
        line.points.emplace_back(at, second.share() * 100);
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

  // The best and the worst stand at the ends.
  std::string bars(const std::string& finding, const std::string& title, const std::string& unit, double most,
                   const Cells& cells, const char* name, double scale) const {
    std::vector<Bar> out;
    for (const auto& cell : cells) out.push_back({looks_.of(cell.policy), value(cell, name) * scale});
    std::stable_sort(out.begin(), out.end(), [](const Bar& a, const Bar& b) { return a.value > b.value; });
    return bar_chart(finding, title, unit, most, out);
  }

  Cells cells_;
  const Looks& looks_;
};

std::string switches(const Looks& looks) {
  const auto& hidden = looks.hidden();
  if (hidden.empty()) return {};
  std::string out = fmt::format(
      "<details class=\"others\"><summary>Show more policies, in grey: {} to choose from</summary>\n", hidden.size());
  out += "<label><input type=\"checkbox\" id=\"all\"> all</label>\n";
  for (size_t i = 0; i < hidden.size(); ++i) {
    out +=
        fmt::format("<label><input type=\"checkbox\" id=\"h{}\"> {}</label>\n", i, html_text(shown_name(*hidden[i])));
  }
  return out + "</details>\n";
}

std::string figures_table(const Cells& cells) {
  std::string out;
  for (auto first = cells.begin(); first != cells.end();) {
    const auto name = first->scenario.name();
    const auto end = std::find_if(first, cells.end(), [&](const Cell& cell) { return cell.scenario.name() != name; });
    const Cells rows(first, end);
    const auto columns = columns_of(rows, all_columns());
    out += fmt::format(
        "<h3>{0}</h3>\n<div class=\"scroll\" role=\"region\" aria-label=\"Figures of {0}\" "
        "tabindex=\"0\"><table><thead><tr>"
        "<th scope=\"col\">policy</th>",
        html_text(name));
    for (const auto& column : columns) out += fmt::format("<th scope=\"col\">{}</th>", column.title);
    out += "</tr></thead><tbody>\n";
    for (const auto& cell : rows) {
      out += "<tr><td>" + html_text(cell.policy.title) + "</td>";
      for (const auto& column : columns) out += "<td>" + column_text(cell, column) + "</td>";
      out += "</tr>\n";
    }
    out += "</tbody></table></div>\n";
    first = end;
  }
  return out;
}

std::string group_of(const Scenario& scenario) {
  return fmt::format("{} slot{}, {} service of {:g} ms, deadline {}", scenario.slots, scenario.slots == 1 ? "" : "s",
                     name_of(scenario.service), std::chrono::duration<double, std::milli>(scenario.mean).count(),
                     scenario.deadline > 0 ? fmt::format("{:g} x", scenario.deadline) : std::string("mixed"));
}

}  // namespace

std::string html_report(const Experiment& experiment, const Cells& cells) {
  const Looks looks(experiment.policies);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Freshet: overload</title>\n<style>{}</style></head><body><main>\n"
      "<h1>More work than can be done</h1>\n<p class=\"lead\">{}</p>\n",
      page_style(looks.hidden().size()), html_text(conclusion(cells)));
  if (const auto chance = above_capacity(cells); !chance.empty()) out += "<p>" + html_text(chance) + "</p>\n";
  out += fmt::format(
      "<p class=\"quiet\">Measured in {} time, {} seed{} from {}; distributions of waits and time lines are of the "
      "first "
      "seed. The clairvoyant knows the future, and cares for what is done in time and for nothing else. "
      "docs/overload-experiments.md says more of each plot.</p>\n",
      experiment.real ? "real" : "simulated", experiment.seeds, experiment.seeds == 1 ? "" : "s",
      experiment.first_seed);
  out += switches(looks);
  std::vector<std::string> groups;
  for (const auto& cell : cells) {
    const auto name = group_of(cell.scenario);
    if (std::find(groups.begin(), groups.end(), name) == groups.end()) groups.push_back(name);
  }
  for (const auto& name : groups) {
    const auto plots =
        Section(some(cells, [&](const Cell& cell) { return group_of(cell.scenario) == name; }), looks).draw();
    out += "<h2>" + name + "</h2>\n";
    out += plots.empty() ? "<p>There is no plot for this shape at these loads: see the figures below.</p>\n" : plots;
  }
  return out + "<h2>All figures</h2>\n" + figures_table(cells) + "</main></body></html>\n";
}

}  // namespace freshet::lab
