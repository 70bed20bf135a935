// The clients of a simulated fleet, as people's programs behave: they ask any member, send again what got no answer,
// die with a lease, settle elsewhere than they took. Each is a coroutine that goes on until the run is over.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/random.h"
#include "tests/sim/fleet/changes_judge.h"
#include "tests/sim/fleet/events_judge.h"
#include "tests/sim/fleet/fleet_caller.h"
#include "tests/sim/fleet/fleet_plan.h"
#include "tests/sim/fleet/ledger.h"
#include "tests/sim/fleet/policy_judge.h"
#include "tests/sim/fleet/split_streams.h"
#include "tests/sim/fleet/topic_judge.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::fleet_sim {

// The things that all clients share. Outlives them.
struct FleetStage {
  FleetCaller& caller;
  const FleetRunPlan& plan;
  sim::Verdict& verdict;
  Ledger& ledger;
  ChangesJudge& changes;
  EventsJudge& events;
  TopicJudge& topic;
  PolicyJudge& policies;
  ShardTree& shards;                   // Those of the mapping's stream.
  const uint16_t engine;               // Its port.
  const std::vector<uint16_t>& ports;  // All members', dead or alive.
  const bool& calm;                    // Nothing new is created, and workers do their work well.
  int creators = 0;                    // That have not ended.
  bool resting = false;                // Workers take nothing.
  uint64_t operations = 0;
  uint64_t calls = 0;                            // Publishes.
  uint64_t policy_changes = 0;                   // That were sent.
  std::map<std::string, int64_t> versions = {};  // By item: the last one that was written.
};

Async<void> pause_for(FleetStage& stage, Random& random, milliseconds least, milliseconds most);

// The engine's tables of the queues that the members' template has not.
Async<void> make_tables(FleetStage& stage);
// Sent until it is answered, at one member after the other.
Async<void> create_task(FleetStage& stage, Random& random, std::string queue, std::string id);
Async<void> create_tasks(FleetStage& stage, Random random, std::string name);
// Creates tasks of the queue that all members share.
Async<void> create_runs(FleetStage& stage, Random random);
// Puts tasks into the engine's tables, as SDK clients do.
Async<void> put_tasks(FleetStage& stage, Random random, std::string name);
Async<void> work_on_tasks(FleetStage& stage, Random random, std::string name);
Async<void> look_around(FleetStage& stage, Random random);

// Reads the plan in the engine: it changes forward only.
Async<void> watch_plan(FleetStage& stage, Random random);

// Everything that the engine has of the queue's table. False if it does not answer.
Async<bool> scan_table(FleetStage& stage, std::string table, std::map<std::string, StoredTask>& into);

}  // namespace freshet::fleet_sim
