// Splits a program's output into lines: bounds their length and their number per second, and keeps the last part for
// the caller of an invocation. Loop thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "runtime/ports.h"

namespace freshet {

class ProcessLog {
 public:
  static constexpr size_t kMaxLineBytes = 8u << 10;   // The rest of a longer line is dropped.
  static constexpr uint64_t kMaxLinesASecond = 5000;  // Further lines are dropped.
  static constexpr size_t kTailBytes = 4u << 10;
  static constexpr int kLinesAStep = 100;
  static constexpr size_t kBytesAStep = 64u << 10;

  // `line` gets each line without its end; `cut` is true if it was longer.
  using Line = std::function<void(OutputStream stream, std::string_view line, bool cut)>;
  ProcessLog(const Clock& clock, Line line) : clock_(clock), line_(std::move(line)) {}

  // Processes the front of `bytes`, not more than a step of the loop has time for; returns how many bytes.
  size_t write(OutputStream stream, std::string_view bytes);
  // Call it when the program or an invocation has ended: an unfinished line counts as a line.
  void end_lines();

  // The number of lines since the last call.
  uint64_t take_lines() { return std::exchange(lines_, 0); }
  uint64_t take_dropped_lines() { return std::exchange(dropped_lines_, 0); }

  // begin_tail() starts to keep the last kTailBytes of all lines.
  void begin_tail() { tail_.clear(); }
  const std::string& tail() const { return tail_; }
  void add_to_tail(std::string_view text);

 private:
  struct Unfinished {
    std::string text;
    bool cut = false;
  };
  void finish(OutputStream stream);
  bool full();  // True if no further line is logged in this second.
  size_t drop_lines(OutputStream stream, std::string_view bytes);

  const Clock& clock_;
  const Line line_;
  std::array<Unfinished, 2> unfinished_;  // By stream.
  std::string tail_;
  BootTime second_{};
  uint64_t in_second_ = 0;
  uint64_t lines_ = 0;
  uint64_t dropped_lines_ = 0;
};

}  // namespace freshet
