#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/sim/machine/clients.h"

namespace freshet::sim {

namespace {

using Json = nlohmann::json;
using Outcome = TasksJudge::Outcome;

bool has_error(const Json& element) {
  return element.is_object() && element.contains("error");
}

bool is_conflict(const Json& element) {
  return text_of(element["error"], "code") == "ConflictException";
}

void draw_rank(Stage& stage, Random& random, TasksJudge::NewTask& task, Json& body) {
  if (stage.plan.has("groups") && random.below(2) == 0) {
    body["group"] = "g" + std::to_string(random.below(4));
    task.ranked = true;
  }
  if (stage.plan.has("priorities") && random.below(3) == 0) {
    body["priority"] = static_cast<int64_t>(random.below(201)) - 100;
    task.ranked = true;
  }
  if (!stage.plan.has("keys") || random.below(4) != 0) return;
  task.key = task.id.substr(0, task.id.find('-')) + ".k" + std::to_string(random.below(3));
  task.replaces = random.below(3) == 0;
  body["key"] = task.key;
  if (task.replaces) body["replace"] = true;
}

TasksJudge::NewTask draw_task(Stage& stage, Random& random, std::string id, Json& body) {
  TasksJudge::NewTask task;
  task.id = std::move(id);
  body = {{"taskId", task.id}, {"payload", {{"n", random.below(1000)}}}};
  const WallTime now = stage.caller.scheduler().clock().wall();
  if (random.below(4) == 0) {
    const milliseconds time(500 + static_cast<int64_t>(random.below(20'000)));
    if (stage.plan.has("relative-deadlines")) {
      task.deadline_in = time;
      body["deadlineMs"] = time.count();
    } else {
      task.deadline = now + time;
      body["deadline"] = epoch_ms(*task.deadline);
    }
  }
  if (random.below(6) == 0) {
    task.delayed = true;
    task.delay = milliseconds(100 + static_cast<int64_t>(random.below(10'000)));
    body["delayMs"] = task.delay.count();
    if (task.deadline_in) {
      *task.deadline_in += milliseconds(11'000);  // Else it could never start, and would be refused.
      body["deadlineMs"] = task.deadline_in->count();
    }
  }
  if (random.below(8) == 0) {
    task.has_ttl = true;
    task.ttl = seconds(1 + random.below(60));
    body["ttlSeconds"] = task.ttl.count();
  }
  draw_rank(stage, random, task, body);
  return task;
}

}  // namespace

namespace {

// A client that missed the answer sends the same again: it is answered as before, and nothing is done twice.
Async<void> create_again(Stage& stage, TasksJudge::NewTask task, Json body) {
  const Reply again = co_await stage.caller.queue("tasks", std::move(body), kPatience);
  if (stage.tasks.may_be_gone(task.id)) co_return;
  const bool refused = again.status == 400 || again.status == 409 || again.error == "TooManyRequestsException";
  stage.verdict.expect(!refused, "a repeated create is refused", task.id + ": " + again.message);
  if (again.kind != Reply::Kind::kDone) co_return;
  stage.caller.trace().saw("create repeated");
  const bool anew = text_of(again.body, "taskId") == task.id && again.body.value("created", false);
  stage.verdict.expect(!anew, "a task is created twice", task.id);
}

void judge_created(Stage& stage, const TasksJudge::NewTask& task, const Reply& reply, bool may_be_there) {
  const std::string id = text_of(reply.body, "taskId");
  if (id != task.id) return stage.tasks.kept_for_key(task.id, id, reply.span);
  const bool fresh = reply.body.value("created", false);
  stage.verdict.expect(fresh || may_be_there, "a new task is said to be there already", task.id);
  stage.tasks.created(task.id, reply.span);
}

}  // namespace

namespace {

// A client that gets no answer sends the same again, for a while. True if there is such a task now.
Async<bool> create_until_answered(Stage& stage, Random& random, TasksJudge::NewTask task, Json body, int tries) {
  stage.tasks.begin_create(task);
  bool may_be_there = false;
  const BootTime first_sent = stage.caller.scheduler().clock().boot();
  const WallTime first_wall_sent = stage.caller.scheduler().clock().wall();
  for (int i = 0; i < tries && !stage.verdict.is_broken(); ++i) {
    const milliseconds patience(100 + static_cast<int64_t>(random.below(4'000)));
    // Later, one with a key might be made beside a newer one.
    Reply reply = co_await stage.caller.queue("tasks", body, patience, task.key.empty() && !stage.plan.has("purgers"));
    reply.span.sent = first_sent;  // An earlier try may be the one that made it.
    reply.span.wall_sent = first_wall_sent;
    may_be_there = may_be_there || reply.repeated;
    if (reply.kind == Reply::Kind::kDone) {
      judge_created(stage, task, reply, may_be_there);
      ++stage.operations;
      co_return text_of(reply.body, "taskId") == task.id;
    }
    may_be_there = may_be_there || reply.kind == Reply::Kind::kUnknown;
    if (reply.kind == Reply::Kind::kRefused && reply.status != 0 && !may_be_there) {
      stage.tasks.create_refused(task.id);
    }
    co_await rest(stage, random, milliseconds(20), milliseconds(500));
  }
  co_return false;
}

}  // namespace

Async<void> produce_tasks(Stage& stage, Random random, std::string name) {
  uint64_t number = 0;
  while (!stage.calm && !stage.verdict.is_broken()) {
    Json body;
    const TasksJudge::NewTask task = draw_task(stage, random, name + "-" + std::to_string(++number), body);
    const bool made = co_await create_until_answered(stage, random, task, body, 4);
    if (made && random.below(8) == 0) co_await create_again(stage, task, std::move(body));
    const int64_t pause = random.below(30) == 0 ? 5'000 : random.below(3) == 0 ? 300 : 10;
    co_await rest(stage, random, milliseconds(0), milliseconds(pause));
  }
}

Async<void> replace_tasks(Stage& stage, Random random, std::string name) {
  for (uint64_t number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    TasksJudge::NewTask task;
    task.id = name + "-" + std::to_string(number);
    task.key = name;
    task.replaces = true;
    task.delayed = true;  // So that there is one to be replaced.
    task.delay = milliseconds(5'000 + static_cast<int64_t>(random.below(60'000)));
    Json body = {{"taskId", task.id}, {"key", task.key}, {"replace", true}, {"delayMs", task.delay.count()}};
    const bool made = co_await create_until_answered(stage, random, std::move(task), std::move(body), 40);
    co_await rest(stage, random, milliseconds(10), milliseconds(made ? 50 : 2'000));
  }
}

Async<void> replace_heavy_tasks(Stage& stage, Random random) {
  for (uint64_t number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    TasksJudge::NewTask task;
    task.id = "heavy-" + std::to_string(number);
    task.key = "heavy";
    task.replaces = true;
    task.delayed = true;  // So that there is one to be replaced.
    task.delay = milliseconds(1'000 + static_cast<int64_t>(random.below(8'000)));
    Json body = {{"taskId", task.id},
                 {"payload", {{"text", std::string(270'000 + random.below(60'000), 'x')}}},
                 {"key", task.key},
                 {"replace", true},
                 {"delayMs", task.delay.count()}};
    stage.tasks.begin_create(task);
    // A store that has no room for a while answers late.
    const Reply reply = co_await stage.caller.queue("tasks", std::move(body), seconds(30));
    if (reply.kind == Reply::Kind::kDone) judge_created(stage, task, reply, false);
    if (reply.kind == Reply::Kind::kRefused && reply.status != 0) stage.tasks.create_refused(task.id);
    ++stage.operations;
    co_await rest(stage, random, milliseconds(100), milliseconds(3'000));
  }
}

namespace {

// Without a key or a ttl: it is there for good.
Async<bool> create_for_later(Stage& stage, const TasksJudge::NewTask& task, Json body) {
  stage.tasks.begin_create(task);
  const Reply reply = co_await stage.caller.queue("tasks", std::move(body), kPatience);
  if (reply.kind == Reply::Kind::kRefused && reply.status != 0) stage.tasks.create_refused(task.id);
  if (reply.kind != Reply::Kind::kDone) co_return false;
  judge_created(stage, task, reply, false);
  ++stage.operations;
  co_return true;
}

}  // namespace

Async<void> repeat_creates_late(Stage& stage, Random random) {
  std::vector<std::pair<TasksJudge::NewTask, Json>> made;
  const Clock& clock = stage.caller.scheduler().clock();
  for (uint64_t number = 1; !stage.calm && !stage.verdict.is_broken();) {
    if (made.size() < 20 && random.below(3) == 0) {
      TasksJudge::NewTask task;
      task.id = "late-" + std::to_string(number++);
      task.deadline = clock.wall() + milliseconds(500 + static_cast<int64_t>(random.below(6'000)));
      Json body = {{"taskId", task.id}, {"payload", {{"n", number}}}, {"deadline", epoch_ms(*task.deadline)}};
      const bool there = co_await create_for_later(stage, task, body);
      if (there) made.emplace_back(std::move(task), std::move(body));
    } else if (!made.empty()) {
      auto [task, body] = made[random.below(made.size())];
      if (task.deadline < clock.wall()) co_await create_again(stage, std::move(task), std::move(body));
    }
    co_await rest(stage, random, milliseconds(50), milliseconds(3'000));
  }
}

namespace {

Async<void> send_heartbeat(Stage& stage, std::string id, std::string lease) {
  Json one = {{"taskId", id}, {"lease", lease}, {"outcome", "heartbeat"}};
  stage.tasks.begin_settle(id, lease, Outcome::kHeartbeat);
  Json body = {{"settle", Json::array({one})}};
  const Reply reply = co_await stage.caller.queue("settle", std::move(body), kPatience);
  if (reply.kind != Reply::Kind::kDone) co_return;
  const Json& settled = reply.body["settled"][0];
  stage.caller.trace().saw(has_error(settled) ? "heartbeat " + text_of(settled["error"], "code") : "heartbeat");
  if (has_error(settled)) {
    if (is_conflict(settled)) stage.tasks.settle_refused(id, lease, reply.span);
    co_return;
  }
  stage.tasks.settled(id, lease, Outcome::kHeartbeat, text_of(settled, "taskStatus"), reply.span, {});
}

// Tells how a task went.
Async<void> settle_one(Stage& stage, Random& random, std::string id, std::string lease, Outcome outcome) {
  Json one = {{"taskId", id}, {"lease", lease}};
  one["outcome"] = outcome == Outcome::kComplete ? "complete" : outcome == Outcome::kFail ? "fail" : "release";
  std::optional<milliseconds> delay;
  if (outcome != Outcome::kComplete && random.below(2) == 0) {
    delay = milliseconds(random.below(5'000));
    one["delayMs"] = delay->count();
  }
  Json body = {{"settle", Json::array({one})}};
  stage.tasks.begin_settle(id, lease, outcome);
  const Reply reply = co_await stage.caller.queue("settle", std::move(body), kPatience, Caller::kRepeatable);
  if (reply.kind == Reply::Kind::kUnknown) stage.tasks.settle_unknown(id);
  if (reply.kind != Reply::Kind::kDone) co_return;
  ++stage.operations;
  const Json& settled = reply.body["settled"][0];
  if (!has_error(settled)) {
    stage.tasks.settled(id, lease, outcome, text_of(settled, "taskStatus"), reply.span, delay);
    co_return;
  }
  stage.caller.trace().saw("settle " + text_of(settled["error"], "code"));
  if (is_conflict(settled) && !reply.repeated) stage.tasks.settle_refused(id, lease, reply.span);
}

// Does one task: for longer than the lease at times, and then tells how it went.
Async<void> do_task(Stage& stage, Random& random, std::string id, std::string lease, milliseconds lease_time) {
  uint64_t fate = stage.calm ? 99 : random.below(100);
  if (!stage.calm && id.ends_with("7")) fate = 20;  // Every worker fails at this one.
  if (fate < 5) co_return;                          // This worker forgets it.
  const auto longest = stage.calm ? milliseconds(20) : fate < 15 ? lease_time * 2 : lease_time / 4;
  co_await rest(stage, random, milliseconds(0), longest);
  // Longer than the lease in all, but for the heartbeat.
  if (!stage.calm && fate >= 15 && random.below(6) == 0) {
    co_await rest(stage, random, milliseconds(0), lease_time / 2);
    co_await send_heartbeat(stage, id, lease);
    co_await rest(stage, random, lease_time / 4, lease_time * 3 / 4);
  }
  Outcome outcome = Outcome::kComplete;
  if (fate < 30) outcome = Outcome::kFail;
  if (fate >= 30 && fate < 40) outcome = Outcome::kRelease;
  co_await settle_one(stage, random, std::move(id), std::move(lease), outcome);
}

}  // namespace

Async<void> work_on_tasks(Stage& stage, Random random, std::string name) {
  while (!stage.verdict.is_broken()) {
    const milliseconds lease(stage.calm ? 30'000 : 500 + static_cast<int64_t>(random.below(15'000)));
    const milliseconds wait(static_cast<int64_t>(random.below(4'000)));
    Json body = {{"max", 1 + random.below(5)}, {"leaseMs", lease.count()}, {"waitMs", wait.count()}, {"owner", name}};
    const uint64_t number = stage.tasks.begin_take(stage.caller.scheduler().clock().boot());
    const Reply reply = co_await stage.caller.queue("take", std::move(body), wait + kPatience);
    if (reply.kind == Reply::Kind::kUnknown) stage.tasks.take_unknown(number, reply.span, lease);
    if (reply.kind != Reply::Kind::kDone) {
      stage.tasks.take_over(number);
      co_await rest(stage, random, milliseconds(50), milliseconds(1'000));
      continue;
    }
    ++stage.operations;
    const Json tasks = reply.body["tasks"];
    for (const Json& task : tasks) {
      stage.tasks.taken({text_of(task, "taskId"), text_of(task, "lease"), task.value("attempt", 0), lease}, reply.span);
    }
    stage.tasks.take_over(number);
    for (const Json& task : tasks) {
      std::string id = text_of(task, "taskId");
      std::string held = text_of(task, "lease");
      co_await do_task(stage, random, std::move(id), std::move(held), lease);
    }
  }
}

namespace {

struct Holding {
  std::string id;
  std::string lease;
  Span span;
};

Async<std::optional<Holding>> take_one(Stage& stage, milliseconds lease, const char* owner) {
  Json body = {{"max", 1}, {"leaseMs", lease.count()}, {"waitMs", 500}, {"owner", owner}};
  const uint64_t number = stage.tasks.begin_take(stage.caller.scheduler().clock().boot());
  const Reply reply = co_await stage.caller.queue("take", std::move(body), kPatience);
  if (reply.kind == Reply::Kind::kUnknown) stage.tasks.take_unknown(number, reply.span, lease);
  std::optional<Holding> held;
  if (reply.kind == Reply::Kind::kDone && !reply.body["tasks"].empty()) {
    const Json& task = reply.body["tasks"][0];
    held = Holding{text_of(task, "taskId"), text_of(task, "lease"), reply.span};
    stage.tasks.taken({held->id, held->lease, task.value("attempt", 0), lease}, reply.span);
    ++stage.operations;
  }
  stage.tasks.take_over(number);
  co_return held;
}

}  // namespace

Async<void> hold_tasks(Stage& stage, Random random) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    // Longer than LEASE_MS.
    const milliseconds lease(10'000 + static_cast<int64_t>(random.below(6'000)));
    auto held = co_await take_one(stage, lease, "holder");
    co_await rest(stage, random, milliseconds(200), milliseconds(4'000));
    if (held) co_await send_heartbeat(stage, std::move(held->id), std::move(held->lease));
    co_await rest(stage, random, milliseconds(500), milliseconds(8'000));
  }
}

namespace {

std::map<std::string, int64_t> counts_in(const Json& from) {
  std::map<std::string, int64_t> counts;
  for (const auto& [name, count] : from.items()) counts[name] = count.get<int64_t>();
  return counts;
}

// A task that has a while to go until its deadline is not among them.
Async<void> look_at_shed_tasks(Stage& stage) {
  const Reply reply = co_await stage.caller.get("/queues/QueueTable/tasks?limit=100&state=SHED", kPatience);
  if (reply.kind != Reply::Kind::kDone) co_return;
  for (const Json& task : reply.body["tasks"]) {
    const std::string id = text_of(task, "taskId");
    stage.tasks.seen(id, text_of(task, "taskStatus"), stage.tasks.has_ended(id), reply.span);
  }
}

// The leases of a daemon that has died end when the next one starts.
Async<void> look_at_held_tasks(Stage& stage) {
  const Reply reply = co_await stage.caller.get("/queues/QueueTable/tasks?limit=50&state=TAKEN", kPatience);
  if (reply.kind != Reply::Kind::kDone) co_return;
  for (const Json& task : reply.body["tasks"]) {
    stage.tasks.held(text_of(task, "taskId"), text_of(task, "lease"), reply.span);
  }
}

// The tasks that are held under a lease of this daemon, by their lease. Empty without an answer.
Async<std::set<std::string>> leases_of_this_daemon(Stage& stage) {
  std::set<std::string> leases;
  const Reply reply = co_await stage.caller.get("/queues/QueueTable/tasks?limit=50&state=TAKEN", kPatience);
  if (reply.kind != Reply::Kind::kDone) co_return leases;
  for (const Json& task : reply.body["tasks"]) {
    const std::string lease = text_of(task, "lease");
    if (stage.tasks.is_of_this_daemon(text_of(task, "taskId"), lease, reply.span.sent)) leases.insert(lease);
  }
  co_return leases;
}

// A task that was held before and is held afterwards was held all the time: no lease is given out twice.
Async<void> look_at_running(Stage& stage) {
  const BootTime life = stage.tasks.life_began();
  const std::set<std::string> before = co_await leases_of_this_daemon(stage);
  const Reply stats = co_await stage.caller.get("/queues/QueueTable/stats", kPatience);
  const std::set<std::string> after = co_await leases_of_this_daemon(stage);
  if (stats.kind != Reply::Kind::kDone || stage.tasks.life_began() != life) co_return;
  const auto held = std::count_if(before.begin(), before.end(), [&](const auto& one) { return after.contains(one); });
  if (held > 0) stage.caller.trace().saw("looked at what this daemon holds");
  stage.verdict.expect(stats.body.value("running", int64_t{0}) >= held, "a daemon forgets a lease that it gave out",
                       std::to_string(held) + " are held, and running is " + stats.body["running"].dump());
}

// One that was completed lately: it is kept for a while.
Async<void> look_at_ended_task(Stage& stage, Random& random) {
  const auto& all = stage.tasks.ended_lately();
  if (all.empty()) co_return;
  const std::string id = all[random.below(all.size())];
  const Reply reply = co_await stage.caller.get("/queues/QueueTable/tasks/" + id, kPatience);
  if (reply.kind == Reply::Kind::kDone) stage.tasks.seen(id, text_of(reply.body, "taskStatus"), true, reply.span);
  if (reply.status == 404) stage.tasks.seen(id, std::nullopt, true, reply.span);
}

}  // namespace

Async<void> beat_late(Stage& stage, Random random) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    const milliseconds lease(1'000 + static_cast<int64_t>(random.below(3'000)));
    auto held = co_await take_one(stage, lease, "late");
    if (held) {
      BootTime since = held->span.answered;
      // Where the store answers late, somebody may see a heartbeat before its answer is there.
      for (uint64_t beats = stage.plan.has("late-answers") ? random.below(10) : 0; beats > 0; --beats) {
        co_await rest(stage, random, milliseconds(0), milliseconds(300));
        co_await send_heartbeat(stage, held->id, held->lease);
        if (beats % 2 == 1) co_await look_at_running(stage);
        since = stage.caller.scheduler().clock().boot();
      }
      const BootTime end = since + lease - milliseconds(random.below(700));
      const BootTime now = stage.caller.scheduler().clock().boot();
      co_await sleep_for(stage.caller.scheduler(), end > now ? end - now : nanoseconds(0));
      co_await send_heartbeat(stage, held->id, held->lease);
      co_await rest(stage, random, milliseconds(0), lease / 2);
      co_await settle_one(stage, random, std::move(held->id), std::move(held->lease), Outcome::kComplete);
    }
    co_await rest(stage, random, milliseconds(50), milliseconds(2'000));
  }
}

Async<void> look_at_queue(Stage& stage, Random random) {
  Random beside(stage.plan.seed + 94);
  while (!stage.calm && !stage.verdict.is_broken()) {
    const uint64_t what = random.below(6);
    if (what == 4 && beside.below(2) == 0) {
      co_await look_at_held_tasks(stage);
      if (stage.plan.has("late-answers")) co_await look_at_running(stage);
    } else if (what == 4) {
      co_await look_at_shed_tasks(stage);
    } else if (what == 5) {
      co_await look_at_ended_task(stage, random);
    } else if (what == 0 && !stage.tasks.acknowledged().empty()) {
      const auto& all = stage.tasks.acknowledged();
      auto one = all.begin();
      std::advance(one, random.below(all.size()));
      const std::string id = *one;
      const bool had_ended = stage.tasks.has_ended(id);
      const std::string tail = random.below(3) == 0 ? "/explain" : "";
      const Reply reply = co_await stage.caller.get("/queues/QueueTable/tasks/" + id + tail, kPatience);
      if (tail.empty() && reply.kind == Reply::Kind::kDone)
        stage.tasks.seen(id, text_of(reply.body, "taskStatus"), had_ended, reply.span);
      if (tail.empty() && reply.status == 404) stage.tasks.seen(id, std::nullopt, had_ended, reply.span);
    } else if (what == 1) {
      const Reply ready = co_await stage.caller.get("/readyz", kPatience);
      (void)ready;
    } else if (what == 2) {
      const Reply page = co_await stage.caller.get("/metrics", kPatience);
      (void)page;
    } else {
      const Reply reply = co_await stage.caller.get("/queues/QueueTable/stats", kPatience);
      if (reply.kind == Reply::Kind::kDone) {
        stage.tasks.stats(counts_in(reply.body["depth"]), counts_in(reply.body["flow"]));
      }
    }
    ++stage.operations;
    co_await rest(stage, random, milliseconds(10), milliseconds(1'500));
  }
}

namespace {

Async<void> cancel_task(Stage& stage, std::string id) {
  stage.tasks.begin_cancel(id, stage.caller.scheduler().clock().boot());
  Json body = {{"taskIds", Json::array({id})}};
  const Reply reply = co_await stage.caller.queue("cancel", std::move(body), kPatience);
  if (reply.kind != Reply::Kind::kDone) co_return;
  const Json& result = reply.body["results"][0];
  if (!has_error(result)) stage.tasks.cancelled(id, text_of(result, "taskStatus"), reply.span);
  ++stage.operations;
}

}  // namespace

Async<void> cancel_tasks(Stage& stage, Random random) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(100), milliseconds(3'000));
    const auto& all = stage.tasks.acknowledged();
    if (all.empty()) continue;
    auto one = all.begin();
    std::advance(one, random.below(all.size()));
    std::string id = *one;
    co_await cancel_task(stage, std::move(id));
  }
}

Async<void> cancel_new_tasks(Stage& stage, Random random) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(10), milliseconds(600));
    const auto& all = stage.tasks.created_lately();
    if (all.empty()) continue;
    std::string id = all[all.size() - 1 - random.below(std::min<size_t>(all.size(), 3))];
    co_await cancel_task(stage, std::move(id));
  }
}

namespace {

// All tasks of a state, page by page. False if a page could not be had.
Async<bool> list_state(Stage& stage, std::string state, std::map<std::string, std::string>& into) {
  std::string cursor;
  do {
    std::string path = "/queues/QueueTable/tasks?limit=500&state=" + state;
    if (!cursor.empty()) path += "&cursor=" + cursor;
    const Reply reply = co_await stage.caller.get(std::move(path), kPatience);
    if (reply.kind != Reply::Kind::kDone) co_return false;
    for (const Json& task : reply.body["tasks"]) into[text_of(task, "taskId")] = state;
    cursor = text_of(reply.body, "cursor");
  } while (!cursor.empty());
  co_return true;
}

}  // namespace

Async<bool> judge_rest(Stage& stage) {
  const Reply reply = co_await stage.caller.get("/queues/QueueTable/stats", kPatience);
  if (reply.kind != Reply::Kind::kDone) co_return false;
  const auto depth = counts_in(reply.body["depth"]);
  stage.tasks.stats(depth, counts_in(reply.body["flow"]));
  for (const char* state : {"PENDING", "TAKEN", "DELAYED"}) {
    if (const auto found = depth.find(state); found != depth.end() && found->second > 0) co_return false;
  }
  std::map<std::string, std::string> all;
  for (const auto& [state, count] : depth) {
    const size_t before = all.size();
    std::string wanted = state;
    const bool listed = co_await list_state(stage, std::move(wanted), all);
    if (!listed) co_return false;
    if (static_cast<int64_t>(all.size() - before) == count || stage.plan.has("producers")) continue;
    // A task whose time of keeping is over may go while the pages are read.
    const Reply again = co_await stage.caller.get("/queues/QueueTable/stats", kPatience);
    if (again.kind != Reply::Kind::kDone || counts_in(again.body["depth"]) != depth) co_return false;
    stage.verdict.expect(false, "the books do not equal a scan", state);
  }
  // A producer that nobody answered until now may have put one meanwhile.
  const auto lives = [](const auto& task) {
    return task.second == "PENDING" || task.second == "TAKEN" || task.second == "DELAYED";
  };
  if (std::any_of(all.begin(), all.end(), lives) || stage.tasks.created_after(reply.span.answered)) co_return false;
  stage.tasks.at_rest(all, reply.span);
  co_return true;
}

}  // namespace freshet::sim
