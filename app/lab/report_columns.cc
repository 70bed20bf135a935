#include "app/lab/report_columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace freshet::lab {

const std::vector<Column>& main_columns() {
  static const std::vector<Column> columns = {
      {"goodput%", "goodput", 100, 1}, {"+-", "goodput", 100, 1, true},    {"clairv%", "ofClairvoyant", 100, 1},
      {"late%", "lateShare", 100, 1},  {"wasted%", "wastedShare", 100, 1}, {"p50 ms", "ageP50Ms", 1, 1},
      {"p99 ms", "ageP99Ms", 1, 1},    {"shed%", "shedShare", 100, 1},     {"refused%", "rejectedShare", 100, 1}};
  return columns;
}

const std::vector<Column>& special_columns() {
  static const std::vector<Column> columns = {{"recovery ms", "recoveryMs", 1, 0},
                                              {"jain", "jain", 1, 3},
                                              {"quiet in time%", "quietInTimeShare", 100, 1},
                                              {"quiet p99 ms", "quietAgeP99Ms", 1, 1},
                                              {"create p50", "createP50Ms", 1, 2},
                                              {"create p99", "createP99Ms", 1, 2},
                                              {"refuse p50", "rejectP50Ms", 1, 2},
                                              {"refuse p99", "rejectP99Ms", 1, 2},
                                              {"sent late", "sentLateP99Ms", 1, 2},
                                              {"twice", "startedTwice", 1, 0},
                                              {"MiB 1st half", "rssFirstHalfMiB", 1, 1},
                                              {"MiB 2nd half", "rssSecondHalfMiB", 1, 1},
                                              {"simulated/real", "simulatedInTimeOverReal", 1, 3}};
  return columns;
}

std::vector<Column> all_columns() {
  std::vector<Column> out = main_columns();
  const std::vector<Column> more = {{"past deadline", "startsPastDeadline", 1, 0},
                                    {"shed needlessly", "needlesslyShed", 1, 0},
                                    {"backlog", "peakBacklog", 1, 0},
                                    {"stale", "peakStaleBacklog", 1, 0}};
  out.insert(out.end(), more.begin(), more.end());
  out.insert(out.end(), special_columns().begin(), special_columns().end());
  return out;
}

std::vector<Column> columns_of(const std::vector<Cell>& cells, const std::vector<Column>& columns) {
  std::vector<Column> out;
  for (const auto& column : columns) {
    const bool some =
        std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.figures.contains(column.name); });
    if (some) out.push_back(column);
  }
  return out;
}

std::string column_text(const Cell& cell, const Column& column) {
  const auto it = cell.figures.find(column.name);
  if (it == cell.figures.end()) return "-";
  if (column.half_width && it->second.half_width == 0) return "-";  // A single run says nothing about others.
  const double value = (column.half_width ? it->second.half_width : it->second.mean) * column.scale;
  return fmt::format("{:.{}f}", value, value < 1000 ? column.digits : 0);
}

}  // namespace freshet::lab
