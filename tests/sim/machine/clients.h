// The clients of a simulation, as people's programs behave: they retry, give up, die with a lease, read stale pages.
// Each is a coroutine that goes on until the run is over.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/async.h"
#include "base/random.h"
#include "tests/sim/machine/caller.h"
#include "tests/sim/machine/judge_destinations.h"
#include "tests/sim/machine/judge_events.h"
#include "tests/sim/machine/judge_fifo.h"
#include "tests/sim/machine/judge_filtered.h"
#include "tests/sim/machine/judge_items.h"
#include "tests/sim/machine/judge_ordered.h"
#include "tests/sim/machine/judge_priority.h"
#include "tests/sim/machine/judge_tasks.h"
#include "tests/sim/machine/plan.h"

namespace freshet::sim {

struct Judges {
  // `start`: what the wall clock shows when the run begins.
  Judges(Verdict& verdict, WallTime start)
      : wall(start),
        items(verdict),
        tasks(verdict, wall),
        priority(verdict, wall),
        strict(verdict, wall),
        filtered(verdict),
        ordered(verdict),
        events(verdict),
        fifo(verdict, wall),
        destinations(verdict, wall) {
    strict.expect_one_at_a_time();
  }
  void clock_stepped(milliseconds by, BootTime now) {
    wall.stepped(now, by);
    events.clock_stepped(by);
    tasks.clock_stepped(by, now);
  }
  void life_begins(BootTime now) {
    tasks.life_begins(now);
    filtered.life_begins();
    events.life_begins();
    fifo.life_begins();
    destinations.life_begins();
    wall.life_begins(now);
  }
  WallHistory wall;
  ItemsJudge items;
  TasksJudge tasks;
  PriorityJudge priority;
  PriorityJudge strict;
  FilteredJudge filtered;
  OrderedJudge ordered;
  EventsJudge events;
  FifoJudge fifo;
  DestinationsJudge destinations;
};

// The things that all clients share. Outlives them.
struct Stage {
  Stage(Caller& all_call, const Plan& whole, Judges& judges, Verdict& broken, const bool& faults_are_over,
        std::string task_runner)
      : caller(all_call),
        plan(whole),
        wall(judges.wall),
        items(judges.items),
        tasks(judges.tasks),
        priority(judges.priority),
        strict(judges.strict),
        filtered(judges.filtered),
        ordered(judges.ordered),
        events(judges.events),
        fifo(judges.fifo),
        destinations(judges.destinations),
        verdict(broken),
        calm(faults_are_over),
        runner(std::move(task_runner)) {}
  Caller& caller;
  const Plan& plan;
  const WallHistory& wall;
  ItemsJudge& items;
  TasksJudge& tasks;
  PriorityJudge& priority;
  PriorityJudge& strict;
  FilteredJudge& filtered;
  OrderedJudge& ordered;
  EventsJudge& events;
  FifoJudge& fifo;
  DestinationsJudge& destinations;
  Verdict& verdict;
  const bool& calm;          // Faults are over: tasks are done, nothing new is made.
  std::string runner;        // TaskRunner of the template.
  int writers = 0;           // Clients of items that have not ended.
  bool all_is_read = false;  // Nothing changes any more: who follows the stream comes to its end.
  bool foreign_items_gone = false;
  int at_filtered_queues = 0;  // Clients.
  int slow_readers = 0;        // Those that have not read everything once more.
  BootTime last_fault{};
  uint64_t operations = 0;
};

// Waits for a time within the two, drawn from `random`.
Async<void> rest(Stage& stage, Random& random, milliseconds least, milliseconds most);

// The item store. `name` makes each client's items its own; the clients make the table themselves.
Async<void> make_items_table(Stage& stage);
Async<void> write_registers(Stage& stage, Random random, std::string name);
Async<void> write_pairs(Stage& stage, Random random, std::string name);
// Transactions that are sent again after up to a minute: nothing is done twice.
Async<void> repeat_transactions_late(Stage& stage, Random random);
// Values so large that a few fill a segment of the log. Some transactions need a segment of their own.
Async<void> write_huge_values(Stage& stage, Random random);
Async<void> count_up(Stage& stage, Random random, std::string name);
// Items that come and go: what was deleted does not come back.
Async<void> put_and_delete(Stage& stage, Random random, std::string name);
// Until the end, and then all that is left.
Async<void> follow_stream(Stage& stage, Random random);
// An event of a function shows changes: what it has shown stays.
void judge_event(Stage& stage, const nlohmann::json& event);
// Large answers over a slow line, until the end, and then once more.
Async<void> read_slowly(Stage& stage, Random random);
// Reads every item once. For the end.
Async<void> read_all_items(Stage& stage);

// The queue.
Async<void> produce_tasks(Stage& stage, Random random, std::string name);
// Tasks of a key that are as large as a batch of the log. Each replaces the one before.
Async<void> replace_heavy_tasks(Stage& stage, Random random);
// Small ones, each sent until it is answered: a daemon may die before it has ended the one that is replaced.
Async<void> replace_tasks(Stage& stage, Random random, std::string name);
// Creates that are sent again after their deadline.
Async<void> repeat_creates_late(Stage& stage, Random random);
Async<void> work_on_tasks(Stage& stage, Random random, std::string name);
// A worker that sends a heartbeat, and forgets its task then.
Async<void> hold_tasks(Stage& stage, Random random);
// A worker whose heartbeats come when the lease is about to end.
Async<void> beat_late(Stage& stage, Random random);
Async<void> look_at_queue(Stage& stage, Random random);
Async<void> cancel_tasks(Stage& stage, Random random);
// Tasks that have just been created: a take may be about to claim them.
Async<void> cancel_new_tasks(Stage& stage, Random random);
// Hands on it, and on the store.
Async<void> change_policy(Stage& stage, Random random);
Async<void> deploy_again(Stage& stage, Random random);
Async<void> redrive_tasks(Stage& stage, Random random);
// The whole queue is paused for a while, again and again, and resumed in the end.
Async<void> pause_queue(Stage& stage, Random random);
// Jobs take away what has ended.
Async<void> purge_ended(Stage& stage, Random random);
Async<void> run_delayed_tasks(Stage& stage, Random random);
Async<void> make_backups(Stage& stage, Random random);
// Somebody drops an index that the queue needs.
Async<void> drop_indexes(Stage& stage, Random random);

// Tasks of a released version that are delayed for a year.
Async<void> cancel_old_delays(Stage& stage, Random random);

// A priority queue: its routes, and who judges it.
struct PriorityPlace {
  std::string routes;
  PriorityJudge& judge;
};
Async<void> fill_priority_queue(Stage& stage, Random random, std::string name, PriorityPlace place);
Async<void> work_on_priority_queue(Stage& stage, Random random, PriorityPlace place);
// A consumer that extends the timeout of what it has.
Async<void> hold_priority_records(Stage& stage, Random random, PriorityPlace place);
// Hands on the queue: records to the end, another rank, cancelled, out of the dead-letter queue.
Async<void> operate_on_priority_queue(Stage& stage, Random random, PriorityPlace place);
// Items of the queue's table that are no records, among those that wait.
Async<void> leave_unreadable_records(Stage& stage, Random random);
// True once nothing waits or is in flight; then all records were judged.
Async<bool> judge_priority_rest(Stage& stage, PriorityPlace place);

// Two filtered queues that share their members.
Async<void> staff_filtered_queues(Stage& stage, Random random, std::string name);
Async<void> call_filtered_queues(Stage& stage, Random random, std::string name);
Async<void> leave_foreign_items(Stage& stage, Random random);
// True once all was counted again, and everybody who waited has been given out.
Async<bool> judge_filtered_rest(Stage& stage);

// Ordered writes.
Async<void> write_in_order(Stage& stage, Random random, std::string name);
// Reads an item and judges it. False without an answer.
Async<bool> read_in_order(Stage& stage, std::string key);
Async<bool> judge_ordered_rest(Stage& stage);

// Events of a function, by calls and by a topic.
Async<void> send_events(Stage& stage, Random random, std::string name);
// Messages of a FIFO topic, in a few groups of its own.
Async<void> publish_orders(Stage& stage, Random random, std::string name);
// Events of a function that has destinations and a dead-letter topic.
Async<void> send_sources(Stage& stage, Random random, std::string name);
// True if no event of that function waits or runs.
Async<bool> is_idle(Stage& stage, std::string function);
// True once no event waits or runs; then all were judged.
Async<bool> judge_events_rest(Stage& stage);
Async<bool> judge_orders_rest(Stage& stage);
Async<bool> judge_sources_rest(Stage& stage);

// True once nothing is PENDING, TAKEN or DELAYED; then the tasks were judged as being at rest.
Async<bool> judge_rest(Stage& stage);

}  // namespace freshet::sim
