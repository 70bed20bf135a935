// Computes shares, intervals and regret from the counts of played windows. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace freshet::lab {

// The result of one play of a window under one policy: the tasks that count, and those of them that were done in time.
struct PlayCount {
  uint64_t tasks = 0;
  uint64_t in_time = 0;
};

// All plays of one window. The first play of each policy has the recorded load, the others have resampled loads. The
// n-th plays of all policies have the same load.
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
  uint64_t in_time = 0;  // With the recorded load.
  Bounds share;
  // The share of the best known result minus this share. The best known result of a play is the best one of all
  // policies and the clairvoyant.
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

// Every window must have the same number of plays of every policy. The interval of a share is a prediction interval for
// another load like this one. As both loads vary by chance, it is that of Student's distribution with twice the
// variance of the plays, widened by the difference between the play of the policy in force and the recorded result.
WhatIfFigures figures_of(const std::vector<WindowPlays>& windows);

}  // namespace freshet::lab
