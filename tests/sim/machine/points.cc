#include "tests/sim/machine/points.h"

#include <algorithm>

#include "base/points.h"

namespace freshet {

namespace {

// Nodes of a map stay where they are.
std::map<std::string, uint64_t>& counters() {
  static std::map<std::string, uint64_t> all;
  return all;
}

std::map<std::string, bool>& switches() {
  static std::map<std::string, bool> all;
  return all;
}

std::string& wanted() {
  static std::string name;
  return name;
}

}  // namespace

uint64_t& points::counter(const char* name) {
  return counters()[name];
}

const bool& points::planted(const char* name) {
  return switches().try_emplace(name, name == wanted()).first->second;
}

namespace sim {

bool plant(const std::string& name) {
  const auto& all = planted_faults();
  const bool known = std::any_of(all.begin(), all.end(), [&](const PlantedFault& one) { return name == one.name; });
  wanted() = name;
  for (auto& [each, on] : switches()) on = each == name;
  return known || name.empty();
}

bool planted_was_met() {
  return switches().contains(wanted());
}

std::map<std::string, uint64_t> take_reached() {
  std::map<std::string, uint64_t> taken;
  for (auto& [name, count] : counters()) {
    if (count > 0) taken[name] = count;
    count = 0;
  }
  return taken;
}

}  // namespace sim
}  // namespace freshet
