#include "tests/sim/fleet/units_judge.h"

#include <algorithm>

namespace freshet::fleet_sim {

void UnitsJudge::look(const std::string& node, const std::string& unit) {
  if (absent_.contains(node)) return;
  for (const auto& [other, units] : served_) {
    if (other == node || absent_.contains(other) || !units.contains(unit)) continue;
    verdict_.broken("two members serve one unit", unit + ": " + other + " and " + node);
  }
}

void UnitsJudge::started(const std::string& node, const std::string& unit, BootTime now) {
  ++starts_;
  served_[node].insert(unit);
  changes_[unit].push_back(now);
  look(node, unit);
}

void UnitsJudge::stopped(const std::string& node, const std::string& unit, BootTime now) {
  served_[node].erase(unit);
  changes_[unit].push_back(now);
  stopped_[{node, unit}] = now;
}

void UnitsJudge::died(const std::string& node, BootTime now) {
  for (const std::string& unit : served_[node]) changes_[unit].push_back(now);
  served_.erase(node);
  absent_.erase(node);
}

void UnitsJudge::resumed(const std::string& node) {
  if (absent_.erase(node) == 0) return;
  for (const std::string& unit : served_[node]) look(node, unit);
}

std::string UnitsJudge::owner(const std::string& unit) const {
  for (const auto& [node, units] : served_) {
    if (units.contains(unit) && !absent_.contains(node)) return node;
  }
  return {};
}

bool UnitsJudge::served_since(const std::string& node, const std::string& unit, BootTime from) const {
  const auto served = served_.find(node);
  if (served != served_.end() && served->second.contains(unit)) return true;
  const auto stopped = stopped_.find({node, unit});
  return stopped != stopped_.end() && stopped->second >= from;
}

bool UnitsJudge::one_owner(const std::string& unit, BootTime from, BootTime to) const {
  const auto found = changes_.find(unit);
  if (found == changes_.end()) return false;
  const auto next = std::lower_bound(found->second.begin(), found->second.end(), from);
  return next != found->second.begin() && (next == found->second.end() || *next > to);
}

}  // namespace freshet::fleet_sim
