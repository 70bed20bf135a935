// Limits: what the downstream bears, by queue (RATE_LIMIT, the breaker, the learnt concurrency) and by group or key
// (KEY_RATE_LIMIT, KEY_CONCURRENCY), in tasks or in cost. Pure state: no store, clock, coroutine or log; the time is
// passed in. Loop thread.
//
// policy/downstream.h and policy/key_limits.h count; this part knows which limit holds for which task, what a claim is
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

  // The facts about whoever works on the tasks. The processor tells it of its own starts.
  Downstream& downstream() { return downstream_; }
  const Downstream& downstream() const { return downstream_; }
  const KeyLimits& by_name() const { return by_name_; }
  // The share of a limit that a task takes: its cost, or 1.
  double units_of(const ItemRef& task) const;

  // The limits of groups or keys.
  bool on() const { return by_name_.on(); }
  // The group or key whose limits hold for the task; empty: it has none.
  std::string_view name_of(const ItemRef& task) const;
  // Told whenever a group or key reaches its limit or may start again. It does not call back.
  void tell(KeyLimits::OnChange told) { by_name_.tell(std::move(told)); }
  // Sets how many tasks of the group, or of the key, are in work.
  void in_work_of_group(std::string_view group, uint64_t tasks, BootTime now);
  void in_work_of_key(std::string_view key, uint64_t tasks, BootTime now);
  // True if a take may choose the task, which has a group or key, beside those that it has chosen. It is then added to
  // `chosen`.
  bool has_room(const ItemRef& task, ChosenByName& chosen, BootTime now);
  // True if no task of the lane may start, before anything of the lane is read.
  bool is_full(std::string_view lane, BootTime now);
  // True if the task may be claimed now. It is then charged to its group or key, and `call` is that charge.
  bool admit(const ItemRef& task, std::shared_ptr<KeyCall>& call, BootTime now);
  // The store answered that claim.
  void claimed(const ItemRef& task, KeyCall& call, bool ok, BootTime now);
  // The downstream answered for the task that is held under the lease, or nobody did. True if the limit of its group or
  // key is learnt.
  bool answered(const Lease* held, std::string_view token, CallAnswer answer, const LimitHints& hints,
                std::optional<double> cost, BootTime now);
  // The claim has ended: what the task cost beyond what was charged is charged, or given back. `held`: its lease, null
  // if it is not known. `task`: as stored.
  void settled(const Settlement& settlement, const Lease* held, const ItemRef& task, BootTime now);
  // Groups or keys whose time has come may start again. At most `most` of them; true if there may be more.
  bool due(BootTime now, size_t most) { return by_name_.due(now, most); }

  // RATE_LIMIT.
  bool is_rated() const { return settings_.work.rate_adaptive || settings_.work.rate_limit > 0; }
  // RATE_LIMIT counts what pull workers take; the processor counts its own starts.
  bool is_rated(const TakeInput& input) const { return !input.starts_later && is_rated(); }
  // How many tasks the take may have by RATE_LIMIT. Where that bounds cost, the take gets its budget.
  size_t allowed(TakeInput& input, BootTime now);
  // True if RATE_LIMIT lets the take have no more now.
  bool is_used_up(const TakeInput& input, BootTime now);
  // The charge of a claim that RATE_LIMIT counts.
  std::shared_ptr<RatedCall> charge(const ItemRef& task, BootTime now);
  // The claim of a pull worker has ended, which says what its downstream did. True if RATE_LIMIT counted it: another
  // task may start now.
  bool call_ended(const Settlement& settlement, const Lease* held, BootTime now);

  // The settings are others now. `before`: those of before.
  struct Change {
    bool kind = false;   // Groups and keys have taken each other's place, or there are limits for the first time.
    bool lanes = false;  // Keys have lanes of their own now, or have none any more.
  };
  Change compare(const LimitSettings& before) const;
  // Limits of another kind: all that was counted is forgotten, and nothing is at its limit.
  void forget(BootTime now) { by_name_.clear(now); }
  // The limits are these from now on. What is in flight counts.
  void follow_names(BootTime now);
  void follow_work() { downstream_.follow(settings_.work); }

  // The learnt limit is kept across restarts. `limit` was read at the start. True if the learner goes on from there.
  bool remembered(const LearntLimit& limit, BootTime now);
  // The limit to write now; empty: none. looked(): the timer has looked for it.
  std::optional<LearntLimit> to_keep() const;
  std::optional<LearntLimit> looked(BootTime now);
  void kept(const LearntLimit& limit) { kept_rate_.kept(limit); }
  // The write of it failed: the next look gives it out again.
  void not_kept() { kept_rate_.lost(); }
  // The same for the limits of groups or keys. `by_key`: the names that were read are those of keys, not of groups.
  // False if they are of no use now.
  bool remembered_names(std::vector<LearntKey> names, bool by_key, BootTime now);
  // The names and limits to write now; empty: none has moved, or it is too soon and not `at_once`. They count as
  // written.
  std::optional<std::vector<LearntKey>> names_to_keep(BootTime now, bool at_once = false) {
    return by_name_.to_keep(now, at_once);
  }
  // The write of them failed: the next look gives them out again.
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
