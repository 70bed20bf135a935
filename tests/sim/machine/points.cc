#include "tests/sim/machine/points.h"

#include <algorithm>

#include "base/check.h"
#include "base/points.h"
#include "base/random.h"

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

struct Commonness {
  bool there = false;
  uint64_t one_in = 1;
};

std::map<std::string, Commonness>& common() {
  static std::map<std::string, Commonness> all;
  return all;
}

Random& draws() {
  static Random random(0);
  return random;
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

const bool& points::often(const char* name) {
  const auto& all = sim::rare_branches();
  const bool listed =
      std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == std::string(name); });
  FRESHET_CHECK(listed, "tests/sim/machine/often.cc lists each rare branch");
  return common()[name].there;
}

bool points::drawn(const char* name) {
  if (draws().below(common()[name].one_in) != 0) return false;
  ++counter(name);
  return true;
}

namespace sim {

void make_common(std::optional<uint64_t> seed) {
  draws() = Random(seed.value_or(0));
  for (const RareBranch& branch : rare_branches()) {
    const bool there = draws().below(3) > 0;
    common()[branch.name] = {there && seed.has_value(), 2 + draws().below(40)};
  }
}

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
