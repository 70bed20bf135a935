// The columns of the lab's tables. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/lab/experiment.h"

namespace freshet::lab {

struct Column {
  const char* title;
  const char* name;  // The figure's name in docs/overload-experiments.md.
  double scale;
  int digits;
  bool half_width = false;  // Shows the confidence interval instead of the mean.
};

// The columns that a table of policies shows first.
const std::vector<Column>& main_columns();
// The columns that only some scenarios have: recoveries, groups, runs in real time.
const std::vector<Column>& special_columns();
// The main columns, then all others.
std::vector<Column> all_columns();

// The columns with a measured value in these cells.
std::vector<Column> columns_of(const std::vector<Cell>& cells, const std::vector<Column>& columns);
// "-" if the figure was not measured.
std::string column_text(const Cell& cell, const Column& column);

}  // namespace freshet::lab
