#include "tests/sim/fleet/ledger.h"

#include <algorithm>

namespace freshet::fleet_sim {

namespace {

BootTime certain_until(const Claim& claim) {
  BootTime end = claim.take.sent + claim.take.lease;
  if (claim.settle_sent) end = std::min(end, *claim.settle_sent);
  if (claim.void_since) end = std::min(end, *claim.void_since);
  return end;
}

// Whichever was made first, the other one was made while it was held for certain.
bool are_both_held(const Claim& one, const Claim& other) {
  return other.take.answered < certain_until(one) && one.take.answered < certain_until(other);
}

// The order is that of `taskCreated`, in whole milliseconds.
bool not_a_ms_later(BootTime time, BootTime than) {
  return std::chrono::floor<milliseconds>(time) <= std::chrono::floor<milliseconds>(than);
}

bool is_ended(const std::string& status) {
  return status == "SUCCESS" || status == "FAILURE" || status == "DEAD";
}

std::string in_ms(BootTime time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count()) + " ms";
}

}  // namespace

Claim* Ledger::find(const std::string& id, const std::string& lease) {
  const auto task = tasks_.find(id);
  if (task == tasks_.end()) return nullptr;
  for (Claim& claim : task->second.claims) {
    if (claim.lease == lease) return &claim;
  }
  return nullptr;
}

void Ledger::create_sent(const std::string& queue, const std::string& id, BootTime now) {
  const auto [task, is_new] = tasks_.try_emplace(id);
  if (!is_new) return;
  task->second.queue = queue;
  task->second.first_sent = now;
}

void Ledger::put_sent(const std::string& queue, const std::string& id, BootTime now) {
  create_sent(queue, id, now);
  tasks_[id].by_client = true;
}

void Ledger::created(const std::string& id, BootTime now) {
  Task& task = tasks_[id];
  if (!task.acknowledged) task.acknowledged = now;
}

void Ledger::taken(const std::string& id, const std::string& lease, const Take& take) {
  const auto found = tasks_.find(id);
  verdict_.expect(found != tasks_.end(), "a task is given out that nobody created", id);
  if (found == tasks_.end()) return;
  Task& task = found->second;
  verdict_.expect(task.queue == take.queue, "a task is given out by another queue", id);
  Claim claim{lease, take, {}, {}, false};
  for (const Claim& other : task.claims) {
    verdict_.expect(other.lease != lease, "two claims have one lease", id + " " + lease);
    verdict_.expect(!other.completed || take.sent < *other.settle_sent, "a completed task is given out again",
                    id + " " + lease + " after " + other.lease);
    verdict_.expect(!are_both_held(other, claim), "two workers hold one task",
                    id + ": " + other.lease + " from " + in_ms(other.take.answered) + " until " +
                        in_ms(certain_until(other)) + ", and " + lease + " at " + in_ms(take.answered));
  }
  task.claims.push_back(std::move(claim));
}

void Ledger::settle_sent(const std::string& id, const std::string& lease, BootTime now) {
  Claim* claim = find(id, lease);
  if (claim && !claim->settle_sent) claim->settle_sent = now;
}

void Ledger::settled(const std::string& id, const std::string& lease, bool completed) {
  Claim* claim = find(id, lease);
  if (!claim) return;
  for (const Claim& other : tasks_[id].claims) {
    if (other.lease == lease) continue;
    verdict_.expect(!completed || !other.completed, "two leases of a task are completed",
                    id + ": " + other.lease + " and " + lease);
    // A claim that was made after this one, before the settlement was sent at all.
    verdict_.expect(!(other.take.sent > claim->take.answered && other.take.answered < *claim->settle_sent),
                    "a stale holder settles", id + ": " + lease + " although " + other.lease + " was given out");
  }
  claim->completed = claim->completed || completed;
}

void Ledger::settle_refused(const std::string& id, const std::string& lease, BootTime answered) {
  const Claim* claim = find(id, lease);
  if (!claim) return;
  const bool is_void = claim->void_since && *claim->void_since <= answered;
  verdict_.expect(is_void || answered >= claim->take.sent + claim->take.lease, "a holder is refused within its lease",
                  id + ": " + lease + " at " + in_ms(answered));
}

void Ledger::life_begins(const std::string& member, BootTime now) {
  const std::string prefix = member + ":";
  for (auto& [id, task] : tasks_) {
    for (Claim& claim : task.claims) {
      if (!claim.void_since && claim.lease.starts_with(prefix)) claim.void_since = now;
    }
  }
}

void Ledger::judge_end(const std::map<std::string, StoredTask>& items) {
  for (const auto& [id, task] : tasks_) {
    const auto item = items.find(id);
    if (item == items.end()) {
      verdict_.expect(!task.acknowledged, "an acknowledged task is lost", id);
      verdict_.expect(task.claims.empty(), "a task is lost that was given out", id);
      continue;
    }
    const bool completed =
        std::any_of(task.claims.begin(), task.claims.end(), [](const Claim& claim) { return claim.completed; });
    verdict_.expect(!completed || item->second.status == "SUCCESS", "a completed task is no SUCCESS",
                    id + ": " + item->second.status);
    verdict_.expect(is_ended(item->second.status), "a task has not ended at rest", id + ": " + item->second.status);
  }
  for (const auto& [id, item] : items) {
    verdict_.expect(tasks_.contains(id), "there is a task that nobody created", id);
  }
}

void Ledger::judge_first(const Task& newer, const std::string& id, const Task& older, const std::string& old_id,
                         const Claim& claim) {
  ++order_checks_;
  verdict_.broken("an older task is taken before a newer one",
                  old_id + " was created by " + in_ms(*older.acknowledged) + " and taken from " +
                      in_ms(claim.take.sent) + " to " + in_ms(claim.take.answered) + ", while " + id +
                      " waited, created from " + in_ms(newer.first_sent) + " to " + in_ms(*newer.acknowledged));
}

void Ledger::judge_order(const std::map<std::string, StoredTask>& items,
                         const std::function<bool(const std::string&, BootTime, BootTime)>& calm) {
  const auto all_claims_known = [&](const std::string& id, const Task& task) {
    const auto item = items.find(id);
    return item != items.end() && item->second.attempt == static_cast<int64_t>(task.claims.size());
  };
  for (const auto& [old_id, older] : tasks_) {
    if (!older.acknowledged) continue;
    for (const Claim& claim : older.claims) {
      for (const auto& [id, newer] : tasks_) {
        if (newer.queue != older.queue || newer.by_client || !newer.acknowledged ||
            not_a_ms_later(newer.first_sent, *older.acknowledged))
          continue;
        if (*newer.acknowledged >= claim.take.sent || !all_claims_known(id, newer)) continue;
        ++order_checks_;
        if (newer.claims.empty() || newer.claims.front().take.sent < claim.take.answered) continue;
        const bool is_doubtful =
            std::any_of(unknown_.begin(), unknown_.end(), [&claim, &task = newer](const Take& take) {
              return take.queue == task.queue && take.sent < claim.take.answered && take.answered > task.first_sent;
            });
        if (is_doubtful || !calm(newer.queue, newer.first_sent, claim.take.answered)) continue;
        judge_first(newer, id, older, old_id, claim);
      }
    }
  }
}

}  // namespace freshet::fleet_sim
