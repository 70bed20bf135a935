// Gives the tasks of this daemon's queues to the daemons of its fleet, this one included: each task to the one with the
// fewest tasks of its queue in work. The queue's limits stay those of its own daemon, which takes, renews and settles
// the tasks.
//
// A daemon that cannot be reached, refuses, or has no room has not begun, so the task goes to another one at once. If a
// daemon gives no answer, the task may still be in work there. Then it counts as running until its timeout
// (TASK_TIMEOUT_MS; a few seconds more if the daemon is silent), and fails. `answered` is false then.
//
// Loop thread. Everything that it refers to must outlive it, and it must outlive every Async that it returned. Once the
// units are gone, its Asyncs may only be destroyed.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "app/fleet/member_calls.h"
#include "app/fleet/queue_units.h"
#include "base/log.h"
#include "functions/runners/run_sharing.h"

namespace freshet {

class SharedRuns final : public RunSharing {
 public:
  SharedRuns(QueueUnits& units, MemberCalls& calls, EventLog log) : units_(units), calls_(calls), log_(log) {}
  SharedRuns(const SharedRuns&) = delete;
  SharedRuns& operator=(const SharedRuns&) = delete;

  Async<RunResult> run(RunOrder order, milliseconds timeout, Runner& here) override;
  // Tasks of this daemon's queues that are running.
  size_t running() const;
  // Those of them that run on `member`.
  size_t running_at(const std::string& member) const;

 private:
  class Running;
  using Key = std::pair<std::string, std::string>;  // Queue and member.

  // The member to ask, or null to run the task here.
  const MemberBeat* choose(const std::string& queue, const std::set<std::string>& tried) const;
  Async<bool> is_reached(Key key, std::string url, std::string function);
  // Returns nothing if the member did not begin. `stays`: set if no other member would begin either.
  Async<std::optional<RunResult>> run_at(std::string member, std::string url, RunOrder order, milliseconds timeout,
                                         bool& stays);
  void avoid(const Key& key, nanoseconds time, const std::string& function, const std::string& why);
  BootTime now() const { return units_.scheduler().clock().boot(); }

  QueueUnits& units_;
  MemberCalls& calls_;
  const EventLog log_;
  std::map<Key, size_t> running_;
  std::map<std::string, BootTime> reached_;  // By member: when it last answered.
  std::map<Key, BootTime> avoided_;          // Until when it is not asked.
  std::map<Key, BootTime> logged_;           // When it was last logged that it is not asked.
};

}  // namespace freshet
