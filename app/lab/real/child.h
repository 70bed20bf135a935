// A program that the lab in real time runs beside itself: the daemon, or the driver of a rival.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace freshet::lab {

// Use it on one thread, the one that started it: the program is killed when that thread ends, for any reason.
class Child {
 public:
  // argv[0] is looked up on PATH. Its output goes to the end of the file `log`; if `talks`, read_line() reads its
  // standard output instead. kIo if it cannot be started.
  static Result<Child> start(const std::vector<std::string>& argv, const std::string& log, bool talks);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  // Kills the program and waits for its end.
  ~Child();

  bool has_ended();
  // "it was killed by signal 9 (Killed)", "it ended with status 1"; "it still runs" if it has not ended.
  std::string how_it_ended() const;
  uint64_t resident_bytes() const;  // 0 if it has ended.

  // The next whole line of its standard output; empty if there is none yet. Never blocks.
  std::string read_line();
  void write_line(const std::string& line);  // Writes a line to its standard input.

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_;       // 0: it has ended and was waited for.
  int status_ = 0;  // The result of waitpid(), once it has ended.
  int input_ = -1;
  int output_ = -1;
  std::string read_;
};

// kUnavailable with `what`, how the program ended, and its log. Of a long log it has only the end, and the path of a
// copy, because the log itself is removed with its folder. `child` is null if the program was not started.
Error gone_with_log(const std::string& what, const Child* child, const std::string& log);

}  // namespace freshet::lab
