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

void Queue::tell_limits() {
  core_.claims.tell_groups([this](std::string_view group, uint64_t tasks) {
    core_.lanes.shares().in_work(group, tasks);
    core_.limits.in_work_of_group(group, tasks, boot());
  });
  core_.claims.tell_keys([this](std::string_view key, uint64_t tasks) {
    core_.limits.in_work_of_key(key, tasks, boot());
    if (tasks == 0) key_freed(key);
  });
  core_.limits.tell([this](std::string_view name, bool may_start) { limit_changed(name, may_start); });
  follow_limits(LimitSettings());
}

void Queue::limit_changed(std::string_view name, bool may_start) {
  const auto of = settings_.limits.by_key ? FairShares::Of::kKey : FairShares::Of::kGroup;
  if (!may_start) return core_.lanes.shares().hold(of, name);
  core_.lanes.shares().allow(of, name);
  wake();
  if (!core_.agenda.has_processor()) start_soon(nanoseconds(0));
}

// The settings are others now. What is in flight counts; what was started under limits of another kind does not.
void Queue::follow_limits(const LimitSettings& before) {
  const auto change = core_.limits.compare(before);
  if (change.kind) {
    core_.limits.forget(boot());
    core_.lanes.shares().allow_all();
  }
  core_.limits.follow_names(boot());
  if (change.kind) {
    for (const auto& [group, tasks] : core_.claims.leases().by_group())
      core_.limits.in_work_of_group(group, tasks, boot());
    for (const auto& [key, tasks] : core_.claims.leases().by_key()) core_.limits.in_work_of_key(key, tasks, boot());
  }
  if (change.lanes && core_.agenda.begun()) scope_.spawn(adopt_all());
  if (!core_.agenda.begun()) return;
  hurry(core_.limits.by_name().next_due());
  wake_all();
  if (!core_.agenda.has_processor()) start_soon(nanoseconds(0));
}

bool Queue::answered(const ItemRef& task, std::string_view lease, CallAnswer answer, const LimitHints& hints,
                     std::optional<double> cost) {
  if (!core_.limits.by_name().limits().learnt) return false;
  const Lease* held = core_.claims.leases().find(std::string(text_of(task, attribute::kId)));
  return core_.limits.answered(held, lease, answer, hints, cost, boot());
}

// Reads the lane of a key, or that of the share's tasks without one, from its beginning.
Async<Result<void>> Queue::open_lane(std::string lane, KeysRead& read, bool newest_first) {
  if (is_key_lane(lane) && core_.pauses.holds_key(lane_key(lane))) co_return Result<void>();
  ++read.looked;
  LaneRead& its = read.lanes[lane];
  if (core_.limits.on() && core_.limits.is_full(lane, boot())) co_return Result<void>();
  its.urgent = by_deadline(lane);
  std::string name = lane;
  auto done = co_await read_lane(std::move(name), its, 1, newest_first);
  if (!done) co_return fail(done.error());
  if (its.tasks.empty() && core_.lanes.shares().may_hold(lane)) {
    --read.looked;
    ++read.passed;
  }
  if (its.tasks.empty()) co_return Result<void>();
  const int64_t place = core_.lanes.place_of(its.tasks[0]);
  core_.lanes.shares().placed(lane, place);
  read.heads.emplace(place, std::move(lane));
  co_return Result<void>();
}

// The next task of a share whose keys have lanes, in the order of the queue as far as the lanes are known; null if
// there is none that may start.
Async<Result<ItemRef>> Queue::next_of_keys(std::string share, KeysRead& read, ChosenByName& chosen, bool newest_first) {
  for (;;) {
    auto next = core_.lanes.shares().next(share, read.last);
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
    const bool room = !core_.limits.on() || core_.has_room(task, chosen, now_checked());
    if (!room && is_key_lane(lane)) continue;  // Nor may the others of its key.
    if (its.given == its.tasks.size() && its.more && ++read.looked <= read.most) {
      std::string name = lane;
      auto done = co_await read_lane(std::move(name), its, 1, newest_first);
      if (!done) co_return fail(done.error());
    }
    if (its.given < its.tasks.size()) read.heads.emplace(core_.lanes.place_of(its.tasks[its.given]), lane);
    if (room) co_return task;
  }
}

void Queue::explain_limits(Explanation& out) {
  if (!core_.limits.on()) return;
  const std::string name(core_.limits.name_of(out.task));
  const auto standing = name.empty() ? std::nullopt : core_.limits.by_name().standing(name, boot());
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
