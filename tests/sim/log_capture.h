// A log sink that keeps the lines, for tests.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"

namespace freshet {

// One thread.
class LogCapture final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override { lines.emplace_back(line); }

  // How many lines contain `text`.
  size_t count(std::string_view text) const {
    size_t n = 0;
    for (const std::string& line : lines) n += line.find(text) != std::string::npos;
    return n;
  }

  std::vector<std::string> lines;
};

}  // namespace freshet
