// Shows the progress of a command on standard error: on a terminal a line that changes, in a file or a pipe a line
// every ten seconds. A command that ends earlier prints no line there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

#include "base/terminal.h"

namespace freshet::cli {

// One thread uses it. Nothing else may be printed to standard error while a text is shown on a terminal: wipe() first.
class Progress {
 public:
  // `beginning` is shown until show() is called.
  explicit Progress(const std::string& beginning);
  // The same on a stream, which must outlive it. Without a terminal it prints a line after each `every`.
  Progress(const std::string& beginning, std::ostream& out, Screen screen, std::chrono::milliseconds every);
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Each text replaces the one before. It holds no control characters and no line feeds.
  void show(const std::string& text);
  void wipe();  // Removes the line from a terminal. A later text is shown again.
  void end();   // Removes the line. No line is shown any more.

 private:
  void print_lines();

  std::ostream& out_;
  const Screen screen_;
  const std::chrono::milliseconds every_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  size_t shown_ = 0;  // Columns of a terminal.
  std::mutex mutex_;
  // Guarded by it.
  std::condition_variable ended_;
  std::string text_;
  bool over_ = false;
  std::thread lines_;  // Only without a terminal.
};

}  // namespace freshet::cli
