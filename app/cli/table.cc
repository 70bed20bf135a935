#include "app/cli/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/plain_text.h"

namespace freshet::cli {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeast = 4;
constexpr size_t kReadable = 24;  // A column of sentences is at least that wide.
constexpr size_t kIndent = 4;     // The indent of sentences below their row.

}  // namespace

void Table::add(std::vector<Cell> row) {
  for (Cell& cell : row) cell.text = plain_text(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<size_t> Table::natural_widths() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t most = columns_of(columns_[i].header);
    for (const auto& row : rows_) most = std::max(most, columns_of(row[i].text));
    widths.push_back(most);
  }
  return widths;
}

// Makes the columns as narrow as the screen wants them: a width of 0 for a last column whose texts stand below.
void Table::fit(std::vector<size_t>& widths) const {
  const size_t gaps = kGap * (columns_.size() - 1);
  const size_t room = screen_.width > gaps ? screen_.width - gaps : 0;
  size_t all = std::accumulate(widths.begin(), widths.end(), size_t{0});
  const auto shrink = [&](size_t i, size_t least) {
    const size_t less = std::min(all - room, widths[i] > least ? widths[i] - least : 0);
    widths[i] -= less;
    all -= less;
  };
  if (columns_.back().wraps && all > room) {
    const size_t others = all - widths.back();
    widths.back() = others + kReadable <= room ? room - others : 0;
    all = others + widths.back();
  }
  for (size_t i = 0; i < widths.size() && all > room; ++i) {
    if (columns_[i].gives_way) shrink(i, std::max(kLeast, columns_of(columns_[i].header)));
  }
  while (all > room) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeast) break;
    // One at a time: columns that are equally wide get equally narrow.
    shrink(static_cast<size_t>(widest - widths.begin()), *widest - 1);
  }
}

void Table::append(std::string& out, const std::vector<Cell>& row, const std::vector<size_t>& widths) const {
  std::string line;
  size_t blanks = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string text = cut_to_columns(row[i].text, widths[i]);
    const size_t padding = widths[i] - columns_of(text);
    if (columns_[i].right) blanks += padding;
    if (!text.empty()) line += std::string(std::exchange(blanks, 0), ' ') + painted(screen_, row[i].colour, text);
    if (!columns_[i].right) blanks += padding;
    blanks += kGap;
  }
  out += line + '\n';
}

void Table::append_wrapped(std::string& out, std::vector<Cell> row, const std::vector<size_t>& widths) const {
  const Cell last = std::exchange(row.back(), {});
  const bool below = widths.back() == 0;
  const auto lines = wrapped(last.text, below ? screen_.width - kIndent : widths.back(), screen_);
  if (!below) row.back() = {lines.front(), last.colour};
  append(out, row, widths);
  if (last.text.empty()) return;
  const size_t indent = below ? kIndent : std::accumulate(widths.begin(), widths.end() - 1, kGap * (widths.size() - 1));
  for (size_t i = below ? 0 : 1; i < lines.size(); ++i) {
    out += std::string(indent, ' ') + painted(screen_, last.colour, lines[i]) + '\n';
  }
}

// Without the spare columns that the screen has no room for.
Table Table::narrowed() const {
  Table out = *this;
  auto widths = natural_widths();
  if (columns_.back().wraps) widths.back() = 0;
  size_t all = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  for (size_t i = widths.size(); i-- > 0 && all > screen_.width;) {
    if (!columns_[i].spare) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    out.columns_.erase(out.columns_.begin() + at);
    for (auto& row : out.rows_) row.erase(row.begin() + at);
    all -= widths[i] + kGap;
  }
  return out;
}

std::string Table::text() const {
  return screen_.terminal ? narrowed().lines() : lines();
}

std::string Table::lines() const {
  auto widths = natural_widths();
  if (screen_.terminal) fit(widths);
  std::vector<Cell> headers;
  for (const Column& column : columns_) headers.push_back({column.header, Colour::kBold});
  if (widths.back() == 0) headers.back() = {};
  std::string out;
  append(out, headers, widths);
  for (const auto& row : rows_) {
    columns_.back().wraps ? append_wrapped(out, row, widths) : append(out, row, widths);
  }
  return out;
}

Colour colour_of_status(const std::string& status) {
  if (status == "SUCCESS") return Colour::kGreen;
  if (status == "FAILURE" || status == "DEAD") return Colour::kRed;
  if (status == "SHED" || status == "DELAYED") return Colour::kYellow;
  if (status == "TAKEN") return Colour::kCyan;
  if (status == "CANCELLED") return Colour::kDim;
  return Colour::kPlain;
}

}  // namespace freshet::cli
