// Changes the settings of a running queue, and reverts a change that did harm. Loop thread.
#pragma once

#include <optional>

#include "functions/queue/policy_guard.h"
#include "functions/queue/policy_history.h"
#include "functions/queue/shell/part.h"

namespace freshet {

// The settings of `wanted` that differ in `now` or are missing there.
QueuePolicy policy_differences(const QueuePolicy& now, const QueuePolicy& wanted);

class PolicyDesk : QueuePart {
 public:
  using QueuePart::QueuePart;

  void begin_history();
  PolicyChanges changes(uint64_t from) const { return history_.from(from); }

  QueuePolicy policy() const { return policy_environment(settings_); }
  // The settings apply to tasks that are claimed or fail from now on.
  void set_settings(QueueSettings settings);
  Result<QueuePolicy> check_policy(const QueuePolicy& changes);
  Result<QueuePolicy> change_policy(const QueuePolicy& changes);

  Result<InTimeCounts> check_guard(const PolicyGuardTerms& terms);
  Result<QueuePolicy> change_policy_guarded(const QueuePolicy& changes, const PolicyGuardTerms& terms,
                                            const InTimeCounts& before);
  bool end_guard();
  void restore_guard();
  std::optional<PolicyGuardState> guard_state() const;
  // Keeps the changed policy or reverts it. Call it when next_look() is reached.
  Async<void> look_at_policy();
  BootTime next_look() const { return guard_.next_look(); }

 private:
  PolicyHistory history_;
  PolicyGuard guard_;
};

}  // namespace freshet
