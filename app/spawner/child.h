// One program that the spawner runs: the keeper above it, its three pipes and their output.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/spawner/protocol.h"

namespace freshet::spawner {

// A resource: closes its pipes. Does not end the processes; the server does.
class Child {
 public:
  // Starts a keeper that starts the program in a session of its own. `refused` gets the reason if that fails; finish()
  // reports a fault of the program itself.
  static std::optional<Child> start(StartRequest request, Answer& refused);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  uint64_t id() const { return id_; }
  pid_t keeper() const { return keeper_; }
  // Pipes for poll(); -1 once closed.
  int input() const { return input_; }
  int output() const { return output_; }
  int error_output() const { return error_output_; }

  // Non-blocking: moves what can be moved now.
  void feed_input();
  // Reads the available output, but no more than a pipe holds, so that a program that writes without end does not keep
  // the others waiting.
  void read_output();
  // For a followed program: returns the output that was read since the last call. `now` limits its rate. With `all`,
  // for the last call, also reports the dropped bytes.
  bool follows() const { return follow_; }
  std::vector<Output> take_output(std::chrono::steady_clock::time_point now, bool all);

  milliseconds timeout() const { return timeout_; }
  void set_timed_out() { result_.timed_out = true; }
  // True if there is anything to look at.
  bool watched() const { return memory_limit_ > 0 || thread_limit_ > 0; }
  // Returns true, and records it in the answer, if it uses more than its limits.
  bool takes_too_much(uint64_t memory, uint64_t threads);
  // The keeper has ended: reads the remaining output and builds the answer.
  Answer finish();
  // After finish(): false if some process of the run may be left, which is then the spawner's child.
  bool all_ended() const { return all_ended_; }

 private:
  Child() = default;
  uint64_t id_ = 0;
  std::string name_;
  pid_t keeper_ = 0;
  int report_ = -1;
  int input_ = -1;
  int output_ = -1;
  int error_output_ = -1;
  std::string to_write_;
  // The bytes of a stream that are still accepted in this second.
  struct Allowance {
    std::chrono::steady_clock::time_point second{};
    size_t left = 0;
    uint64_t dropped = 0;  // Not reported yet.
  };
  // Cuts off bytes beyond the allowance.
  void keep_allowed(std::string& bytes, Allowance& allowance, std::chrono::steady_clock::time_point now) const;

  size_t max_output_ = 0;
  bool follow_ = false;
  uint64_t memory_limit_ = 0;
  uint64_t thread_limit_ = 0;
  Allowance output_allowance_;
  Allowance error_allowance_;
  milliseconds timeout_{0};
  ProcessResult result_;
  bool all_ended_ = false;
};

}  // namespace freshet::spawner
