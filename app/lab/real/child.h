// A program that the lab in real time runs beside itself: the daemon, or the driver of a rival.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace freshet::lab {

// One thread, the one that started it: the program is killed when that thread ends, however it does.
class Child {
 public:
  // argv[0] is looked up on PATH. What it prints goes to the end of the file `log`; if `talks`, its standard output is
  // read by read_line() instead. kIo if it cannot be started.
  static Result<Child> start(const std::vector<std::string>& argv, const std::string& log, bool talks);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  // Kills the program and waits until it has ended.
  ~Child();

  bool has_ended();
  uint64_t resident_bytes() const;  // 0 if it has ended.

  // The next whole line of its standard output; empty if there is none yet. Never blocks.
  std::string read_line();
  void write_line(const std::string& line);  // To its standard input.

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_;  // 0: ended and waited for.
  int input_ = -1;
  int output_ = -1;
  std::string read_;
};

}  // namespace freshet::lab
