// The faults of a simulated engine, as they are at the moment. They go on while the engine's process ends and begins
// again. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "tests/sim/machine/trace.h"

namespace freshet::fleet_sim {

// The probability of each fault of a call, in a thousand.
struct EngineRates {
  uint64_t throttled = 0;
  uint64_t error_before = 0;  // It fails, and nothing is done.
  uint64_t error_after = 0;   // The write is done all the same.
  uint64_t lost = 0;          // It is done, and nobody answers.
  uint64_t late = 0;          // The write is done some seconds later.
  uint64_t slow = 0;          // It is done late, and answered later still, but before callers give up.
};

class EngineFaults {
 public:
  enum class Fault { kNone, kThrottled, kErrorBefore, kErrorAfter, kLost, kLate, kSlow };
  // Indexes fall into as many classes, each of which lags by a time of its own.
  static constexpr size_t kClasses = 3;
  static constexpr milliseconds kLongestDelay{6'000};  // A late write has it; callers wait for 3 s.
  static constexpr milliseconds kSilence{15'000};
  static constexpr milliseconds kLongestWay{1'200};  // A slow call needs that to the store at most, and back.

  // The trace outlives it.
  EngineFaults(uint64_t seed, sim::Trace& trace) : random_(seed), trace_(trace) {}

  Fault draw(bool is_write, const std::string& table);
  milliseconds draw_delay() { return draw_time(kLongestDelay); }
  milliseconds draw_way() { return draw_time(kLongestWay); }
  // How much later a late write is done.
  milliseconds late_by();
  // The next write to the table has that fault. `late_by`: for kLate.
  void plan_next_write(std::string table, Fault fault, milliseconds late_by);
  // The lag of a write in the indexes of a class.
  nanoseconds draw_lag(size_t index_class);
  uint64_t seed() { return random_.next(); }
  void saw(const char* what) { trace_.saw(what); }

  bool lags = false;  // Indexes do not show a write at once. The same in all lives of an engine.
  EngineRates rates;
  std::array<milliseconds, kClasses> lag{};

 private:
  milliseconds draw_time(milliseconds most) {
    return milliseconds(static_cast<int64_t>(random_.below(static_cast<uint64_t>(most.count()) + 1)));
  }

  struct NextWrite {
    std::string table;
    Fault fault;
    milliseconds late_by;
  };

  Random random_;
  sim::Trace& trace_;
  std::optional<NextWrite> next_write_;
  std::optional<milliseconds> late_by_;  // That of the write whose fault was drawn last.
};

}  // namespace freshet::fleet_sim
