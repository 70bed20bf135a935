// Counts how a queue's tasks end: in time or not, which attempts were wasted, how the downstream refuses, and how long
// tasks take. Counts cover the time since the start of the daemon, and the last minute. Pure state with an explicit
// now. Loop thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "functions/refusal.h"
#include "runtime/api/in_time.h"

namespace freshet {

enum class TaskEnd : uint8_t { kInTime, kNoDeadline, kLate, kFailed, kShed };
inline constexpr size_t kTaskEnds = 5;
inline constexpr std::array<std::string_view, kTaskEnds> kTaskEndNames = {"in-time", "no-deadline", "late", "failed",
                                                                          "shed"};

// Why the result of an attempt was of no use.
enum class WastedCall : uint8_t {
  kFailed,      // The attempt failed, or ended with the daemon's processor.
  kLate,        // The attempt succeeded after the task's deadline.
  kBounced,     // The downstream refused the task or gave it back.
  kCancelled,   // The task was cancelled or replaced meanwhile.
  kLeaseEnded,  // The lease ended.
  kLost,        // A client took the task away, or deleted it.
};
inline constexpr size_t kWastedCalls = 6;
inline constexpr std::array<std::string_view, kWastedCalls> kWastedCallNames = {"failed",    "late",        "bounced",
                                                                                "cancelled", "lease-ended", "lost"};

// A histogram of durations with fixed buckets.
class Durations {
 public:
  static constexpr std::array kBounds = {
      std::chrono::microseconds(500),           std::chrono::microseconds(1'000),
      std::chrono::microseconds(2'500),         std::chrono::microseconds(5'000),
      std::chrono::microseconds(10'000),        std::chrono::microseconds(25'000),
      std::chrono::microseconds(50'000),        std::chrono::microseconds(100'000),
      std::chrono::microseconds(250'000),       std::chrono::microseconds(500'000),
      std::chrono::microseconds(1'000'000),     std::chrono::microseconds(2'500'000),
      std::chrono::microseconds(5'000'000),     std::chrono::microseconds(10'000'000),
      std::chrono::microseconds(30'000'000),    std::chrono::microseconds(60'000'000),
      std::chrono::microseconds(300'000'000),   std::chrono::microseconds(1'800'000'000),
      std::chrono::microseconds(7'200'000'000), std::chrono::microseconds(86'400'000'000)};

  // A duration below 0 counts as 0.
  void add(nanoseconds took) {
    took = std::max(took, nanoseconds(0));
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), took);
    ++counts_[static_cast<size_t>(bound - kBounds.begin())];
    sum_ += static_cast<double>(took.count()) / 1e9;
  }
  // The number of durations above kBounds[i - 1] and up to kBounds[i]; i == kBounds.size(): above the last bound.
  uint64_t bucket(size_t i) const { return counts_[i]; }
  double sum_seconds() const { return sum_; }

 private:
  std::array<uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

class Punctuality {
 public:
  static constexpr int64_t kWindow = 60;  // In seconds of the boot clock, including the current one.

  void ended(TaskEnd how, BootTime now, uint64_t tasks = 1);
  void put_back(TaskEnd how);  // A task that had ended so was redriven.
  void refused(uint64_t tasks, BootTime now);
  void called(BootTime now);
  void wasted(WastedCall why, BootTime now);
  void refused_by_downstream(DownstreamRefusal how) { ++refusals_[static_cast<size_t>(how)]; }
  // From the creation of a task to the end of its work.
  void completed_after(nanoseconds time) { completion_.add(time); }
  // The time that an attempt took the handler or worker. Only for attempts that ended by themselves.
  void worked(nanoseconds time) { work_.add(time); }

  InTimeStats stats(BootTime now) const;
  // The counts of the seconds that began after `since`, of the last minute at most.
  InTimeCounts counts_after(BootTime since, BootTime now) const;
  uint64_t ends(TaskEnd how) const { return ends_[static_cast<size_t>(how)]; }
  uint64_t wastes(WastedCall why) const { return wastes_[static_cast<size_t>(why)]; }
  uint64_t downstream_refusals(DownstreamRefusal how) const { return refusals_[static_cast<size_t>(how)]; }
  const Durations& completion() const { return completion_; }
  const Durations& work() const { return work_; }

 private:
  struct Second {
    int64_t number = -1;  // Whole seconds of the boot clock.
    InTimeCounts counts;
  };
  InTimeCounts& of_second(BootTime now);

  InTimeCounts total_;
  InTimeCounts put_back_;
  std::array<Second, kWindow> seconds_{};
  std::array<uint64_t, kTaskEnds> ends_{};
  std::array<uint64_t, kWastedCalls> wastes_{};
  std::array<uint64_t, kRefusals> refusals_{};
  Durations completion_;
  Durations work_;
};

}  // namespace freshet
