// Judges that at most one running member serves a unit, at every step, from the members' logs. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::fleet_sim {

class UnitsJudge {
 public:
  explicit UnitsJudge(sim::Verdict& verdict) : verdict_(verdict) {}

  void started(const std::string& node, const std::string& unit, BootTime now);
  void stopped(const std::string& node, const std::string& unit, BootTime now);
  // SIGKILL, or the end of a drain.
  void died(const std::string& node, BootTime now);
  // A node that stands still serves nothing. It counts again once it has had the turns to see that its time is over.
  void paused(const std::string& node) { absent_.insert(node); }
  void resumed(const std::string& node);

  // Empty: nobody who runs.
  std::string owner(const std::string& unit) const;
  // True if one member served the unit in the whole of that time, from its start on.
  bool one_owner(const std::string& unit, BootTime from, BootTime to) const;
  // True if the node serves the unit, or did at some time from then on.
  bool served_since(const std::string& node, const std::string& unit, BootTime from) const;
  uint64_t starts() const { return starts_; }

 private:
  void look(const std::string& node, const std::string& unit);

  sim::Verdict& verdict_;
  std::map<std::string, std::set<std::string>> served_;  // By node.
  std::set<std::string> absent_;
  std::map<std::string, std::vector<BootTime>> changes_;             // Each unit's, in order.
  std::map<std::pair<std::string, std::string>, BootTime> stopped_;  // By node and unit.
  uint64_t starts_ = 0;
};

}  // namespace freshet::fleet_sim
