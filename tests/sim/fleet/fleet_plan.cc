#include "tests/sim/fleet/fleet_plan.h"

#include "base/random.h"

namespace freshet::fleet_sim {

namespace {

struct FaultKind {
  const char* name;
  int chance;  // The number of seeds in a hundred that have it.
  int least;
  int most;
};

constexpr FaultKind kKinds[] = {
    {"kill", 50, 20, 120},         // A member dies and comes again.
    {"term", 40, 20, 100},         // A member gets SIGTERM and comes again.
    {"pause", 40, 20, 150},        // A member stands still for a while.
    {"cut", 30, 20, 200},          // Connections break.
    {"freeze", 25, 10, 100},       // Connections fall silent.
    {"refuse", 20, 10, 100},       // Connections are refused for a while.
    {"slow", 35, 20, 120},         // The network is slow for a while.
    {"no-engine", 35, 20, 120},    // A member does not reach the engine for a while.
    {"no-members", 40, 40, 250},   // A member does not reach the others for a while.
    {"engine-kill", 45, 30, 200},  // The engine dies and comes again.
    {"wrong-clock", 20, 10, 50},   // A member comes again with a clock that is off.
    {"slow-turns", 20, 20, 150},   // All stand still for a moment.
};

}  // namespace

FleetRunPlan draw_fleet_plan(uint64_t seed, const std::set<std::string>& without) {
  Random random(seed * 2'654'435'761 + 29);
  FleetRunPlan plan;
  plan.seed = seed;
  plan.members = 2 + static_cast<int>(random.below(3));
  plan.queues = {"QueueTable"};
  for (uint64_t i = random.below(3); i > 0; --i) plan.queues.push_back("Further" + std::to_string(i));
  plan.creators = 1 + static_cast<int>(random.below(3));
  plan.workers = 1 + static_cast<int>(random.below(4));
  plan.length = milliseconds(8'000 + static_cast<int64_t>(random.below(25'000)));
  const bool is_calm = random.below(8) == 0;
  for (const FaultKind& kind : kKinds) {
    const bool drawn = random.below(100) < static_cast<uint64_t>(kind.chance);
    const int rate = kind.least + static_cast<int>(random.below(static_cast<uint64_t>(kind.most - kind.least + 1)));
    if (drawn && !is_calm && !without.contains(kind.name)) plan.faults[kind.name] = rate;
  }
  return plan;
}

std::string to_string(const FleetRunPlan& plan) {
  std::string out = "seed " + std::to_string(plan.seed) + ": " + std::to_string(plan.members) + " members, " +
                    std::to_string(plan.queues.size()) + " queues, " + std::to_string(plan.creators) + " creators, " +
                    std::to_string(plan.workers) + " workers, " + std::to_string(plan.length.count()) + " ms;";
  for (const auto& [name, rate] : plan.faults) out += " " + name + " " + std::to_string(rate);
  return out;
}

}  // namespace freshet::fleet_sim
