// Judges the runs of a queue's tasks on all members, as docs/fleet.md promises them ("Tasks run on all daemons"): no
// more than CONCURRENCY are in work at once, also through changes of owner, and no task is in work twice at once. One
// thread.
//
// A member that opens a queue starts runs for it. The prefix of a run's lease names the opening. The runs of one
// opening never exceed the limit, whatever happens. Runs of former openings count, too. The exception is a run on a
// daemon that is cut off, or was a moment ago: it cannot know that the queue has another owner by now. An owner that
// was killed while others could not hear from it, and starts again, has a second until they know of its new life; any
// other that was killed has a tenth.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::fleet_sim {

class RunsJudge {
 public:
  // The verdict outlives it. `limit`: the queue's CONCURRENCY.
  RunsJudge(sim::Verdict& verdict, int limit) : verdict_(verdict), limit_(static_cast<size_t>(limit)) {}

  // The member of that id begins a life on the node.
  void life_begins(const std::string& member, const std::string& node, BootTime now) {
    nodes_[member] = node;
    lives_[node] = now;
  }
  // The node may be cut off in that time. Empty: all may be.
  void shaken(BootTime from, BootTime to, const std::string& node) { shakes_.push_back({from, to, node, false}); }
  // The node and the other members do not hear from each other in that time; they reach the engine.
  void silenced(BootTime from, BootTime to, const std::string& node) { shakes_.push_back({from, to, node, true}); }
  // The node, and what it does, stands still until then.
  void absent(const std::string& node, BootTime until) { absent_until_[node] = until; }

  // A program begins to work on a task, under that lease; the result names the run.
  uint64_t began(const std::string& node, const std::string& task, const std::string& lease, BootTime now);
  // It has ended, or was ended. `well`: it has done its work.
  void ended(uint64_t run, bool well);
  void look(BootTime now);

  // How often the task has begun, and whether a run of it has done its work.
  size_t starts(const std::string& task) const;
  bool is_done(const std::string& task) const;
  // Runs in work; those that are not on the member that has given them.
  size_t live() const { return live_.size(); }
  size_t elsewhere() const;
  // The most in work at once, and the nodes with a run, since then.
  void count_anew();
  size_t most() const { return most_; }
  const std::map<std::string, size_t>& starts_by_node() const { return by_node_; }
  uint64_t checks() const { return checks_; }  // Looks at runs of several openings, with all of them counted.

 private:
  struct Run {
    std::string node;
    std::string giver;  // An opening.
    std::string giver_node;
    std::string task;
    BootTime began{};
  };
  struct Shake {
    BootTime from;
    BootTime to;
    std::string node;
    bool is_silence;
  };
  struct Task {
    size_t starts = 0;
    bool done = false;
  };

  bool is_absent(const std::string& node, BootTime now) const;
  bool is_excused(const Run& run, BootTime now) const;
  void judge_twice(const Run& run, BootTime now);
  std::string all_live(BootTime now) const;

  sim::Verdict& verdict_;
  const size_t limit_;
  std::map<std::string, std::string> nodes_;  // By member.
  std::map<std::string, BootTime> lives_;     // By node: when its newest one began.
  std::vector<Shake> shakes_;
  std::map<std::string, BootTime> absent_until_;
  std::map<uint64_t, Run> live_;  // By number, which rises.
  std::map<std::string, Task> tasks_;
  std::map<std::string, size_t> by_node_;
  size_t most_ = 0;
  uint64_t last_ = 0;
  uint64_t checks_ = 0;
};

}  // namespace freshet::fleet_sim
