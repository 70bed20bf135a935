// Limits of each group or key (KEY_RATE_LIMIT, KEY_CONCURRENCY), where a queue meets them. policy/key_limits.h counts;
// a lane whose group or key is at its limit has no turn (policy/fair_share.h); and a task is only claimed if its group
// or key admits it then, whatever lane it is in. docs/policies.md, "Limits by group and by key".
#include <fmt/format.h>

#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/queue_lane_reads.h"
#include "functions/queue/task_life.h"

namespace freshet {

// The group or key whose limits hold for the task; empty: it has none.
std::string_view Queue::limited_by(const ItemRef& task) const {
  if (settings_.limits.by_key) return key_of(task);
  const auto group = text_of(task, attribute::kGroup);
  return group.size() <= kMaxGroupBytes ? group : std::string_view();
}

double Queue::units_of(const ItemRef& task) const {
  return settings_.limits.counts_cost ? cost_of(task, settings_.limits.default_cost) : 1;
}

void Queue::tell_limits() {
  claims_.tell_groups([this](std::string_view group, uint64_t tasks) {
    lanes_.shares().in_work(group, tasks);
    if (limits_.on() && !settings_.limits.by_key && !group.empty()) limits_.in_flight(group, tasks, boot());
  });
  claims_.tell_keys([this](std::string_view key, uint64_t tasks) {
    if (limits_.on() && settings_.limits.by_key) limits_.in_flight(key, tasks, boot());
    if (tasks == 0) key_freed(key);
  });
  limits_.tell([this](std::string_view name, bool may_start) { limit_changed(name, may_start); });
  follow_limits(LimitSettings());
}

void Queue::limit_changed(std::string_view name, bool may_start) {
  const auto of = settings_.limits.by_key ? FairShares::Of::kKey : FairShares::Of::kGroup;
  if (!may_start) return lanes_.shares().hold(of, name);
  lanes_.shares().allow(of, name);
  wake();
  if (processors_ == 0) start_soon(nanoseconds(0));
}

// The settings are others now. What is in flight counts; what was started under limits of another kind does not.
void Queue::follow_limits(const LimitSettings& before) {
  const auto& now = settings_.limits;
  const bool others = now.by_key != before.by_key || now.any() != before.any();
  if (others) {
    limits_.clear(boot());
    lanes_.shares().allow_all();
  }
  limits_.set({now.rate, now.tokens_at_once(), now.concurrency, now.learnt}, boot());
  if (others && now.any()) {
    for (const auto& [name, tasks] : now.by_key ? claims_.leases().by_key() : claims_.leases().by_group()) {
      limits_.in_flight(name, tasks, boot());
    }
  }
  const bool had_lanes = before.by_key && before.any();
  if (had_lanes != lanes_.are_by_key() && begun_) scope_.spawn(adopt_all());
  if (!begun_) return;
  hurry(limits_.next_due());
  wake_all();
  if (processors_ == 0) start_soon(nanoseconds(0));
}

// Whether the take may choose that task beside those that it has chosen.
bool Queue::has_room(const ItemRef& task, Asked& asked) {
  if (!limits_.on()) return true;
  const auto name = limited_by(task);
  if (name.empty() || !expired(task, wall_guard_.earliest(), definition_.ttl_in_milliseconds).empty()) return true;
  auto at = asked.find(name);
  if (at == asked.end()) at = asked.try_emplace(std::string(name)).first;
  if (!limits_.may_start(name, boot(), at->second.tasks, at->second.cost)) return false;
  ++at->second.tasks;
  at->second.cost += units_of(task);
  return true;
}

// Whether nothing of that lane may start, before anything of it is read.
bool Queue::is_at_limit(std::string_view lane) {
  if (settings_.limits.by_key) return is_key_lane(lane) && !limits_.may_start(lane_key(lane), boot());
  const auto group = lane_group(lane);
  return !group.empty() && !is_key_lane(lane) && !limits_.may_start(group, boot());
}

// Whether the task may be claimed now; then it is charged to its group or key.
bool Queue::admit(const ItemRef& task, std::shared_ptr<KeyCall>& call) {
  const auto name = limited_by(task);
  if (name.empty()) return true;
  if (!limits_.may_start(name, boot())) return false;
  call = limits_.started(name, units_of(task), boot());
  return true;
}

void Queue::claimed(const ItemRef& task, KeyCall& call, bool ok) {
  limits_.claimed(limited_by(task), call, ok, boot());
}

bool Queue::answered(const ItemRef& task, std::string_view lease, CallAnswer answer, const LimitHints& hints,
                     std::optional<double> cost) {
  if (!limits_.limits().learnt) return false;
  const Lease* held = claims_.leases().find(std::string(text_of(task, attribute::kId)));
  if (held == nullptr || held->token != lease || !held->key_call || !held->key_call->learner) return false;
  limits_.answered(limited_by(task), *held->key_call, answer, boot(), hints, cost);
  return true;
}

// A pull worker has settled: that says what its downstream did.
void Queue::settle_call(const Settlement& settlement, const Lease& lease) {
  const bool gave_back = settlement.kind == Settlement::Kind::kRelease;
  const auto answer = !gave_back ? CallAnswer::kTaken : settlement.begun ? CallAnswer::kRefused : CallAnswer::kUnknown;
  const auto cost = settings_.limits.counts_cost ? settlement.cost : std::nullopt;
  limits_.answered(limited_by(lease.task), *lease.key_call, answer, boot(), {}, cost);
}

// The work on a task has ended: what it cost beyond what was charged is charged, or given back.
void Queue::charge_difference(const Settlement& settlement, const ItemRef& task) {
  const auto name = limited_by(task);
  const Lease* lease = claims_.leases().find(settlement.id);
  const bool known = lease != nullptr && lease->token == settlement.lease;
  if (name.empty() || !known) return;
  if (lease->key_call && limits_.limits().learnt) return settle_call(settlement, *lease);
  const double charged = lease->key_call ? lease->key_call->cost : units_of(lease->task);
  const bool told = settlement.cost && settings_.limits.counts_cost;
  const double real = !settlement.begun ? 0 : told ? *settlement.cost : charged;
  limits_.charge(name, real - charged, boot());
}

// Reads the lane of a key, or that of the share's tasks without one, from its beginning.
Async<Result<void>> Queue::open_lane(std::string lane, KeysRead& read, bool newest_first) {
  if (is_key_lane(lane) && pauses_.holds_key(lane_key(lane))) co_return Result<void>();
  ++read.looked;
  LaneRead& its = read.lanes[lane];
  if (limits_.on() && is_at_limit(lane)) co_return Result<void>();
  its.urgent = by_deadline(lane);
  std::string name = lane;
  auto done = co_await read_lane(std::move(name), its, 1, newest_first);
  if (!done) co_return fail(done.error());
  if (its.tasks.empty() && lanes_.shares().may_hold(lane)) {
    --read.looked;
    ++read.passed;
  }
  if (its.tasks.empty()) co_return Result<void>();
  const int64_t place = lanes_.place_of(its.tasks[0]);
  lanes_.shares().placed(lane, place);
  read.heads.emplace(place, std::move(lane));
  co_return Result<void>();
}

// The next task of a share whose keys have lanes, in the order of the queue as far as the lanes are known; null if
// there is none that may start.
Async<Result<ItemRef>> Queue::next_of_keys(std::string share, KeysRead& read, Asked& asked, bool newest_first) {
  for (;;) {
    auto next = lanes_.shares().next(share, read.last);
    const bool comes_first = next && (read.heads.empty() || next->first <= read.heads.begin()->first);
    const bool may_pass = read.passed < KeysRead::kMostPassed;
    if (comes_first && read.looked < read.most && may_pass) {
      read.last = next;
      if (read.lanes.contains(next->second)) continue;
      auto opened = co_await open_lane(std::move(next->second), read, newest_first);
      if (!opened) co_return fail(opened.error());
      continue;
    }
    read.cut = read.cut || (comes_first && may_pass);
    if (read.heads.empty()) co_return ItemRef();
    const std::string lane = std::move(read.heads.extract(read.heads.begin()).value().second);
    LaneRead& its = read.lanes[lane];
    ItemRef task = its.tasks[its.given++];
    const bool room = has_room(task, asked);
    if (!room && is_key_lane(lane)) continue;  // Nor may the others of its key.
    if (its.given == its.tasks.size() && its.more && ++read.looked <= read.most) {
      std::string name = lane;
      auto done = co_await read_lane(std::move(name), its, 1, newest_first);
      if (!done) co_return fail(done.error());
    }
    if (its.given < its.tasks.size()) read.heads.emplace(lanes_.place_of(its.tasks[its.given]), lane);
    if (room) co_return task;
  }
}

void Queue::explain_limits(Explanation& out) {
  if (!limits_.on()) return;
  const std::string name(limited_by(out.task));
  const auto standing = name.empty() ? std::nullopt : limits_.standing(name, boot());
  if (!standing) return;
  const auto& limits = settings_.limits;
  const std::string its = (limits.by_key ? "its key " : "its group ") + name;
  if (standing->is_rate) {
    const auto wait = std::chrono::ceil<milliseconds>(standing->at - boot());
    out.why.push_back({"key-rate-limit", fmt::format("{} is at KEY_RATE_LIMIT {}{:.3g}/s{}; may start in {}", its,
                                                     limits.learnt ? "adaptive, which has learnt " : "", standing->rate,
                                                     limits.counts_cost ? " of cost" : "", in_words(wait))});
  } else {
    out.why.push_back({"key-concurrency", fmt::format("{} has {} in work: KEY_CONCURRENCY is {}", its,
                                                      standing->in_flight, limits.concurrency)});
  }
}

}  // namespace freshet
