#include "functions/queue/core/queue_core.h"

#include <algorithm>
#include <set>

#include "base/points.h"
#include "functions/queue/arrows.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "runtime/api/cancel_mark.h"

namespace freshet {

namespace {

WallTime time_of(const ItemRef& task, std::string_view name) {
  return WallTime(milliseconds(std::max<int64_t>(int_of(task, name, 0), 0)));
}

// When a PENDING task that was never taken could first be taken: until then only the end of a delay is written to it.
std::optional<WallTime> waiting_since(const ItemRef& task) {
  if (has(task, attribute::kTaken)) return std::nullopt;
  auto created = int_of(task, attribute::kCreated, 0);
  return WallTime(milliseconds(std::max(created, int_of(task, attribute::kUpdated, created))));
}

}  // namespace

QueueCore::QueueCore(const std::string& table, const QueueSettings& settings, Random& random, std::string_view node,
                     std::string_view incarnation)
    : table_(table),
      settings_(settings),
      claims(table, settings, random, node, incarnation),
      lanes(table, settings),
      limits(settings),
      admission(table, settings),
      adopter(table, settings),
      times(settings) {}

void QueueCore::table_lost() {
  claims.table_lost();
  keys.table_lost();
  times.table_lost();
}

std::string_view QueueCore::expired(const ItemRef& task, WallTime now, nanoseconds margin) const {
  return freshet::expired(task, now, ttl_in_milliseconds_, margin);
}

bool QueueCore::is_paused(const ItemRef& task) const {
  if (pauses.empty()) return false;
  return pauses.holds_group(text_of(task, attribute::kGroup)) || pauses.holds_key(key_of(task));
}

bool QueueCore::waits_for_key(const ItemRef& task) {
  if (!claims.leases().holds_keys() && keys.idle()) return false;
  const auto key = text_of(task, attribute::kLiveKey);
  return keys.passes_over(task, key, claims.leases().holds_key(key));
}

bool QueueCore::is_doubtful(const ItemRef& task, const Now& now) {
  if (!now.doubted || FRESHET_PLANTED("late-by-a-doubted-clock")) return false;
  const auto margin = times.margin(true, true, now.boot);
  return !expired(task, now.latest, margin).empty() && expired(task, now.earliest, margin).empty();
}

bool QueueCore::is_lost(const ItemRef& task, const Now& now) {
  const auto deadline = time_of(task, attribute::kDeadline);
  if (!by_deadline(text_of(task, attribute::kLane)) || deadline <= now.wall) return false;
  return deadline < times.enough(now.wall, now.boot) &&
         !times.is_worth_it(time_of(task, attribute::kCreated), deadline, now.wall, now.boot);
}

bool QueueCore::is_passed_over(const ItemRef& task, const Now& now) {
  return claims.is_in_flight(task) || is_paused(task) || waits_for_key(task) || is_doubtful(task, now);
}

bool QueueCore::has_room(const ItemRef& task, ChosenByName& chosen, const Now& now) {
  if (!limits.on() || limits.name_of(task).empty() || !expired(task, now.earliest).empty()) return true;
  return limits.has_room(task, chosen, now.boot);
}

TakePlan QueueCore::plan_take(const std::vector<ItemRef>& found, bool newest_first, bool more, size_t wanted,
                              TakeInput& input, const Now& now) {
  TakePlan out;
  if (pauses.all()) FRESHET_REACHED("paused while a take read");
  if (pauses.all()) return out;
  if (!agenda.draining()) wanted = std::min(wanted, limits.allowed(input, now.boot));
  out.steps.reserve(found.size());
  out.writes.reserve(found.size());
  const auto margin = times.margin(newest_first, false, now.boot);
  const auto lease = input.lease.value_or(settings_.lease);
  size_t claimed = 0;
  double spent = 0;
  std::set<std::string_view> taken_keys;
  for (size_t i = 0; i < found.size() && claimed < wanted; ++i) {
    const auto& task = found[i];
    const bool last = i + 1 == found.size() && !more;
    const auto key = key_of(task);
    if (is_paused(task) || is_doubtful(task, now)) continue;
    TakeStep step{task};
    step.shed_reason = expired(task, now.earliest, last ? times.margin(newest_first, true, now.boot) : margin);
    if (FRESHET_PLANTED("expired-task-started")) step.shed_reason = {};
    if (!step.shed_reason.empty()) {
      FRESHET_REACHED("shed at the head of a take");
      auto write = end_waiting(table_, task, state::kShed, attribute::kShedReason, step.shed_reason, now.wall);
      out.writes.emplace_back(kept(std::move(write), settings_.keep, now.latest));
    } else if (is_cancel_requested(task)) {
      FRESHET_REACHED("a cancelled task met by a take");
      auto write = end_waiting(table_, task, state::kCancelled, {}, {}, now.wall);
      out.writes.emplace_back(kept(std::move(write), settings_.keep, now.latest));
    } else if (!key.empty() && has(task, attribute::kReplacedBy)) {
      FRESHET_REACHED("a marked task met by a take");
      out.marked.push_back(task);
      continue;
    } else if (attempt_of(task) >= attempts_allowed(task, settings_)) {
      FRESHET_REACHED("a take meets a task without attempts left");
      auto write = end_waiting(table_, task, state::kDead, attribute::kError, {}, now.wall);
      out.writes.emplace_back(kept(std::move(write), settings_.keep, now.latest));
    } else if (!key.empty() && !taken_keys.insert(key).second && comes_to_replace(task)) {
      keys.passed_over(key);
      continue;
    } else if (input.budget && spent >= *input.budget) {
      break;
    } else if (limits.on() && !limits.admit(task, step.key_call, now.boot)) {
      continue;
    } else {
      if (input.budget) spent += limits.units_of(task);
      if (limits.is_rated(input)) step.call = limits.charge(task, now.boot);
      step.lease = claims.new_token();
      out.writes.emplace_back(claim(table_, task, Claim{step.lease, lease, input.owner}, now.wall));
      ++claimed;
    }
    out.steps.push_back(std::move(step));
  }
  return out;
}

TakeOutcome QueueCore::take_answered(TakePlan& plan, std::vector<Result<WriteOutput>>& answers, const TakeInput& input,
                                     const Now& now, std::vector<TakenTask>& taken) {
  TakeOutcome out;
  const auto claimed_for = input.lease.value_or(settings_.lease);
  const size_t before = taken.size();
  uint64_t bytes = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    auto& step = plan.steps[i];
    if (step.key_call) limits.claimed(step.task, *step.key_call, answers[i].has_value(), now.boot);
    if (!answers[i]) {
      FRESHET_REACHED("a claim is refused");
      if (step.call) step.call->never_began();
      // The condition failed, because somebody else was faster. The take looks further.
      Error& error = answers[i].error();
      if (error.code == ErrorCode::kValidation) {
        out.too_large.push_back({step.task, std::move(error.message)});
      } else if (error.code != ErrorCode::kConditionalCheckFailed) {
        if (error.code == ErrorCode::kUnknownOutcome && !step.lease.empty()) {
          out.unsure.push_back({std::string(text_of(step.task, attribute::kId)), step.lease});
        }
        out.failed = std::move(error);
      }
      continue;
    }
    if (step.lease.empty() && !lanes.empty()) lanes.ended(text_of(step.task, attribute::kLane), now.boot);
    if (step.lease.empty() && step.shed_reason.empty()) {
      out.ended.push_back(std::move(answers[i]->attributes));
      continue;
    }
    bytes += step.task.encoded().size();
    if (!step.shed_reason.empty()) {
      out.shed.push_back({step.task, step.shed_reason});
      continue;
    }
    auto& task = answers[i]->attributes;
    if (!lanes.empty()) lanes.served(text_of(step.task, attribute::kLane), now.boot);
    const auto deadline = time_of(step.task, attribute::kDeadline);
    if (settings_.order == Order::kDeadline && deadline > now.wall) {
      times.started(time_of(step.task, attribute::kCreated), deadline, now.wall, now.boot);
    }
    Lease lease{step.lease, 0, claimed_for, true, task, std::move(step.key_call), std::move(step.call)};
    lease.pulled = !input.starts_later;
    claims.started(task, std::move(lease), now.boot);
    taken.push_back(TakenTask{std::move(task), std::move(step.lease), waiting_since(step.task)});
  }
  admission.left(taken.size() + out.shed.size() - before, bytes, now.boot);
  admission.taken(taken.size() - before, now.boot);
  return out;
}

}  // namespace freshet
