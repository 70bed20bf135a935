#include "tests/sim/machine/cast.h"

#include <string>
#include <utility>

#include "tests/sim/machine/released.h"
#include "tests/sim/machine/run_options.h"

namespace freshet::sim {

namespace {

Async<void> use_items(Stage& stage, const std::function<Random()>& fork, Scope& clients, Scope& stream) {
  co_await make_items_table(stage);
  const Plan& plan = stage.plan;
  for (int i = 0; i < plan.how_many("registers"); ++i) {
    clients.spawn(write_registers(stage, fork(), std::to_string(i)));
  }
  for (int i = 0; i < plan.how_many("pairs"); ++i) clients.spawn(write_pairs(stage, fork(), std::to_string(i)));
  for (int i = 0; i < plan.how_many("counters"); ++i) clients.spawn(count_up(stage, fork(), std::to_string(i)));
  for (int i = 0; i < plan.how_many("leavers"); ++i) clients.spawn(put_and_delete(stage, fork(), std::to_string(i)));
  if (plan.has("stream")) stream.spawn(follow_stream(stage, fork()));
  if (plan.has("huge-values")) clients.spawn(write_huge_values(stage, fork()));
  if (plan.has("backups")) clients.spawn(make_backups(stage, fork()));
  if (plan.has("late-repeats")) clients.spawn(repeat_transactions_late(stage, fork()));
}

void use_priority_queues(Stage& stage, const std::function<Random()>& fork, Scope& clients) {
  const Plan& plan = stage.plan;
  const PriorityPlace express{"/priority/Express/", stage.priority};
  for (int i = 0; i < plan.how_many("priority-queue"); ++i) {
    clients.spawn(fill_priority_queue(stage, fork(), "priority-queue" + std::to_string(i), express));
  }
  for (int i = 0; i < 2 && plan.has("priority-queue"); ++i) {
    clients.spawn(work_on_priority_queue(stage, fork(), express));
  }
  if (!plan.has("strict-queue")) return;
  const PriorityPlace strict{"/priority/Strict/", stage.strict};
  clients.spawn(fill_priority_queue(stage, fork(), "strict", strict));
  for (int i = 0; i < 2; ++i) clients.spawn(work_on_priority_queue(stage, fork(), strict));
  if (plan.has("unreadable-records")) clients.spawn(leave_unreadable_records(stage, fork()));
}

void use_priority_queues_further(Stage& stage, const std::function<Random()>& fork, Scope& clients) {
  const auto spawn = [&](const PriorityPlace& place) {
    clients.spawn(hold_priority_records(stage, fork(), place));
    clients.spawn(operate_on_priority_queue(stage, fork(), place));
  };
  if (stage.plan.has("priority-queue")) spawn({"/priority/Express/", stage.priority});
  if (stage.plan.has("strict-queue")) spawn({"/priority/Strict/", stage.strict});
}

void use_other_queues(Stage& stage, const std::function<Random()>& fork, Scope& clients) {
  const Plan& plan = stage.plan;
  for (int i = 0; i < plan.how_many("filtered-queues"); ++i) {
    clients.spawn(staff_filtered_queues(stage, fork(), "staff" + std::to_string(i)));
    clients.spawn(call_filtered_queues(stage, fork(), "call" + std::to_string(i)));
  }
  if (plan.has("filtered-queues") && plan.has("foreign-items")) clients.spawn(leave_foreign_items(stage, fork()));
  for (int i = 0; i < plan.how_many("ordered-writes"); ++i) {
    clients.spawn(write_in_order(stage, fork(), "w" + std::to_string(i)));
  }
}

}  // namespace

void begin_clients(Stage& stage, const std::function<Random()>& fork, Scope& clients, Scope& stream) {
  const Plan& plan = stage.plan;
  clients.spawn(use_items(stage, fork, clients, stream));
  const auto spawn = [&](const char* part, auto client) {
    for (int i = 0; i < plan.how_many(part); ++i) clients.spawn(client(stage, fork(), part + std::to_string(i)));
  };
  spawn("producers", produce_tasks);
  if (!has_runner(plan)) spawn("workers", work_on_tasks);
  // Somebody has to do the work in the end.
  if (!has_runner(plan) && !plan.has("workers")) clients.spawn(work_on_tasks(stage, fork(), "worker"));
  for (int i = 0; i < plan.how_many("lookers"); ++i) clients.spawn(look_at_queue(stage, fork()));
  if (plan.has("cancellers")) clients.spawn(cancel_tasks(stage, fork()));
  if (plan.has("policy-changes")) clients.spawn(change_policy(stage, fork()));
  if (plan.has("deploys")) clients.spawn(deploy_again(stage, fork()));
  if (plan.has("redrivers")) clients.spawn(redrive_tasks(stage, fork()));
  use_priority_queues(stage, fork, clients);
  if (plan.has("pausers")) clients.spawn(pause_queue(stage, fork()));
  if (plan.has("purgers")) clients.spawn(purge_ended(stage, fork()));
  use_other_queues(stage, fork, clients);
  if (plan.has("index-droppers")) clients.spawn(drop_indexes(stage, fork()));
  if (plan.has("upgrade")) clients.spawn(cancel_old_delays(stage, fork()));
  // A late repeat would create a removed task again.
  const bool stays = !plan.has("purgers") && !plan.has("keep");
  if (plan.has("late-repeats") && stays) clients.spawn(repeat_creates_late(stage, fork()));
  if (plan.has("holders") && !has_runner(plan)) clients.spawn(hold_tasks(stage, fork()));
  for (int i = 0; i < plan.how_many("late-beats") && !has_runner(plan); ++i) clients.spawn(beat_late(stage, fork()));
  if (plan.has("heavy-keys")) clients.spawn(replace_heavy_tasks(stage, fork()));
  if (plan.has("hasty-cancels")) clients.spawn(cancel_new_tasks(stage, fork()));
  for (int i = 0; i < (has_events(plan) ? plan.how_many("events") : 0); ++i) {
    clients.spawn(send_events(stage, fork(), "event" + std::to_string(i)));
  }
  if (has_further_events(plan)) {
    spawn("fifo-topics", publish_orders);
    spawn("destinations", send_sources);
  }
  if (plan.has("run-nows")) clients.spawn(run_delayed_tasks(stage, fork()));
  if (plan.has("priority-hands")) use_priority_queues_further(stage, fork, clients);
  for (int i = 0; i < plan.how_many("slow-readers"); ++i) clients.spawn(read_slowly(stage, fork()));
  spawn("replacers", replace_tasks);
}

void set_expectations(Stage& stage) {
  const Plan& plan = stage.plan;
  TasksJudge& tasks = stage.tasks;
  if (plan.has("redrivers")) tasks.expect_redrives();
  if (plan.has("run-nows")) tasks.expect_runs();
  if (plan.has("deploys")) tasks.expect_attempts(5);
  if (plan.has("keep") || plan.has("purgers")) tasks.expect_removals();
  if (plan.has("keep") && !plan.has("purgers")) tasks.expect_kept(milliseconds(40'000));
  if (plan.has("margins") || plan.has("policy-changes") || plan.has("deploys")) tasks.expect_margins();
  // A full disk refuses to write that the leases of the daemon before are over.
  for (const char* part : {"late-answers", "disk-full", "disk-refuses"}) {
    if (plan.has(part)) tasks.expect_slow_starts();
  }
  for (const char* part : {"disk-full", "disk-refuses", "full-at-last", "little-memory", "little-data"}) {
    if (plan.has(part)) tasks.expect_full_store();
  }
  if (plan.has("rate") && !plan.has("policy-changes") && !plan.has("deploys")) tasks.expect_rate(rate_of(plan));
  for (const char* part :
       {"orders", "policy-changes", "margins", "deploys", "redrivers", "index-droppers", "late-answers"}) {
    if (plan.has(part)) tasks.ignore_order();
  }
}

void play_programs(ProgramPlay& programs, Stage& stage, HttpClient& http) {
  programs.random = Random(stage.plan.seed + 96);
  programs.outside = &stage.caller.scheduler();
  programs.http = &http;
  programs.calm = [&stage] { return stage.calm; };
  programs.saw = [&stage](const std::string& what) { stage.caller.trace().saw(what); };
  programs.started = [&stage](const std::string& input) {
    const auto task = nlohmann::json::parse(input, nullptr, false);
    const Clock& clock = stage.caller.scheduler().clock();
    const bool ordered = stage.fifo.started(task, clock.boot());
    const bool ends = !ordered && stage.destinations.started(task);
    if (ordered) stage.caller.trace().saw("a message of a FIFO topic starts");
    if (ends) stage.caller.trace().saw(DestinationsJudge::kind_of(task));
    if (ordered || ends || stage.events.started(task, clock.wall())) {
      ++stage.operations;
      return;
    }
    if (task.is_object() && task.contains("Records")) return judge_event(stage, task);
    if (!task.is_object() || !task.contains("taskId")) {
      return stage.verdict.broken("a program is given no task", input);
    }
    ++stage.operations;
    stage.tasks.started_by_runner(task["taskId"].get<std::string>(), task.value("attempt", 0), clock.wall(),
                                  clock.boot());
  };
  programs.answers = [&stage](const std::string& input, const std::string& result) {
    stage.destinations.answers(nlohmann::json::parse(input, nullptr, false), result);
  };
  programs.lost_event = [&stage] {
    stage.fifo.lost_event();
    stage.destinations.lost_event();
    stage.events.lost_event();
    stage.tasks.event_lost(stage.caller.scheduler().clock().boot());
  };
}

Async<Reply> ask_if_ready(Stage& stage, Random& random) {
  Reply ready = co_await stage.caller.get("/readyz", milliseconds(5'000));
  // An index that was dropped a moment ago is built again.
  for (int tries = 0; stage.plan.has("index-droppers") && ready.status == 503 && tries < 60; ++tries) {
    co_await rest(stage, random, milliseconds(500), milliseconds(1'000));
    ready = co_await stage.caller.get("/readyz", milliseconds(5'000));
  }
  co_return ready;
}

Async<bool> judge_others(Stage& stage) {
  const Plan& plan = stage.plan;
  if (stage.slow_readers > 0) co_return false;
  if (plan.has("priority-queue")) {
    const PriorityPlace express{"/priority/Express/", stage.priority};
    const bool rests = co_await judge_priority_rest(stage, express);
    if (!rests) co_return false;
  }
  if (plan.has("strict-queue")) {
    const PriorityPlace strict{"/priority/Strict/", stage.strict};
    const bool rests = co_await judge_priority_rest(stage, strict);
    if (!rests) co_return false;
  }
  if (plan.has("filtered-queues")) {
    const bool rests = co_await judge_filtered_rest(stage);
    if (!rests) co_return false;
  }
  if (plan.has("ordered-writes")) {
    const bool read = co_await judge_ordered_rest(stage);
    if (!read) co_return false;
  }
  if (has_events(plan)) {
    const bool rests = co_await judge_events_rest(stage);
    if (!rests) co_return false;
  }
  if (has_further_events(plan) && plan.has("fifo-topics")) {
    const bool rests = co_await judge_orders_rest(stage);
    if (!rests) co_return false;
  }
  if (has_further_events(plan) && plan.has("destinations")) {
    const bool rests = co_await judge_sources_rest(stage);
    if (!rests) co_return false;
  }
  if (plan.has("upgrade")) {
    const bool same = co_await judge_released_data(stage);
    if (!same) co_return false;
  }
  co_return true;
}

}  // namespace freshet::sim
