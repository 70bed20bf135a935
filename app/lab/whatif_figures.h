// From counts of played windows to shares, intervals and regret. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace freshet::lab {

// One play of a window under one policy: of the tasks that count, those that were done in time.
struct PlayCount {
  uint64_t tasks = 0;
  uint64_t in_time = 0;
};

// All plays of one window. The first one of each policy is of the load as it was recorded, the others are of the load
// as chance might have had it, the n-th of each policy of the same load.
struct WindowPlays {
  std::vector<std::vector<PlayCount>> policies;  // The first one is the policy in force.
  std::vector<PlayCount> clairvoyant;
  PlayCount recorded;
};

// In percent. The bounds are of a 90 % interval.
struct Bounds {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct WindowShare {
  uint64_t tasks = 0;
  uint64_t in_time = 0;  // With the load as it was recorded.
  Bounds share;
  // The share of the best known, less this one. The best known of a play is what the best of all policies did and the
  // clairvoyant.
  Bounds regret;
};

struct PolicyShares {
  WindowShare all;
  std::vector<WindowShare> windows;
};

struct WhatIfFigures {
  std::vector<PolicyShares> policies;
  PolicyShares best_known;  // Its regret is 0.
  PlayCount recorded;
};

// Every window has a play of every policy, and the same number of plays. A share's interval is where that of a
// further load like this would lie: both loads are chance, so it is Student's distribution with twice the variance of
// the plays, wider by how far the play of the policy in force is from what was recorded.
WhatIfFigures figures_of(const std::vector<WindowPlays>& windows);

}  // namespace freshet::lab
