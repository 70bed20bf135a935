// Rows in columns, for people. Scripts get JSON or the lines that each command documents, never this.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"

namespace freshet::cli {

struct Cell {
  std::string text;  // Control characters in it are escaped when it is shown.
  Colour colour = Colour::kPlain;
};

struct Column {
  std::string header;
  bool right = false;      // Aligned to the right, as numbers are.
  bool gives_way = false;  // Cut before other columns if the row is wider than the screen.
  bool spare = false;      // Left out, the last one first, while the row is wider than the screen. What wraps can
                           // stand below, and does not count.
  // For the last column only: a text that does not fit is not cut. It continues in further lines, or gets lines of its
  // own below its row if the column would be too narrow to read.
  bool wraps = false;
};

class Table {
 public:
  Table(Screen screen, std::vector<Column> columns) : screen_(screen), columns_(std::move(columns)) {}

  void add(std::vector<Cell> row);  // One cell for each column.
  // A line for the headers, and one for each row. On a terminal no line is wider than the screen if it has room for
  // four columns of text in each; elsewhere nothing is cut.
  std::string text() const;

 private:
  Table narrowed() const;
  std::string lines() const;
  std::vector<size_t> natural_widths() const;
  void fit(std::vector<size_t>& widths) const;
  void append(std::string& out, const std::vector<Cell>& row, const std::vector<size_t>& widths) const;
  void append_wrapped(std::string& out, std::vector<Cell> row, const std::vector<size_t>& widths) const;

  const Screen screen_;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// The colour of a task's status.
Colour colour_of_status(const std::string& status);

}  // namespace freshet::cli
