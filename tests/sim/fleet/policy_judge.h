// Judges changes of a queue's policy, as docs/fleet.md promises them ("Changes of a queue's policy"): an acknowledged
// one holds, whoever serves the queue, until a newer one. No two changes of a setting have the same value. One thread.
//
// A change without a good answer may hold from when it was sent on, or some time later, or never.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::fleet_sim {

class PolicyJudge {
 public:
  explicit PolicyJudge(sim::Verdict& verdict) : verdict_(verdict) {}

  // A client changes a setting of a queue, and knows later what became of it.
  void sent(const std::string& queue, const std::string& setting, const std::string& value, BootTime now);
  void done(const std::string& queue, const std::string& setting, const std::string& value, BootTime now);
  void unknown(const std::string& queue, const std::string& setting, const std::string& value, BootTime now);
  // A daemon stands still in that time. Until it has found out that others serve its queues, it may answer as before.
  void shaken(BootTime from, BootTime to) { shakes_.emplace_back(from, to); }
  // A client has read the setting.
  void read(const std::string& queue, const std::string& setting, const std::string& value, BootTime sent,
            BootTime answered);

  // How often an acknowledged change was found to hold.
  uint64_t checks() const { return checks_; }

 private:
  struct Change {
    std::string value;
    BootTime sent{};
    // By then it holds: it is acknowledged, or was read.
    std::optional<BootTime> holds{};
    BootTime ends = BootTime::max();  // Then it holds, or never will.
  };
  using Changes = std::vector<Change>;  // In the order in which they were sent. The first one is the template's.

  Change& find(const std::string& queue, const std::string& setting, const std::string& value);

  sim::Verdict& verdict_;
  std::map<std::pair<std::string, std::string>, Changes> changes_;
  std::vector<std::pair<BootTime, BootTime>> shakes_;
  uint64_t checks_ = 0;
};

}  // namespace freshet::fleet_sim
