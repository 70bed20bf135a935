// Limits: how much the downstream can take, per queue (RATE_LIMIT, the breaker, the learnt concurrency) and per group
// or key (KEY_RATE_LIMIT, KEY_CONCURRENCY), in tasks or in cost. Pure state: no store, clock, coroutine or log; the
// time is passed in. Loop thread.
//
// policy/downstream.h and policy/key_limits.h count. This part knows which limit applies to which task, what a claim is
// charged, and what the end of a claim says about the downstream. docs/policies.md, "Limits by group and by key".
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/queue/lease.h"
#include "functions/queue/policy/downstream.h"
#include "functions/queue/policy/kept_rate.h"
#include "functions/queue/policy/key_limits.h"
#include "functions/settings.h"
#include "runtime/api/task_queue.h"

namespace freshet {

// The tasks of one group or key that a take has chosen.
struct KeyClaims {
  uint64_t tasks = 0;
  double cost = 0;
};
using ChosenByName = std::map<std::string, KeyClaims, std::less<>>;

class Limits {
 public:
  // The settings outlive this.
  explicit Limits(const QueueSettings& settings);
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;

  // The facts that are known about the runner or the workers. The processor reports its own starts there.
  Downstream& downstream() { return downstream_; }
  const Downstream& downstream() const { return downstream_; }
  const KeyLimits& by_name() const { return by_name_; }
  // The units of a limit that a task uses: its cost, or 1.
  double units_of(const ItemRef& task) const;

  // True if groups or keys have limits.
  bool on() const { return by_name_.on(); }
  // The group or key whose limits apply to the task; empty: none.
  std::string_view name_of(const ItemRef& task) const;
  // `callback` is called whenever a group or key reaches its limit or may start again. It must not call back.
  void on_change(KeyLimits::OnChange callback) { by_name_.on_change(std::move(callback)); }
  // Sets how many tasks of the group, or of the key, are in work.
  void in_work_of_group(std::string_view group, uint64_t tasks, BootTime now);
  void in_work_of_key(std::string_view key, uint64_t tasks, BootTime now);
  // True if a take may choose the task, which has a group or key, in addition to those that it has chosen. The task is
  // then added to `chosen`.
  bool has_room(const ItemRef& task, ChosenByName& chosen, BootTime now);
  // True if no task of the lane may start. Known before the lane is read.
  bool is_full(std::string_view lane, BootTime now);
  // True if the task may be claimed now. It is then charged to its group or key, and `call` is set to the charge.
  bool admit(const ItemRef& task, std::shared_ptr<KeyCall>& call, BootTime now);
  // The store answered that claim.
  void claimed(const ItemRef& task, KeyCall& call, bool ok, BootTime now);
  // The downstream call for the task that is held under the lease ended, with or without an answer. True if the limit
  // of its group or key is learnt.
  bool answered(const Lease* held, std::string_view token, CallAnswer answer, const LimitHints& hints,
                std::optional<double> cost, BootTime now);
  // The claim has ended: charges or gives back the difference between the task's cost and what was charged. `held`: its
  // lease, null if it is not known. `task`: as stored.
  void settled(const Settlement& settlement, const Lease* held, const ItemRef& task, BootTime now);
  // Lets groups or keys whose time has come start again, at most `most` of them. True if there may be more.
  bool due(BootTime now, size_t most) { return by_name_.due(now, most); }

  // True if the queue has a RATE_LIMIT.
  bool is_rated() const { return settings_.work.rate_adaptive || settings_.work.rate_limit > 0; }
  // True if RATE_LIMIT counts this take: that of a pull worker. The processor counts its own starts.
  bool is_rated(const TakeInput& input) const { return !input.starts_later && is_rated(); }
  // The number of tasks that RATE_LIMIT allows the take. If RATE_LIMIT is in cost, sets the take's budget.
  size_t allowed(TakeInput& input, BootTime now);
  // True if RATE_LIMIT allows the take no more tasks now.
  bool is_used_up(const TakeInput& input, BootTime now);
  // The charge of a claim that RATE_LIMIT counts.
  std::shared_ptr<RatedCall> charge(const ItemRef& task, BootTime now);
  // The claim of a pull worker has ended, which shows how its downstream answered. True if RATE_LIMIT counted it, so
  // that another task may start now.
  bool call_ended(const Settlement& settlement, const Lease* held, BootTime now);

  // The effect of a change of settings on groups and keys. `before`: the old settings.
  struct Change {
    bool kind = false;   // Limits are now by group instead of by key, the other way round, or new.
    bool lanes = false;  // Keys now have lanes of their own, or no longer have them.
  };
  Change compare(const LimitSettings& before) const;
  // Forgets all counts, so that nothing is at its limit. For limits of another kind.
  void forget(BootTime now) { by_name_.clear(now); }
  // Applies the new limits. What is in flight counts.
  void follow_names(BootTime now);
  void follow_work() { downstream_.follow(settings_.work); }

  // The learnt limit is kept across restarts. `limit` was read at startup. True if the learner goes on from it.
  bool remembered(const LearntLimit& limit, BootTime now);
  // to_keep(): the limit to write now; empty: none. looked(): the same, but called by the timer, and not before it is
  // due.
  std::optional<LearntLimit> to_keep() const;
  std::optional<LearntLimit> looked(BootTime now);
  void kept(const LearntLimit& limit) { kept_rate_.kept(limit); }
  // That write failed: the next looked() returns the limit again.
  void not_kept() { kept_rate_.lost(); }
  // The same for the limits of groups or keys. `by_key`: the names are those of keys, not of groups. False if they are
  // of no use now.
  bool remembered_names(std::vector<LearntKey> names, bool by_key, BootTime now);
  // The names and limits to write now; they count as written. Empty: none has changed, or it is too soon and not
  // `at_once`.
  std::optional<std::vector<LearntKey>> names_to_keep(BootTime now, bool at_once = false) {
    return by_name_.to_keep(now, at_once);
  }
  // That write failed: the next call returns them again.
  void names_not_kept() { by_name_.not_kept(); }

  // When the timer has to look next; BootTime::max() for never.
  BootTime next_look(BootTime now) const;

 private:
  const QueueSettings& settings_;
  KeyLimits by_name_;
  Downstream downstream_;
  KeptRate kept_rate_;
};

}  // namespace freshet
