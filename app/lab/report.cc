#include "app/lab/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/lab/findings.h"
#include "app/lab/report_columns.h"
#include "base/plain_text.h"

namespace freshet::lab {

namespace {

using Json = nlohmann::json;

// Columns of a terminal.
constexpr size_t kWidth = 100;
constexpr size_t kTitle = 31;
constexpr size_t kLeast = 6;  // The least width of a column of figures.

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

// Longer names are cut, so that a table keeps its width.
std::string title_of(const Policy& policy) {
  auto title = plain_text(policy.title);
  if (title.size() < kTitle) return title;
  size_t end = 0;
  for (size_t next = 0; next < kTitle - 3; next += utf8_length(std::string_view(title).substr(next))) end = next;
  return title.substr(0, end) + "...";
}

size_t width_of(const Column& column) {
  return std::max<size_t>(std::string_view(column.title).size(), kLeast) + 1;
}

// In lines that are no longer than the table is wide.
std::string wrapped(std::string text) {
  for (size_t start = 0; text.size() - start > kWidth;) {
    const size_t blank = text.rfind(' ', start + kWidth);
    if (blank == std::string::npos || blank <= start) break;
    text[blank] = '\n';
    start = blank + 1;
  }
  return text + '\n';
}

// A row for each policy, in as many blocks as the width needs.
void add_rows(std::string& out, const std::vector<Cell>& cells, const std::vector<Column>& columns) {
  for (size_t first = 0; first < columns.size();) {
    size_t end = first;
    for (size_t width = kTitle; end < columns.size(); ++end) {
      width += width_of(columns[end]);
      if (width > kWidth) break;
    }
    out += fmt::format("{:{}}", "", kTitle);
    for (size_t i = first; i < end; ++i) out += fmt::format("{:>{}}", columns[i].title, width_of(columns[i]));
    out += '\n';
    for (const auto& cell : cells) {
      out += fmt::format("{:{}}", title_of(cell.policy), kTitle);
      for (size_t i = first; i < end; ++i) {
        out += fmt::format("{:>{}}", column_text(cell, columns[i]), width_of(columns[i]));
      }
      out += '\n';
    }
    first = end;
  }
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
  std::string out;
  for (auto first = cells.begin(); first != cells.end();) {
    const auto name = first->scenario.name();
    const auto end = std::find_if(first, cells.end(), [&](const Cell& cell) { return cell.scenario.name() != name; });
    const std::vector<Cell> rows(first, end);
    out += name + '\n';
    add_rows(out, rows, columns_of(rows, main_columns()));
    add_rows(out, rows, columns_of(rows, special_columns()));
    out += '\n';
    first = end;
  }
  const std::string chance = above_capacity(cells);
  return out + wrapped(conclusion(cells)) + (chance.empty() ? "" : wrapped(chance));
}

}  // namespace freshet::lab
