// The nodes of a run and their shared time and network: steps, lives, faults. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "runtime/loop/loop.h"
#include "tests/sim/fleet/engine_faults.h"
#include "tests/sim/fleet/fleet_node.h"
#include "tests/sim/fleet/fleet_plan.h"
#include "tests/sim/fleet/ledger.h"
#include "tests/sim/fleet/runs_judge.h"
#include "tests/sim/fleet/units_judge.h"
#include "tests/sim/machine/sim_network.h"
#include "tests/sim/machine/trace.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::fleet_sim {

inline constexpr uint16_t kEnginePort = 8000;
class Cluster {
 public:
  // `plan`, `trace`, `verdict` and `ledger` outlive it.
  Cluster(const FleetRunPlan& plan, sim::Trace& trace, sim::Verdict& verdict, Ledger& ledger);

  // Called with each member, before its first life. Set it before begin().
  std::function<void(FleetNode& member)> prepare = [](FleetNode&) {};
  // A member stands still for that time, or does not reach the engine.
  std::function<void(const std::string& node, milliseconds time)> cut_off = [](const std::string&, milliseconds) {};
  std::function<void(const std::string& node)> life_ended = [](const std::string&) {};
  void begin();
  void kill_all();
  // Everything that is to be done at this moment, or a jump to the next one.
  void step();
  bool goes_on() const { return !verdict_.is_broken(); }
  void go_for(milliseconds time);
  // False if that is not so by then.
  bool go_until(const std::function<bool()>& is_so, milliseconds within);

  // From now on, as often as the plan has them.
  void begin_faults();
  // All faults are over, and all nodes are up or on their way.
  void end_faults();
  // True if nothing went wrong in that time or shortly before.
  bool was_calm(BootTime from, BootTime to) const;

  BootTime now() const { return clock_.boot(); }
  Loop& outside() { return outside_; }
  IoThread& outside_io() { return *outside_io_; }
  const std::vector<uint16_t>& ports() const { return ports_; }
  const UnitsJudge& units() const { return units_; }
  RunsJudge& runs() { return runs_; }
  ShardTree& shards() { return shards_; }
  // The times at which the function of the schedule has begun, in order.
  const std::vector<BootTime>& scheduled() const { return scheduled_; }
  SimClock& clock() { return clock_; }
  EngineFaults& engine_faults() { return engine_faults_; }
  size_t members() const { return members_.size(); }
  FleetNode& member(size_t index) { return *members_[index].node; }
  FleetNode* member_named(const std::string& name);
  FleetNode& member_at(uint16_t port) { return *members_[static_cast<size_t>(port - ports_.front())].node; }
  void kill_member(FleetNode& node, milliseconds until_restart);
  void stop_member(FleetNode& node, milliseconds until_restart);
  // Kills it, and it comes again, at once, with a wall clock that is off by that.
  void restart_with_clock(FleetNode& node, milliseconds off);
  uint64_t steps() const { return steps_; }
  uint64_t lives() const { return lives_; }

 private:
  struct Member {
    std::unique_ptr<FleetNode> node;
    uint16_t port = 0;
    int folders = 1;
    milliseconds restart_in{0};             // After a life that ends by itself.
    uint64_t deaths = 0;                    // A restart belongs to one of them.
    std::optional<uint64_t> looks_at_turn;  // After a pause: the turns by which it has seen the time.
  };

  DaemonOptions engine_options() const;
  DaemonOptions member_options(size_t index, uint16_t port) const;
  void saw_log(const std::string& node, std::string_view line);
  void later(milliseconds after, std::function<void()> work);
  void run_later();
  void start(FleetNode& node);
  void start_member(Member& member);
  void restart_later(Member& member, milliseconds after);
  void look_at_ends();
  void look_at_pauses();
  bool turn_all();
  void pass(nanoseconds time) { clock_.advance(time); }
  BootTime next_event() const;
  void make_fault();
  void make_member_fault(const std::string& name, Member& member);
  void make_network_fault(const std::string& name);
  void make_engine_fault(const std::string& name);
  void set_lags();
  void shut(Member& member, bool engine, milliseconds time);
  void change_folder(Member& member);
  void plan_next_fault();
  void disturb(milliseconds time);
  void shake(milliseconds time, const std::string& node = "");
  milliseconds draw(int64_t least, int64_t most);
  Member* any_up();
  Member& entry(FleetNode& node);

  const FleetRunPlan& plan_;
  sim::Trace& trace_;
  sim::Verdict& verdict_;
  Ledger& ledger_;
  Random random_;
  SimClock clock_;
  sim::SimNetwork network_;
  UnitsJudge units_{verdict_};
  RunsJudge runs_;
  SimWaiter waiter_{clock_};
  NodeNetwork outside_network_{network_, 1};
  EngineFaults engine_faults_;
  ShardTree shards_{plan_.seed * 3'141'592'653 + 47, plan_.has_counts ? 2u : 1u, trace_};
  Loop outside_;
  std::unique_ptr<IoThread> outside_io_;
  std::unique_ptr<FleetNode> engine_;
  std::vector<Member> members_;
  std::vector<uint16_t> ports_;
  std::multimap<BootTime, std::function<void()>> later_;
  std::vector<std::pair<BootTime, BootTime>> disturbances_;
  std::map<uint64_t, std::string> leaders_;  // By term.
  std::vector<BootTime> scheduled_;
  BootTime next_fault_ = BootTime::max();
  bool faults_over_ = false;
  uint64_t steps_ = 0;
  uint64_t lives_ = 0;
  uint64_t idle_turns_ = 0;
};

}  // namespace freshet::fleet_sim
