// The plan of a run, drawn from its seed: its faults, clients and settings. Each seed draws its own mixture, so
// that rare combinations come together. Every part has a name, by which it can be left out: that is how a failing run
// is made smaller.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"

namespace freshet::sim {

struct Plan {
  uint64_t seed = 0;
  int lives = 1;
  milliseconds longest_life{20'000};
  // Per named part, how often: faults in a thousand seconds of simulated time, or clients of that kind. Parts that are
  // not there are absent.
  std::map<std::string, int> parts;

  int how_many(const std::string& part) const {
    const auto found = parts.find(part);
    return found == parts.end() ? 0 : found->second;
  }
  bool has(const std::string& part) const { return parts.contains(part); }
};

// `without`: parts that are left out; all else stays as the seed has it.
Plan draw_plan(uint64_t seed, const std::set<std::string>& without);
std::string to_string(const Plan& plan);

}  // namespace freshet::sim
