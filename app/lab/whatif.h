// Compares what other policies would have made of a recording: its windows go through the real queue, under each policy
// and beside the clairvoyant, as they were and as chance might have had them. docs/simulate.md, "What if". One thread.
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
  std::optional<nanoseconds> window;           // Empty: a minute, or less if the budget would not do for that.
  nanoseconds last = std::chrono::hours(366);  // As in windows_of().
  int resamples = 5;                           // From 0. With fewer than 2 there are no intervals.
  uint64_t seed = 1;
  nanoseconds budget = seconds(10);  // CPU time, with what was spent before the call.
  DownstreamSpec downstream = {};    // Without a limiter, the calls that were refused are refused again.
  std::function<nanoseconds()> cpu_time;
  // The time in which it shall end, on a busy machine too, since `wall_time` was 0. Empty: it takes its time.
  std::optional<nanoseconds> within = {};
  std::function<nanoseconds()> wall_time = {};                                    // Only with `within`.
  std::function<void(size_t done, size_t all)> progress = [](size_t, size_t) {};  // In windows.
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
  std::vector<SkippedWindow> skipped;  // By time; neighbours for the same reason are one.
};

// kValidation if a setting is wrong, or cannot be simulated; or if no window could be played, with the reasons. Windows
// are taken in an order that spreads those for which the budget does over the time.
Result<WhatIf> what_if(const Recording& recording, const std::vector<Alternative>& alternatives,
                       const WhatIfOptions& options);

// 0 to count - 1, so that the first ones of any number are spread evenly; the last one comes first.
std::vector<size_t> spread_order(size_t count);

// The assumptions, for people; the first sentence is about what the downstream would have done. `window`: the length of
// those that were played.
std::vector<std::string> assumptions_of(const Recording& recording, const std::vector<Alternative>& alternatives,
                                        const WhatIfOptions& options, milliseconds window);

}  // namespace freshet::lab
