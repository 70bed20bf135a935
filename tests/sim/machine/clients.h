// The clients of a simulation, as people's programs behave: they retry, give up, die with a lease, read stale pages.
// Each is a coroutine that goes on until the run is over.
#pragma once

#include <functional>
#include <string>

#include "base/async.h"
#include "base/random.h"
#include "tests/sim/machine/caller.h"
#include "tests/sim/machine/judge_items.h"
#include "tests/sim/machine/judge_priority.h"
#include "tests/sim/machine/judge_tasks.h"
#include "tests/sim/machine/plan.h"

namespace freshet::sim {

// What clients share. Outlives them.
struct Stage {
  Caller& caller;
  const Plan& plan;
  ItemsJudge& items;
  TasksJudge& tasks;
  PriorityJudge& priority;
  Verdict& verdict;
  const bool& calm;          // Faults are over: tasks are done, nothing new is made.
  std::string runner;        // TaskRunner of the template.
  bool all_is_read = false;  // Nothing changes any more: who follows the stream comes to its end.
  uint64_t operations = 0;
};

// Waits for a time within the two, drawn from `random`.
Async<void> rest(Stage& stage, Random& random, milliseconds least, milliseconds most);

// The item store. `name` makes each client's items its own; the clients make the table themselves.
Async<void> make_items_table(Stage& stage);
Async<void> write_registers(Stage& stage, Random random, std::string name);
Async<void> write_pairs(Stage& stage, Random random, std::string name);
Async<void> count_up(Stage& stage, Random random, std::string name);
// Items that come and go: what was deleted does not come back.
Async<void> put_and_delete(Stage& stage, Random random, std::string name);
// Until the end, and then all that is left.
Async<void> follow_stream(Stage& stage, Random random);
// Reads every item once. For the end.
Async<void> read_all_items(Stage& stage);

// The queue.
Async<void> produce_tasks(Stage& stage, Random random, std::string name);
Async<void> work_on_tasks(Stage& stage, Random random, std::string name);
Async<void> look_at_queue(Stage& stage, Random random);
Async<void> cancel_tasks(Stage& stage, Random random);
// Hands on it, and on the store.
Async<void> change_policy(Stage& stage, Random random);
Async<void> deploy_again(Stage& stage, Random random);
Async<void> redrive_tasks(Stage& stage, Random random);
// The whole queue is paused for a while, again and again, and resumed in the end.
Async<void> pause_queue(Stage& stage, Random random);
// Jobs take away what has ended.
Async<void> purge_ended(Stage& stage, Random random);
Async<void> make_backups(Stage& stage, Random random);

// A priority queue.
Async<void> fill_priority_queue(Stage& stage, Random random, std::string name);
Async<void> work_on_priority_queue(Stage& stage, Random random, std::string name);
// True once nothing waits or is in flight; then all records were judged.
Async<bool> judge_priority_rest(Stage& stage);

// True once nothing is PENDING, TAKEN or DELAYED; then the tasks were judged as being at rest.
Async<bool> judge_rest(Stage& stage);

}  // namespace freshet::sim
