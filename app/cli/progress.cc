#include "app/cli/progress.h"

#include <unistd.h>

#include <iostream>

namespace freshet::cli {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  const size_t rest = shown_ > text.size() ? shown_ - text.size() : 0;
  std::cerr << '\r' << text << std::string(rest, ' ') << std::flush;
  shown_ = text.size();
}

void Progress::clear() {
  if (shown_ == 0) return;
  std::cerr << '\r' << std::string(shown_, ' ') << '\r' << std::flush;
  shown_ = 0;
}

}  // namespace freshet::cli
