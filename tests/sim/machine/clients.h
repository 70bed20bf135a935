// The clients of a simulation. They behave like real programs: they retry, give up, die while they hold a lease, read
// stale pages. Each is a coroutine that runs until the run is over.
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
  // `start`: the wall time at which the run begins.
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

// The objects that all clients share. Must outlive them.
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
  const bool& calm;          // True once faults are over: remaining tasks are done, and nothing new is created.
  std::string runner;        // TaskRunner of the template.
  int writers = 0;           // The number of running clients that write items.
  bool all_is_read = false;  // True once nothing changes any more: readers of the stream read to its end.
  bool foreign_items_gone = false;
  int at_filtered_queues = 0;  // The number of clients at filtered queues.
  int slow_readers = 0;        // The number of slow readers that have not read everything once more.
  BootTime last_fault{};
  uint64_t operations = 0;
};

// Waits for a time between `least` and `most`, drawn from `random`.
Async<void> rest(Stage& stage, Random& random, milliseconds least, milliseconds most);

// Clients of the item store. `name` gives each client items of its own; the clients create the table themselves.
Async<void> make_items_table(Stage& stage);
Async<void> write_registers(Stage& stage, Random random, std::string name);
Async<void> write_pairs(Stage& stage, Random random, std::string name);
// Sends transactions again after up to a minute: nothing may be done twice.
Async<void> repeat_transactions_late(Stage& stage, Random random);
// Writes values so large that a few fill a segment of the log. Some transactions need a segment of their own.
Async<void> write_huge_values(Stage& stage, Random random);
Async<void> count_up(Stage& stage, Random random, std::string name);
// Creates and deletes items: a deleted item must not come back.
Async<void> put_and_delete(Stage& stage, Random random, std::string name);
// Reads the stream until the end of the run, and then the rest of it.
Async<void> follow_stream(Stage& stage, Random random);
// Judges the changes in a function's event: they must stay.
void judge_event(Stage& stage, const nlohmann::json& event);
// Reads large answers over a slow line until the end of the run, and then once more.
Async<void> read_slowly(Stage& stage, Random random);
// Reads every item once, at the end.
Async<void> read_all_items(Stage& stage);

// Clients of the queue.
Async<void> produce_tasks(Stage& stage, Random random, std::string name);
// Creates tasks of one key that are as large as a batch of the log. Each replaces the one before.
Async<void> replace_heavy_tasks(Stage& stage, Random random);
// The same with small tasks. Each is sent until it is answered: a daemon may die before it has ended the replaced task.
Async<void> replace_tasks(Stage& stage, Random random, std::string name);
// Sends creates again after their deadline.
Async<void> repeat_creates_late(Stage& stage, Random random);
Async<void> work_on_tasks(Stage& stage, Random random, std::string name);
// A worker that sends one heartbeat and then forgets its task.
Async<void> hold_tasks(Stage& stage, Random random);
// A worker that sends its heartbeats just before the lease ends.
Async<void> beat_late(Stage& stage, Random random);
Async<void> look_at_queue(Stage& stage, Random random);
Async<void> cancel_tasks(Stage& stage, Random random);
// Cancels tasks that have just been created: a take may be about to claim them.
Async<void> cancel_new_tasks(Stage& stage, Random random);
// Operators change the policy, deploy again, redrive.
Async<void> change_policy(Stage& stage, Random random);
Async<void> deploy_again(Stage& stage, Random random);
Async<void> redrive_tasks(Stage& stage, Random random);
// Pauses the whole queue for a while, again and again, and resumes it in the end.
Async<void> pause_queue(Stage& stage, Random random);
// Starts jobs that remove ended tasks.
Async<void> purge_ended(Stage& stage, Random random);
Async<void> run_delayed_tasks(Stage& stage, Random random);
Async<void> make_backups(Stage& stage, Random random);
// Drops an index that the queue needs.
Async<void> drop_indexes(Stage& stage, Random random);

// Cancels the tasks of a released version that are delayed for a year.
Async<void> cancel_old_delays(Stage& stage, Random random);

// A priority queue: its routes and its judge.
struct PriorityPlace {
  std::string routes;
  PriorityJudge& judge;
};
Async<void> fill_priority_queue(Stage& stage, Random random, std::string name, PriorityPlace place);
Async<void> work_on_priority_queue(Stage& stage, Random random, PriorityPlace place);
// A consumer that extends the timeout of its records.
Async<void> hold_priority_records(Stage& stage, Random random, PriorityPlace place);
// An operator: moves records to the end, changes priorities, cancels, moves records out of the dead-letter queue.
Async<void> operate_on_priority_queue(Stage& stage, Random random, PriorityPlace place);
// Puts items that are no records into the queue's table, among the waiting records.
Async<void> leave_unreadable_records(Stage& stage, Random random);
// Returns true once nothing waits or is in flight; all records have then been judged.
Async<bool> judge_priority_rest(Stage& stage, PriorityPlace place);

// Clients of two filtered queues that share their members.
Async<void> staff_filtered_queues(Stage& stage, Random random, std::string name);
Async<void> call_filtered_queues(Stage& stage, Random random, std::string name);
Async<void> leave_foreign_items(Stage& stage, Random random);
// Returns true once the queues were counted again and all waiting members have been assigned.
Async<bool> judge_filtered_rest(Stage& stage);

// Clients of ordered writes.
Async<void> write_in_order(Stage& stage, Random random, std::string name);
// Reads an item and judges it. Returns false if there was no answer.
Async<bool> read_in_order(Stage& stage, std::string key);
Async<bool> judge_ordered_rest(Stage& stage);

// Sends events to a function, by calls and by a topic.
Async<void> send_events(Stage& stage, Random random, std::string name);
// Publishes messages to a FIFO topic, in a few groups of its own.
Async<void> publish_orders(Stage& stage, Random random, std::string name);
// Sends events to a function that has destinations and a dead-letter topic.
Async<void> send_sources(Stage& stage, Random random, std::string name);
// Returns true if no event of that function waits or runs.
Async<bool> is_idle(Stage& stage, std::string function);
// Return true once no event waits or runs; all have then been judged.
Async<bool> judge_events_rest(Stage& stage);
Async<bool> judge_orders_rest(Stage& stage);
Async<bool> judge_sources_rest(Stage& stage);

// Returns true once nothing is PENDING, TAKEN or DELAYED; the tasks have then been judged at rest.
Async<bool> judge_rest(Stage& stage);

}  // namespace freshet::sim
