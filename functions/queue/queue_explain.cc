// Why a task is where it is: `freshet explain`.
#include <algorithm>

#include <fmt/format.h>

#include "functions/queue/attributes.h"
#include "functions/queue/holder.h"
#include "functions/queue/policy/cancel_mark.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/queue.h"
#include "functions/queue/shed_words.h"
#include "functions/queue/task_life.h"
#include "functions/queue/unserved.h"

namespace freshet {

namespace {

constexpr uint32_t kPage = 1000;
constexpr uint64_t kMostExplainedLooks = 50'000;  // A filter may pass most of them over.
constexpr uint64_t kMostExplainedAhead = 10'000;  // Nobody needs to know it better.

std::string when(milliseconds time) {
  return time.count() < 0 ? in_words(time) + " ago" : "in " + in_words(time);
}

std::string joined_text(std::string_view prefix, std::string_view value) {
  return std::string(prefix) + std::string(value);
}

// Collects reasons.
class Sayer {
 public:
  explicit Sayer(Explanation& out) : out_(out) {}
  void operator()(std::string_view code, std::string message) {
    out_.why.push_back({std::string(code), std::move(message)});
  }

 private:
  Explanation& out_;
};

}  // namespace

Async<Result<Explanation>> Queue::explain(std::string id) {
  Explanation out;
  auto task = co_await get(id);
  if (!task && task.error().code != ErrorCode::kNotFound) co_return fail(task.error());
  auto lines = co_await shed_log_->about(id);
  if (!lines) co_return fail(lines.error());
  out.id = std::move(id);
  const auto now = wall();
  out.life = life_of(task ? *task : ItemRef(), out.id, *lines, now);
  out.log = std::move(*lines);
  std::erase_if(out.log, [&out](const ItemRef& line) { return !names_task(line, out.id); });
  if (!task && out.log.empty()) co_return fail(task.error());
  for (auto& [name, value] : policy_environment(settings_)) out.policy.emplace_back(name, value);
  auto books = co_await services_.tables.books(table_);
  if (books) out.depth = books->stock[std::string(state::kPending)];
  if (!task) {
    Sayer{out}("gone",
               "it is not in the table: removed by its ttl, deleted by a client, or refused when it was to be created");
    co_return out;
  }
  out.task = std::move(*task);
  out.age = now - WallTime(milliseconds(
                      std::clamp<int64_t>(int_of(out.task, attribute::kCreated, epoch_ms(now)), 0, epoch_ms(now))));
  if (const int64_t deadline = int_of(out.task, attribute::kDeadline, 0); deadline > 0) {
    out.deadline_in = WallTime(milliseconds(deadline)) - now;
  }
  if (const auto end = ttl_end(out.task, definition_.ttl_in_milliseconds)) out.ttl_in = end->at - now;
  const bool pending = text_of(out.task, attribute::kStatus) == state::kPending;
  if (pending) {
    auto counted = co_await count_ahead(out);
    if (!counted) co_return fail(counted.error());
  }
  bool makes_room = false;
  if (text_of(out.task, attribute::kStatus) == state::kTaken && has(out.task, attribute::kReplacedBy)) {
    const auto known = co_await must_make_room(out.task);
    makes_room = !known || *known;
  }
  if (pending) {
    explain_waiting(out);
  } else {
    explain_state(out, makes_room);
  }
  co_return out;
}

// The place of a task in an index, for a walk that begins beside it.
static Item place_in_index(const ItemRef& task, std::string_view partition, std::string_view sort) {
  Item place;
  for (const auto name : {std::string_view(attribute::kId), partition, sort}) {
    if (const auto value = task.find(name)) place.set(std::string(name), value->decode());
  }
  return place;
}

// The tasks of its lane that a take would choose before it. A walk begins at the task and goes back to the first one,
// so it counts the tasks of the same millisecond as takes do.
std::vector<QueryInput> Queue::before_it(const ItemRef& task) {
  const auto lane = text_of(task, attribute::kLane);
  const auto partition = lane.empty() ? attribute::kStatus : attribute::kLane;
  if (by_deadline(lane) && int_of(task, attribute::kDeadline, 0) > 0) {
    QueryInput query = more_urgent(task);
    query.exclusive_start_key = place_in_index(task, partition, attribute::kDeadline);
    return {std::move(query)};
  }
  QueryInput query;
  query.table = table_;
  query.index = lane.empty() ? index_ : std::string(kLaneIndex);
  query.forward = newest_first_in(lane);
  query.key_condition = std::string(lane.empty() ? "taskStatus = :p" : "lane = :p") +
                        (query.forward ? " AND taskCreated >= :t" : " AND taskCreated <= :t");
  auto& values = query.placeholders.values;
  values.set(":p", Value(lane.empty() ? state::kPending : lane));
  values.set(":t", task.find(attribute::kCreated)->decode());
  query.exclusive_start_key = place_in_index(task, partition, attribute::kCreated);
  if (!lane.empty()) {
    // A client may have ended one and left its lane, until the stream tells.
    query.filter = "taskStatus = :s";
    values.set(":s", Value(state::kPending));
  }
  if (!by_deadline(lane)) return {std::move(query)};
  query.filter += std::string(query.filter.empty() ? "" : " AND ") + "NOT deadline > :z";
  values.set(":z", Value::number(0));
  return {std::move(query), with_deadline(lane)};
}

// How many those are.
Async<Result<void>> Queue::count_ahead(Explanation& out) {
  const auto created = out.task.find(attribute::kCreated);
  if (!created || created->type() != Type::kNumber) co_return Result<void>();  // In no index: never served.
  uint64_t ahead = 0;
  uint64_t looked = 0;
  bool more = false;
  for (auto& query : before_it(out.task)) {
    query.limit = kPage;
    query.count_only = true;
    do {
      auto page = co_await read_index(query);
      if (!page) co_return fail(page.error());
      ahead += page->count;
      looked += page->scanned;
      query.exclusive_start_key = std::move(page->last_evaluated_key);
      more = !query.exclusive_start_key.empty();
      if (more) co_await sleep_for(services_.scheduler, nanoseconds(0));
    } while (more && ahead < kMostExplainedAhead && looked < kMostExplainedLooks);
    if (more) break;
  }
  out.ahead = ahead;
  out.ahead_at_least = more;
  co_return Result<void>();
}

namespace {

std::string come_before_it(uint64_t ahead, bool at_least) {
  if (at_least) return "more than " + std::to_string(ahead) + " come before it";
  if (ahead == 0) return "none comes before it";
  return std::to_string(ahead) + (ahead == 1 ? " comes before it" : " come before it");
}

}  // namespace

// How takes go through the queue.
std::string Queue::order_in_words(const ItemRef& task) {
  const auto lane = text_of(task, attribute::kLane);
  if (by_deadline(lane)) {
    return int_of(task, attribute::kDeadline, 0) > 0
               ? "the earliest deadline that leaves enough time is taken first, as of now"
               : "it has no deadline: takes choose those first that have one, then the oldest, as of now";
  }
  const bool newest = newest_first_in(lane);
  std::string out = newest ? "the newest task is taken first" : "the oldest task is taken first";
  if (settings_.order == Order::kAdaptive) out += newest ? ", as the queue stands" : ", as the queue drains";
  return out;
}

void Queue::explain_waiting(Explanation& out) {
  Sayer say{out};
  const auto created = int_of(out.task, attribute::kCreated, 0);
  if (auto never = unserved_because(out.task)) out.why.push_back(std::move(*never));
  explain_pauses(out);
  if (created > epoch_ms(created_bound())) {
    say("created-ahead", "its taskCreated is further ahead than CREATED_SKEW_MS allows: it waits until that has come");
  }
  if (out.ahead) {
    say("order", order_in_words(out.task) + ": " + come_before_it(*out.ahead, out.ahead_at_least) +
                     (core_.lanes.empty() ? "" : " in its lane (group and priority)"));
  }
  if (core_.keys.is_replaced(out.task, text_of(out.task, attribute::kLiveKey))) {
    say("being-replaced", "a newer task of its key has come in its place; it ends when the store lets it");
  } else if (core_.waits_for_key(out.task)) {
    say("key-in-work", "another task of its key is in work: as it replaces others, it waits for that");
  }
  if (core_.lanes.lacks(out.task)) say("no-lane", "it has not got its lane yet");
  explain_lateness(out);
  if (attempt_of(out.task) >= attempts_allowed(out.task, settings_)) {
    say("no-attempt-left", "it has no attempt left: a take ends it");
  }
  if (gone_ || core_.agenda.draining()) say("stopping", "the daemon is stopping: nothing is given out");
  const bool is_pulled = core_.agenda.is_pulled() || settings_.runner == RunnerKind::kNone;
  if (!core_.agenda.has_processor() && waiters_.empty() && is_pulled) {
    say("no-worker", "the queue has no task runner (TASK_RUNNER=none), and no worker waits for a task");
  } else if (!core_.agenda.has_processor() && waiters_.empty()) {
    say("no-processor", "no processor is at work: one is started when `Start` is published");
  }
  explain_limits(out);
  explain_pace(out);
  explain_runner(out);
}

void Queue::explain_lateness(Explanation& out) {
  Sayer say{out};
  if (core_.is_doubtful(out.task, now())) {
    say("clock-not-trusted",
        "it looks too late for it, but the wall clock is not trusted yet: until it is, it is neither started nor shed");
  }
  const bool newest_first = settings_.order == Order::kDeadline || this->newest_first();
  const auto reason =
      expired(out.task, wall_guard_.earliest(), definition_.ttl_in_milliseconds, deadline_margin(newest_first, false));
  if (!reason.empty()) say("too-late", "it is too late for it, and it will be shed: " + doom_in_words(reason));
  if (is_lost(out.task)) {
    say("too-little-time", "its time is too short by now for what tasks take: it is left to its deadline");
  }
}

// The reasons that keep the processor from starting any task.
void Queue::explain_pace(Explanation& out) {
  Sayer say{out};
  const auto& work = settings_.work;
  const bool slots = core_.agenda.has_processor() && !work.adaptive && work.page_limit == 0;
  if (slots && core_.limits.downstream().busy >= static_cast<size_t>(work.concurrency)) {
    say("slots-in-use", "every slot of the processor is in use: CONCURRENCY is " + std::to_string(work.concurrency));
  }
  explain_rate(out);
  if (const auto& adaptive = core_.limits.downstream().concurrency;
      adaptive && adaptive->in_work() >= adaptive->limit()) {
    say("adaptive-limit", "as many tasks are in work as the runner is believed to bear: " +
                              std::to_string(adaptive->limit()) + " (CONCURRENCY=adaptive)");
  }
}

void Queue::explain_rate(Explanation& out) {
  const auto& work = settings_.work;
  const bool limited = work.rate_adaptive || work.rate_limit > 0;
  const bool is_pulled = core_.agenda.is_pulled() || settings_.runner == RunnerKind::kNone;
  if ((!core_.agenda.has_processor() && !is_pulled) || !limited || core_.limits.downstream().allowed(boot(), 1) > 0)
    return;
  const auto& rate = core_.limits.downstream().rate;
  if (rate && rate->concurrency() > 0 && rate->in_flight() >= rate->concurrency()) {
    return Sayer{out}("rate-limit", "the downstream allows " + std::to_string(rate->concurrency()) +
                                        " calls at a time, as learnt, and as many are under way");
  }
  const auto wait = std::chrono::ceil<milliseconds>(core_.limits.downstream().next(boot()) - boot());
  if (rate) {
    Sayer{out}("rate-limit",
               fmt::format("the downstream allows {:.3g}/s as learnt; next start {}", rate->rate(), when(wait)));
  } else {
    Sayer{out}("rate-limit", "RATE_LIMIT is used up: the next task may start " + when(wait));
  }
}

// The runner takes nothing: which one, why, since when, and when it is asked again.
void Queue::explain_runner(Explanation& out) {
  const auto& trouble = core_.limits.downstream().trouble;
  if (!trouble) return;
  const std::string runner = "the task runner" + (trouble->runner.empty() ? "" : joined_text(" ", trouble->runner));
  const std::string what = trouble->reachable                          ? " takes nothing now: "
                           : settings_.runner == RunnerKind::kExec     ? " cannot be started: "
                           : settings_.runner == RunnerKind::kFunction ? " cannot be invoked: "
                                                                       : " cannot be reached: ";
  const auto lasted = std::max(wall() - trouble->since, milliseconds(0));
  const auto pause = std::chrono::ceil<milliseconds>(core_.limits.downstream().breaker.next(boot()) - boot());
  const std::string next =
      core_.limits.downstream().breaker.open() ? "; it is asked again with the next task, " + when(pause) : "";
  const std::string bounces = trouble->bounces == 1 ? "once" : std::to_string(trouble->bounces) + " times";
  Sayer{out}(
      trouble->reachable ? "runner-busy" : "runner-unreachable",
      runner + what + trouble->message + " (tasks came back " + bounces + " in " + in_words(lasted) + ")" + next);
}

// `makes_room`: the task is in work, and a newer one of its key waits for it.
void Queue::explain_state(Explanation& out, bool makes_room) {
  Sayer say{out};
  const ItemRef& task = out.task;
  const auto status = text_of(task, attribute::kStatus);
  if (auto never = unserved_in_any_case(task)) {
    out.why.push_back(std::move(*never));
  } else if (status == state::kDelayed) {
    explain_delay(out);
  } else if (status == state::kTaken) {
    explain_claim(out, makes_room);
  } else if (status == state::kShed) {
    say("shed", "it was shed: " + shed_in_words(text_of(task, attribute::kShedReason)));
    auto early = early_deadline(int_of(task, attribute::kDeadline, 0));
    if (!early.empty()) say("early-deadline", std::move(early));
  } else if (status == state::kDead) {
    const auto attempts = attempt_of(task);
    const bool used_up = attempts >= attempts_allowed(task, settings_);
    say("dead", used_up
                    ? (attempts == 1 ? "its only attempt is" : "its " + std::to_string(attempts) + " attempts are") +
                          " used up; `freshet redrive` puts it back"
                    : "it had no room for its state, or had fewer attempts when it died than the queue gives by "
                      "now; `freshet redrive` puts it back");
  } else if (status == state::kCancelled) {
    const auto by = text_of(task, attribute::kReplacedBy);
    by.empty() ? say("cancelled", "it was cancelled")
               : say("replaced", joined_text("a newer task of the same key took its place: ", by));
  } else {
    say("ended", joined_text("it has ended: ", status));
  }
  const auto error = text_of(task, attribute::kError);
  if (!error.empty()) say("last-error", joined_text("its last error: ", error));
}

void Queue::explain_delay(Explanation& out) {
  const ItemRef& task = out.task;
  const auto at = std::clamp<int64_t>(int_of(task, attribute::kNotBefore, 0), 0, kNever / 2);
  const bool timed_here = core_.delays.times(out.id, at);
  const auto left = timed_here ? std::chrono::ceil<milliseconds>(core_.delays.due_of(out.id) - boot())
                               : milliseconds(at - epoch_ms(wall()));
  const auto attempts = attempt_of(task);
  Sayer say{out};
  say(attempts > 0 ? "backoff" : "delayed", "it waits until its notBefore, " + when(left) +
                                                (timed_here ? " by the time before the clock was set: " : ": ") +
                                                (attempts > 0 ? "the backoff after attempt " + std::to_string(attempts)
                                                              : "the delay that it was created or put back with"));
  const auto reason = expired(task, wall_guard_.earliest(), definition_.ttl_in_milliseconds, {});
  if (!reason.empty()) {
    say("too-late", joined_text("it is too late for it, and it will be shed when that has come: ", reason));
  }
}

void Queue::explain_claim(Explanation& out, bool makes_room) {
  const ItemRef& task = out.task;
  Sayer say{out};
  const auto taken_by = holder_of(task);
  say("in-work", "it is in work" + (taken_by.empty() ? "" : joined_text(", taken by ", taken_by)) + ", attempt " +
                     std::to_string(attempt_of(task)));
  if (const Lease* lease = core_.claims.leases().find(out.id)) {
    say("leased", "its lease, of " + std::to_string(lease->duration.count()) + " ms without a heartbeat, is " +
                      (lease->mine ? "timed by this daemon, which gave it out"
                                   : "another daemon's, timed here since it was seen"));
  }
  if (is_cancel_requested(task)) {
    say("cancel-requested", "its cancel was asked for; its holder learns of it");
  }
  if (const auto by = text_of(task, attribute::kReplacedBy); makes_room) {
    say("makes-room", joined_text("a newer task of its key waits for it, so that it will not be tried again: ", by));
  }
}

}  // namespace freshet
