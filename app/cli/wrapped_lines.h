// Wraps what a command says at the width of the screen, whichever part of it says it.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

#include "base/terminal.h"

namespace freshet::cli {

// While it lives, lines that are written to `out` and are wider than the screen are wrapped; without a terminal nothing
// changes. A line goes out when it ends, or at std::flush. A line with control characters (a progress line) stays as
// it is. `out` outlives it. One thread.
class WrappedLines : public std::streambuf {
 public:
  WrappedLines(std::ostream& out, const Screen& screen);
  WrappedLines(const WrappedLines&) = delete;
  WrappedLines& operator=(const WrappedLines&) = delete;
  ~WrappedLines() override;

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  void write(std::string_view text);
  void end_line();

  std::ostream& out_;
  const Screen screen_;
  std::streambuf* const below_;
  const std::ios_base::fmtflags flags_;
  std::string line_;  // The beginning of a line.
};

}  // namespace freshet::cli
