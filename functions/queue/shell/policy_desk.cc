#include "functions/queue/shell/policy_desk.h"

#include <cstdio>

#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

constexpr milliseconds kLeastGuard = std::chrono::seconds(10);
constexpr milliseconds kMostGuard = std::chrono::hours(24);

std::string as_text(const QueuePolicy& settings) {
  std::string out;
  for (const auto& [name, value] : settings) out += (out.empty() ? "" : " ") + name + "=" + value;
  return out;
}

std::string percent(double share) {
  char out[16];
  std::snprintf(out, sizeof out, "%.1f", share * 100);
  return out;
}

}  // namespace

QueuePolicy policy_differences(const QueuePolicy& now, const QueuePolicy& wanted) {
  QueuePolicy out;
  for (const auto& [name, value] : wanted) {
    const auto found = now.find(name);
    if (found == now.end() || found->second != value) out.emplace(name, value);
  }
  return out;
}

void PolicyDesk::begin_history() {
  history_ = PolicyHistory();  // Without the changes that were stored.
  history_.begin({wall(), std::make_shared<const QueuePolicy>(policy()), boot()});
}

void PolicyDesk::set_settings(QueueSettings settings) {
  const bool margin = settings.deadline_margin != settings_.deadline_margin;
  const bool order = settings.order != settings_.order;
  const bool runner = settings.runner != settings_.runner;
  const LimitSettings limits = settings_.limits;
  const QueuePolicy before = policy();
  guard_.end();
  settings.layout = settings_.layout;  // It holds until the queue is opened again.
  settings_ = std::move(settings);
  if (QueuePolicy now = policy(); now != before) {
    history_.add({wall(), std::make_shared<const QueuePolicy>(std::move(now)), boot()});
  }
  if (runner && core_.agenda.begun()) parts_.timer.start_soon(nanoseconds(0));
  if (order) core_.lanes.shares().forget_places();
  if (limits != settings_.limits) parts_.limits.follow_limits(limits);
  core_.lanes.follow_settings();
  core_.times.follow_order();
  core_.limits.follow_work();
  parts_.timer.slots_freed();
  // With another margin, other tasks become hopeless, and earlier.
  if (margin && core_.agenda.begun()) parts_.shedding.due_by(epoch_ms(wall()));
}

Result<QueuePolicy> PolicyDesk::check_policy(const QueuePolicy& changes) {
  auto settings = with_policy(settings_, changes);
  if (!settings) return fail(settings.error());
  return policy_environment(*settings);
}

Result<QueuePolicy> PolicyDesk::change_policy(const QueuePolicy& changes) {
  auto settings = with_policy(settings_, changes);
  if (!settings) return fail(settings.error());
  set_settings(std::move(*settings));
  for (const auto& [name, value] : changes) {
    log_.info("POLICY_CHANGED", {{"queue", table_}, {"name", name}, {"value", value}});
  }
  return policy();
}

Result<InTimeCounts> PolicyDesk::check_guard(const PolicyGuardTerms& terms) {
  const auto wrong = [](std::string message) {
    return fail(Error{ErrorCode::kValidation, std::move(message), nullptr});
  };
  if (!(terms.points > 0) || terms.points > 100) return wrong("the points of a guard must be above 0 and at most 100");
  if (terms.within < kLeastGuard || terms.within > kMostGuard) return wrong("the time of a guard must be 10 s to 24 h");
  const InTimeCounts minute = parts_.counts.punctuality().stats(boot()).last_minute;
  if (minute.ended() < PolicyGuard::kLeastEnded) {
    return wrong("only " + std::to_string(minute.ended()) + (minute.ended() == 1 ? " task has" : " tasks have") +
                 " ended in the last minute, and a guard needs " + std::to_string(PolicyGuard::kLeastEnded) +
                 " to compare with: change the policy without one, or when more tasks have ended");
  }
  if (*minute.share() * 100 <= terms.points) {
    return wrong("the share of tasks done in time was " + percent(*minute.share()) +
                 " % in the last minute, so it cannot fall by more than that many points: give the guard fewer points");
  }
  return minute;
}

Result<QueuePolicy> PolicyDesk::change_policy_guarded(const QueuePolicy& changes, const PolicyGuardTerms& terms,
                                                      const InTimeCounts& before) {
  QueueSettings back = settings_;
  auto changed = change_policy(changes);
  if (!changed) return changed;
  guard_.begin(terms, std::move(back), before.share().value_or(0),
               parts_.counts.punctuality().stats(boot()).since_start, boot());
  parts_.timer.hurry(guard_.next_look());
  return changed;
}

bool PolicyDesk::end_guard() {
  const bool was_on = guard_.on();
  guard_.put_aside();
  return was_on;
}

void PolicyDesk::restore_guard() {
  guard_.take_back();
  if (guard_.on()) parts_.timer.hurry(guard_.next_look());
}

std::optional<PolicyGuardState> PolicyDesk::guard_state() const {
  if (!guard_.on()) return std::nullopt;
  PolicyGuardState out;
  out.terms = guard_.terms();
  out.share_before = guard_.share_before();
  out.share_now = guard_.share(parts_.counts.punctuality(), boot());
  out.left = std::chrono::ceil<milliseconds>(std::max(guard_.until() - boot(), nanoseconds(0)));
  out.back = policy_differences(policy_environment(settings_), policy_environment(guard_.before()));
  return out;
}

// Keeps the changed policy or reverts it, when it is time.
Async<void> PolicyDesk::look_at_policy() {
  const auto verdict = guard_.look(parts_.counts.punctuality(), boot());
  if (verdict == PolicyGuard::Verdict::kKeep) {
    guard_.end();
    log_.info("POLICY_KEPT", {{"queue", table_}});
    parts_.kept.guard_ended();
  }
  if (verdict == PolicyGuard::Verdict::kUnjudged) {
    guard_.end();
    log_.warn("POLICY_NOT_JUDGED", {{"queue", table_}});
    parts_.kept.guard_ended();
  }
  if (verdict != PolicyGuard::Verdict::kGoBack) co_return;
  const QueueSettings before = guard_.before();
  const auto back = policy_differences(policy(), policy_environment(before));
  const auto now = guard_.share(parts_.counts.punctuality(), boot());
  const std::string fall = percent(guard_.share_before()) + " % to " + percent(now.value_or(0)) + " %";
  // The change comes before its line in the audit log: while the line is written, somebody may keep the policy or
  // change it, and the line would be wrong. A crash in between does no harm: a change under a guard ends with the
  // daemon.
  set_settings(QueueSettings(before));
  log_.warn("POLICY_WENT_BACK", {{"queue", table_}, {"settings", as_text(back)}, {"inTime", fall}});
  if (base_.audit == nullptr) co_return;
  AuditLine line{"policy", {"freshet", "guard", ""}, table_, {}, back.size(), {}};
  line.detail = "went back: " + as_text(back) + " (done in time: " + fall + ")";
  auto added = co_await base_.audit->add(std::move(line));
  if (!added) log_.warn("AUDIT_LINE_LOST", {{"queue", table_}, {"message", added.error().message}});
}

}  // namespace freshet
