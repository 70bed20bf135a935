#include "runtime/fleet/assignment.h"

#include <cstddef>

#include "base/points.h"

namespace freshet {

namespace {

using Members = std::map<std::string, std::set<std::string>>;

class Loads {
 public:
  Loads(const Members& members, UnitOwners& owners) : members_(members), owners_(owners) {
    for (const auto& [member, serves] : members) counts_[member] = 0;
    for (const auto& [unit, owner] : owners) ++counts_[owner];
  }

  void give(const std::string& unit) {
    const std::string* to = least_loaded(unit);
    if (!to) return;
    owners_[unit] = *to;
    ++counts_[*to];
  }
  // Moves one unit to a member that has at least two fewer; false if there is no such pair of members.
  bool level() {
    size_t widest = 1;
    std::string* moved = nullptr;
    const std::string* to = nullptr;
    for (const auto& [member, serves] : members_) {
      for (auto& [unit, owner] : owners_) {
        if (!serves.contains(unit) || counts_[owner] <= counts_[member] + widest) continue;
        widest = counts_[owner] - counts_[member];
        moved = &owner;
        to = &member;
      }
    }
    if (!moved) return false;
    --counts_[*moved];
    ++counts_[*to];
    *moved = *to;
    return true;
  }

 private:
  // The member with the fewest units among those that can serve it; the first by name of several.
  const std::string* least_loaded(const std::string& unit) const {
    const std::string* least = nullptr;
    for (const auto& [member, serves] : members_) {
      if (serves.contains(unit) && (!least || counts_.at(member) < counts_.at(*least))) least = &member;
    }
    return least;
  }
  const Members& members_;
  UnitOwners& owners_;
  std::map<std::string, size_t> counts_;
};

}  // namespace

UnitOwners assign_units(const Members& members, const UnitOwners& now) {
  UnitOwners out;
  std::set<std::string> homeless;
  for (const auto& [member, serves] : members) homeless.insert(serves.begin(), serves.end());
  for (const auto& [unit, owner] : now) {
    const auto member = members.find(owner);
    if (member == members.end() || !member->second.contains(unit)) continue;
    out.emplace(unit, owner);
    homeless.erase(unit);
  }
  Loads loads(members, out);
  for (const std::string& unit : homeless) loads.give(unit);
  while (!FRESHET_PLANTED("fleet-nothing-levelled") && loads.level()) {
  }
  return out;
}

}  // namespace freshet
