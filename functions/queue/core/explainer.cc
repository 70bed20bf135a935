#include "functions/queue/core/explainer.h"

#include <fmt/format.h>

#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/core/queue_core.h"
#include "functions/queue/holder.h"
#include "functions/queue/shed_words.h"
#include "functions/queue/task_life.h"
#include "functions/queue/unserved.h"
#include "runtime/api/cancel_mark.h"

namespace freshet {

namespace {

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

std::string come_before_it(uint64_t ahead, bool at_least) {
  if (at_least) return "more than " + std::to_string(ahead) + " come before it";
  if (ahead == 0) return "none comes before it";
  return std::to_string(ahead) + (ahead == 1 ? " comes before it" : " come before it");
}

}  // namespace

void Explainer::explain(Explanation& out, const ExplainFacts& at) {
  text_of(out.task, attribute::kStatus) == state::kPending ? waiting(out, at) : not_waiting(out, at);
}

// The order in which takes go through the queue.
std::string Explainer::order_in_words(const ItemRef& task, const Now& now) {
  const auto lane = text_of(task, attribute::kLane);
  if (core_.by_deadline(lane)) {
    return int_of(task, attribute::kDeadline, 0) > 0
               ? "the earliest deadline that leaves enough time is taken first, as of now"
               : "it has no deadline: takes choose those first that have one, then the oldest, as of now";
  }
  const bool newest = core_.newest_first_in(lane, now.boot);
  std::string out = newest ? "the newest task is taken first" : "the oldest task is taken first";
  if (settings_.order == Order::kAdaptive) out += newest ? ", as the queue stands" : ", as the queue drains";
  return out;
}

void Explainer::waiting(Explanation& out, const ExplainFacts& at) {
  Sayer say{out};
  const auto created = int_of(out.task, attribute::kCreated, 0);
  if (auto never = unserved_because(out.task)) out.why.push_back(std::move(*never));
  pauses(out);
  if (created > epoch_ms(core_.times.bound(at.now.wall))) {
    say("created-ahead",
        "its taskCreated is further in the future than CREATED_SKEW_MS allows: it waits until that time is near");
  }
  if (out.ahead) {
    say("order", order_in_words(out.task, at.now) + ": " + come_before_it(*out.ahead, out.ahead_at_least) +
                     core_.lanes.place_in_words(text_of(out.task, attribute::kLane), at.now.boot));
  }
  if (core_.keys.is_replaced(out.task, text_of(out.task, attribute::kLiveKey))) {
    say("being-replaced", "a newer task of its key replaces it; it ends as soon as the store accepts that");
  } else if (core_.waits_for_key(out.task)) {
    say("key-in-work", "another task of its key is in work: as it replaces others, it waits for that");
  }
  if (core_.lanes.lacks(out.task)) say("no-lane", "it has no lane yet");
  if (at.has_no_place) {
    say("no-place", "a client wrote it, and the queue's index does not show it yet: a search of the table finds it");
  }
  lateness(out, at);
  if (attempt_of(out.task) >= attempts_allowed(out.task, settings_)) {
    say("no-attempt-left", "it has no attempt left: a take ends it");
  }
  if (at.stops) say("stopping", "the daemon is stopping: no task is taken");
  const bool is_pulled = core_.agenda.is_pulled() || settings_.runner == RunnerKind::kNone;
  if (!core_.agenda.has_processor() && !at.anyone_waits && is_pulled) {
    say("no-worker", "the queue has no task runner (TASK_RUNNER=none), and no worker waits for a task");
  } else if (!core_.agenda.has_processor() && !at.anyone_waits) {
    say("no-processor", "no processor is at work: one is started when `Start` is published");
  }
  limits(out, at);
  pace(out, at);
  runner(out, at);
}

void Explainer::lateness(Explanation& out, const ExplainFacts& at) {
  Sayer say{out};
  if (core_.is_doubtful(out.task, at.now)) {
    say("clock-not-trusted",
        "it seems to be too late, but the wall clock is not trusted yet: until it is, the task is neither started nor "
        "shed");
  }
  const bool newest_first = settings_.order == Order::kDeadline || core_.times.newest_first(at.now.boot);
  const auto reason = core_.expired(out.task, at.now.earliest, core_.times.margin(newest_first, false, at.now.boot));
  if (!reason.empty()) say("too-late", "it is too late, and will be shed: " + doom_in_words(reason));
  if (core_.is_lost(out.task, at.now)) {
    say("too-little-time",
        "too little time is left for it, given how long tasks take: it waits to be shed at its deadline");
  }
}

// The reasons that keep the processor from starting any task.
void Explainer::pace(Explanation& out, const ExplainFacts& at) {
  Sayer say{out};
  const auto& work = settings_.work;
  const bool slots = core_.agenda.has_processor() && !work.adaptive && work.page_limit == 0;
  if (slots && core_.limits.downstream().busy >= static_cast<size_t>(work.concurrency)) {
    say("slots-in-use", "every slot of the processor is in use: CONCURRENCY is " + std::to_string(work.concurrency));
  }
  rate(out, at);
  if (const auto& adaptive = core_.limits.downstream().concurrency;
      adaptive && adaptive->in_work() >= adaptive->limit()) {
    say("adaptive-limit", "as many tasks are in work as the runner can handle, as learnt: " +
                              std::to_string(adaptive->limit()) + " (CONCURRENCY=adaptive)");
  }
}

void Explainer::rate(Explanation& out, const ExplainFacts& at) {
  const auto& work = settings_.work;
  const bool limited = work.rate_adaptive || work.rate_limit > 0;
  const bool is_pulled = core_.agenda.is_pulled() || settings_.runner == RunnerKind::kNone;
  if ((!core_.agenda.has_processor() && !is_pulled) || !limited ||
      core_.limits.downstream().allowed(at.now.boot, 1) > 0)
    return;
  const auto& rate = core_.limits.downstream().rate;
  if (rate && rate->concurrency() > 0 && rate->in_flight() >= rate->concurrency()) {
    return Sayer{out}("rate-limit", "the downstream allows " + std::to_string(rate->concurrency()) +
                                        " calls at a time, as learnt, and that many are in flight");
  }
  const auto wait = std::chrono::ceil<milliseconds>(core_.limits.downstream().next(at.now.boot) - at.now.boot);
  if (rate) {
    Sayer{out}("rate-limit",
               fmt::format("the downstream allows {:.3g}/s as learnt; next start {}", rate->rate(), when(wait)));
  } else {
    Sayer{out}("rate-limit", "RATE_LIMIT is used up: the next task may start " + when(wait));
  }
}

// Explains that the runner takes nothing: its name, the reason, since when, and the time of the next attempt.
void Explainer::runner(Explanation& out, const ExplainFacts& at) {
  const auto& trouble = core_.limits.downstream().trouble;
  if (!trouble) return;
  const std::string runner = "the task runner" + (trouble->runner.empty() ? "" : joined_text(" ", trouble->runner));
  const std::string what = trouble->reachable                          ? " takes nothing now: "
                           : settings_.runner == RunnerKind::kExec     ? " cannot be started: "
                           : settings_.runner == RunnerKind::kFunction ? " cannot be invoked: "
                                                                       : " cannot be reached: ";
  const auto lasted = std::max(at.now.wall - trouble->since, milliseconds(0));
  const auto pause = std::chrono::ceil<milliseconds>(core_.limits.downstream().breaker.next(at.now.boot) - at.now.boot);
  const std::string next = core_.limits.downstream().breaker.open() ? "; the next task is tried " + when(pause) : "";
  const std::string bounces = trouble->bounces == 1 ? "once" : std::to_string(trouble->bounces) + " times";
  Sayer{out}(
      trouble->reachable ? "runner-busy" : "runner-unreachable",
      runner + what + trouble->message + " (tasks came back " + bounces + " in " + in_words(lasted) + ")" + next);
}

// `makes_room`: the task is in work, and a newer one of its key waits for it.
void Explainer::not_waiting(Explanation& out, const ExplainFacts& at) {
  Sayer say{out};
  const ItemRef& task = out.task;
  const auto status = text_of(task, attribute::kStatus);
  if (auto never = unserved_in_any_case(task)) {
    out.why.push_back(std::move(*never));
  } else if (status == state::kDelayed) {
    delay(out, at);
  } else if (status == state::kTaken) {
    claim(out, at);
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

void Explainer::delay(Explanation& out, const ExplainFacts& at) {
  const ItemRef& task = out.task;
  const auto not_before = std::clamp<int64_t>(int_of(task, attribute::kNotBefore, 0), 0, kNeverMs / 2);
  const bool timed_here = core_.delays.times(out.id, not_before);
  const auto left = timed_here ? std::chrono::ceil<milliseconds>(core_.delays.due_of(out.id) - at.now.boot)
                               : milliseconds(not_before - epoch_ms(at.now.wall));
  const auto attempts = attempt_of(task);
  Sayer say{out};
  say(attempts > 0 ? "backoff" : "delayed", "it waits until its notBefore, " + when(left) +
                                                (timed_here ? " by the time before the clock was set: " : ": ") +
                                                (attempts > 0 ? "the backoff after attempt " + std::to_string(attempts)
                                                              : "the delay that it was created or put back with"));
  const auto reason = core_.expired(task, at.now.earliest);
  if (!reason.empty()) {
    say("too-late", joined_text("it is too late, and will be shed when its delay is over: ", reason));
  }
}

void Explainer::claim(Explanation& out, const ExplainFacts& at) {
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
    say("cancel-requested", "its cancellation was requested; its holder learns of it at the next heartbeat");
  }
  if (const auto by = text_of(task, attribute::kReplacedBy); at.makes_room) {
    say("makes-room", joined_text("a newer task of its key waits for it, so that it will not be tried again: ", by));
  }
}

void Explainer::limits(Explanation& out, const ExplainFacts& at) {
  if (!core_.limits.on()) return;
  const std::string name(core_.limits.name_of(out.task));
  const auto standing = name.empty() ? std::nullopt : core_.limits.by_name().standing(name, at.now.boot);
  if (!standing) return;
  const auto& limits = settings_.limits;
  const std::string its = (limits.by_key ? "its key " : "its group ") + name;
  if (standing->is_rate) {
    const auto wait = std::chrono::ceil<milliseconds>(standing->at - at.now.boot);
    out.why.push_back({"key-rate-limit", fmt::format("{} is at KEY_RATE_LIMIT {}{:.3g}/s{}; may start in {}", its,
                                                     limits.learnt ? "adaptive, which has learnt " : "", standing->rate,
                                                     limits.counts_cost ? " of cost" : "", in_words(wait))});
  } else {
    out.why.push_back({"key-concurrency", fmt::format("{} has {} in work: KEY_CONCURRENCY is {}", its,
                                                      standing->in_flight, limits.concurrency)});
  }
}

void Explainer::pauses(Explanation& out) {
  if (core_.pauses.empty()) return;
  const auto say = [&](Pause::Of of, std::string_view name) {
    const Pause* pause = core_.pauses.find(of, name);
    if (pause == nullptr) return;
    const std::string what = of == Pause::Of::kQueue ? "the queue" : "its " + std::string(pause_kind_name(of));
    out.why.push_back({"paused", what + " is paused " + pause_in_words(*pause) +
                                     " (`freshet resume` lets it go on; deadline and ttl go on meanwhile)"});
  };
  say(Pause::Of::kQueue, {});
  say(Pause::Of::kGroup, text_of(out.task, attribute::kGroup));
  say(Pause::Of::kKey, key_of(out.task));
}

}  // namespace freshet
