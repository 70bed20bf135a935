// A line for people who wait: how far a command is. Only on a terminal, so that scripts and files never get it.
#pragma once

#include <string>

namespace freshet::cli {

// On standard error, each text over the one before; what was shown is wiped when this goes away.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text);
  void clear();  // Before something else is printed.

 private:
  const bool terminal_;
  size_t shown_ = 0;  // Columns.
};

}  // namespace freshet::cli
