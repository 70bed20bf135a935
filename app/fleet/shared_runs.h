// Gives the tasks of this daemon's queues to the daemons of its fleet, this one included, so that each has equally many
// tasks of a queue in work. The queue's limits stay those of its own daemon: it takes, renews and settles the tasks.
//
// A daemon that cannot be reached, or refuses, has not begun, so the task goes to another one at once. If a daemon
// gives no answer, the task may still be in work there. Then it keeps its place until its time (TASK_TIMEOUT_MS) is
// over, and fails.
//
// Loop thread. Everything that it refers to must outlive it, and it must outlive every Async that it returned.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "app/fleet/member_calls.h"
#include "app/fleet/queue_units.h"
#include "functions/runners/run_sharing.h"

namespace freshet {

class SharedRuns final : public RunSharing {
 public:
  SharedRuns(QueueUnits& units, MemberCalls& calls) : units_(units), calls_(calls) {}
  SharedRuns(const SharedRuns&) = delete;
  SharedRuns& operator=(const SharedRuns&) = delete;

  Async<RunResult> run(RunOrder order, milliseconds timeout, Runner& here) override;
  size_t running() const;  // The tasks of this daemon's queues that run now,
  // and those of them that run on that member.
  size_t running_at(const std::string& member) const;

 private:
  class Running;

  // Null: run it here.
  const MemberBeat* choose(const std::string& queue) const;
  Async<std::optional<RunResult>> run_at(std::string member, std::string url, RunOrder order, milliseconds timeout);
  BootTime now() const { return units_.scheduler().clock().boot(); }

  QueueUnits& units_;
  MemberCalls& calls_;
  std::map<std::pair<std::string, std::string>, size_t> running_;  // By queue and member.
  std::map<std::string, BootTime> avoided_;                        // By member: until when it is not asked.
};

}  // namespace freshet
