// The cost of a task, in the unit that a limit counts: tokens, rows.
#pragma once

namespace freshet {

inline constexpr double kLeastCost = 1e-6;
inline constexpr double kMostCost = 1e9;
inline constexpr const char* kCostRange = "a number above 0, from 0.000001 to 1000000000";

inline bool is_cost(double cost) {
  return cost >= kLeastCost && cost <= kMostCost;
}

}  // namespace freshet
