// One program that the spawner runs: its process, its three pipes and what came out of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "app/spawner/protocol.h"

namespace freshet::spawner {

// A resource: closes its pipes. Does not end the process; the server does.
class Child {
 public:
  // Starts the program in a session of its own. `refused` says why it could not be.
  static std::optional<Child> start(StartRequest request, Answer& refused);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  uint64_t id() const { return id_; }
  pid_t pid() const { return pid_; }
  std::string run_name() const { return std::to_string(id_); }
  // Pipes for poll(); -1 once closed.
  int input() const { return input_; }
  int output() const { return output_; }
  int error_output() const { return error_output_; }

  // Non-blocking: moves what can be moved now.
  void feed_input();
  void read_output();

  milliseconds timeout() const { return timeout_; }
  void set_timed_out() { result_.timed_out = true; }
  // The process has ended with this wait status: reads the rest and makes the answer.
  Answer finish(int wait_status);

 private:
  Child() = default;
  uint64_t id_ = 0;
  pid_t pid_ = 0;
  int input_ = -1;
  int output_ = -1;
  int error_output_ = -1;
  std::string to_write_;
  size_t max_output_ = 0;
  milliseconds timeout_{0};
  ProcessResult result_;
};

}  // namespace freshet::spawner
