#include "runtime/fleet/load.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace freshet {

int LoadMeter::next(nanoseconds busy, BootTime now) {
  const double passed = std::chrono::duration<double>(now - at_).count();
  if (passed <= 0) return static_cast<int>(std::lround(load_));
  const double worked = std::chrono::duration<double>(busy - busy_).count();
  const double share = std::clamp(worked / passed, 0.0, 1.0) * 100;
  const double kept = std::exp(-passed / std::chrono::duration<double>(kMemory).count());
  load_ = load_ * kept + share * (1 - kept);
  busy_ = busy;
  at_ = now;
  return static_cast<int>(std::lround(load_));
}

bool is_own_unit(const std::string& unit, const std::string& member) {
  const size_t slash = unit.find('/');
  return slash != std::string::npos && std::string_view(unit).substr(slash + 1) == member;
}

size_t daemons_wanted(const std::vector<int>& loads, size_t units) {
  const int sum = std::accumulate(loads.begin(), loads.end(), 0);
  const auto wanted = static_cast<size_t>((sum + kFullLoad - 1) / kFullLoad);
  return std::clamp<size_t>(wanted, 1, std::max<size_t>(units, 1));
}

size_t daemons_wanted(const FleetCore& fleet) {
  std::vector<int> loads;
  for (const auto& [id, member] : fleet.view().members) {
    if (fleet.is_alive(id) && !member.leaving) loads.push_back(member.load);
  }
  const auto is_shared = [](const auto& unit) { return !is_own_unit(unit.first, unit.second); };
  const auto* plan = fleet.view().plan ? &*fleet.view().plan : nullptr;
  const auto units = plan ? std::count_if(plan->owners.begin(), plan->owners.end(), is_shared) : 0;
  return daemons_wanted(loads, static_cast<size_t>(units));
}

}  // namespace freshet
