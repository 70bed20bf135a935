#include "app/lab/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace freshet::lab {

namespace {

using Json = nlohmann::json;

Json scenario_json(const Scenario& scenario) {
  return Json{{"name", scenario.name()},
              {"shape", name_of(scenario.shape)},
              {"load", scenario.load},
              {"service", name_of(scenario.service)},
              {"slots", scenario.slots},
              {"meanMs", std::chrono::duration<double, std::milli>(scenario.mean).count()},
              {"deadline", scenario.deadline},
              {"retries", scenario.retries},
              {"quietShare", scenario.quiet_share},
              {"seconds", scenario.duration.count()}};
}

std::string figure(const Cell& cell, const char* name, double scale, int digits) {
  const auto it = cell.figures.find(name);
  return it == cell.figures.end() ? "-" : fmt::format("{:.{}f}", it->second.mean * scale, digits);
}

}  // namespace

std::string json_report(const Experiment& experiment, const std::vector<Cell>& cells) {
  Json out{{"seeds", experiment.seeds},
           {"firstSeed", experiment.first_seed},
           {"realTime", experiment.real.has_value()},
           {"cells", Json::array()}};
  for (const auto& cell : cells) {
    Json one{{"scenario", scenario_json(cell.scenario)}, {"policy", cell.policy.name}, {"figures", Json::object()}};
    for (const auto& [name, value] : cell.figures) {
      one["figures"][name] = Json{{"mean", value.mean}, {"ci95", value.half_width}};
    }
    out["cells"].push_back(std::move(one));
  }
  return out.dump();
}

std::string table_report(const std::vector<Cell>& cells) {
  struct Column {
    const char* title;
    const char* name;
    double scale;
    int digits;
  };
  constexpr Column kColumns[] = {{"goodput%", "goodput", 100, 1},
                                 {"+-", "", 100, 1},
                                 {"of best%", "ofClairvoyant", 100, 1},
                                 {"late%", "lateShare", 100, 1},
                                 {"past", "startsPastDeadline", 1, 0},
                                 {"waste%", "wastedShare", 100, 1},
                                 {"age p50", "ageP50Ms", 1, 1},
                                 {"age p99", "ageP99Ms", 1, 1},
                                 {"shed%", "shedShare", 100, 1},
                                 {"needless", "needlesslyShed", 1, 0},
                                 {"refused%", "rejectedShare", 100, 1},
                                 {"backlog", "peakBacklog", 1, 0},
                                 {"stale", "peakStaleBacklog", 1, 0},
                                 {"recovery ms", "recoveryMs", 1, 0},
                                 {"jain", "jain", 1, 3},
                                 {"quiet p99", "quietAgeP99Ms", 1, 1},
                                 {"create p50", "createP50Ms", 1, 2},
                                 {"create p99", "createP99Ms", 1, 2},
                                 {"refuse p50", "rejectP50Ms", 1, 2},
                                 {"refuse p99", "rejectP99Ms", 1, 2},
                                 {"sent late", "sentLateP99Ms", 1, 2},
                                 {"twice", "startedTwice", 1, 0},
                                 {"MiB, 1st half", "rssFirstHalfMiB", 1, 1},
                                 {"MiB, 2nd half", "rssSecondHalfMiB", 1, 1},
                                 {"simulated/real", "simulatedInTimeOverReal", 1, 3}};
  // Columns that nothing was measured for are left out.
  std::vector<Column> columns;
  for (const auto& column : kColumns) {
    const bool always = column.name[0] == '\0';
    const bool some = std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
      return cell.figures.find(column.name) != cell.figures.end();
    });
    if (always || some) columns.push_back(column);
  }
  std::string out;
  std::string scenario;
  for (const auto& cell : cells) {
    if (const auto name = cell.scenario.name(); name != scenario) {
      scenario = name;
      out += fmt::format("\n{}\n{:34}", name, "");
      for (const auto& column : columns) out += fmt::format("{:>14}", column.title);
      out += '\n';
    }
    out += fmt::format("{:34}", cell.policy.title);
    for (const auto& column : columns) {
      if (column.name[0] != '\0') {
        out += fmt::format("{:>14}", figure(cell, column.name, column.scale, column.digits));
      } else {
        out += fmt::format("{:>14.1f}", cell.figures.at("goodput").half_width * column.scale);
      }
    }
    out += '\n';
  }
  return out;
}

}  // namespace freshet::lab
