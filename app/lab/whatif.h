// Compares the results that other policies would have had on a recording. It plays windows of the recording through the
// real queue, under each policy and beside the clairvoyant: once with the recorded load, and then with loads that are
// resampled from it. docs/simulate.md, "What if". One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/lab/downstream_text.h"
#include "app/lab/policy.h"
#include "app/lab/trace.h"
#include "app/lab/whatif_figures.h"

namespace freshet::lab {

// Settings that differ from the policy in force, or one of the lab's policies.
struct Alternative {
  std::string name;
  Environment set = {};
  std::optional<Policy> policy = {};
};

struct WhatIfOptions {
  std::optional<nanoseconds> window;           // Empty: a minute, or less if the budget does not suffice for that.
  nanoseconds last = std::chrono::hours(366);  // As in windows_of().
  int resamples = 5;                           // From 0. With fewer than 2 there are no intervals.
  uint64_t seed = 1;
  nanoseconds budget = seconds(10);  // The CPU time, including the time spent before the call.
  DownstreamSpec downstream = {};    // Without a limiter, the calls that were refused are refused again.
  std::function<nanoseconds()> cpu_time;
  // The wall time, counted from `wall_time` 0, by which it must end even on a busy machine. Empty: no bound.
  std::optional<nanoseconds> within = {};
  std::function<nanoseconds()> wall_time = {};                                    // Set it with `within`.
  std::function<void(size_t done, size_t all)> progress = [](size_t, size_t) {};  // Counts windows.
};

struct SkippedWindow {
  WallTime from{};
  WallTime to{};
  std::string why;
};

struct WhatIf {
  WallTime from{};  // The bounds of all windows.
  WallTime to{};
  milliseconds window{0};
  std::vector<WallTime> played;  // The beginnings of the windows that were played, by time, as in the figures.
  std::vector<PlayCount> recorded;
  WhatIfFigures figures;               // The policy in force, then the alternatives.
  std::vector<SkippedWindow> skipped;  // By time; neighbours with the same reason are joined.
};

// kValidation if a setting is wrong or cannot be simulated, or if no window could be played, with the reasons. Windows
// are played in an order that spreads them over the recording, however many the budget suffices for.
Result<WhatIf> what_if(const Recording& recording, const std::vector<Alternative>& alternatives,
                       const WhatIfOptions& options);

// Returns the numbers 0 to count - 1 in an order of which any first part is spread evenly. The last one comes first.
std::vector<size_t> spread_order(size_t count);

// The assumptions, for people. The first sentence is about the behaviour of the downstream. `window`: the length of the
// windows that were played.
std::vector<std::string> assumptions_of(const Recording& recording, const std::vector<Alternative>& alternatives,
                                        const WhatIfOptions& options, milliseconds window);

}  // namespace freshet::lab
