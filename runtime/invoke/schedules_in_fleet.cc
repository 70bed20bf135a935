// Schedules of a fleet: reading them in the shared store, and claiming their firings.
#include <algorithm>
#include <utility>

#include "base/under_way.h"
#include "runtime/invoke/schedules.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

constexpr nanoseconds kLookAgain = seconds(1);

// The schedule in the shared store. During an upgrade of a fleet, daemons may have it with different expressions.
std::string shared_id(const ScheduleDefinition& schedule) {
  return schedule.name + "|" + schedule.expression;
}

}  // namespace

void Schedules::share(std::string daemon, std::function<bool()> may_fire) {
  fleet_.emplace(Fleet{std::move(daemon), std::move(may_fire), false, {}, {}});
}

// Reads when the schedule fired in the fleet, and fires it if this daemon has claimed that and not done it.
Async<void> Schedules::look(ScheduleDefinition definition) {
  const Entry& before = entries_.at(definition.name);
  auto reading = read_shared(shared_id(definition), before.start, before.last);
  auto times = co_await reading;
  if (!times) {
    if (times.error().code == ErrorCode::kResourceNotFound) fleet_->has_table = false;
    failed(definition.name, times.error());
    co_return look_later(definition);
  }
  Entry* entry = find(definition);
  if (!entry || paused_) co_return look_later(definition);
  // The engine may still show what a claim has found changed.
  if (std::exchange(entry->refused, std::nullopt) == times->last) co_return look_later(definition);
  const auto found = times->claims.find(fleet_->daemon);
  const FiringClaim mine = found == times->claims.end() ? FiringClaim{} : found->second;
  // A time that a wrong clock has written must not count as a firing.
  follow(*entry, parts_.wall.reckoned());
  auto learning = learn(definition, *times);
  const bool is_known = co_await learning;
  entry = find(definition);
  if (!is_known || !entry || !entry->claimed) co_return look_later(definition);
  entry->seen = std::move(*times);
  fleet_->errors.erase(definition.name);
  if (mine.number > *entry->claimed) {
    const UnderWay counted(claims_);
    Firing owed{std::move(definition), mine.time, mine.at, mine.number};
    auto firing = fire(std::move(owed));
    co_await firing;
    co_return;
  }
  firing_.erase(definition.name);
  arm(*entry);
}

Async<Result<ScheduleTimes>> Schedules::read_shared(std::string id, WallTime start, WallTime last) {
  if (!fleet_->has_table) {
    auto provided = co_await provide_schedules_table(parts_.tables);
    if (!provided) co_return fail(std::move(provided.error()));
    fleet_->has_table = true;
  }
  auto reading = read_schedule(parts_.tables, std::move(id), start, last);
  co_return co_await reading;
}

// Takes over the times, and stores them if they are new: a start without a fleet must not repeat what others have
// fired, and a restart must tell a claim of before from one that is new. Returns false if they cannot be stored.
Async<bool> Schedules::learn(ScheduleDefinition definition, ScheduleTimes times) {
  Entry* entry = find(definition);
  const bool is_new = !entry->claimed || times.last > entry->last || times.start != entry->start;
  if (!entry->claimed) entry->claimed = times.claims[fleet_->daemon].number;
  entry->start = times.start;
  entry->last = std::max(entry->last, times.last);
  if (entry->is_stored && !is_new) co_return true;
  entry->is_stored = false;
  auto writing = parts_.tables.put_item(put_system_item(state_of(*entry)));
  auto written = co_await writing;
  if (!written) failed(definition.name, written.error());
  entry = find(definition);
  if (entry && written) entry->is_stored = true;
  co_return written.has_value();
}

Async<void> Schedules::claim(Firing firing) {
  const UnderWay counted(claims_);
  const Entry& before = *find(firing.definition);
  ScheduleTimes seen = *before.seen;
  const FiringClaim made{std::max(*before.claimed, seen.claims[fleet_->daemon].number) + 1, firing.time, firing.last};
  const WallTime seen_last = seen.last;
  firing.claim = made.number;
  auto claiming = claim_firing(parts_.tables, shared_id(firing.definition), fleet_->daemon, std::move(seen), made);
  auto claimed = co_await claiming;
  Entry* entry = find(firing.definition);
  if (claimed) {
    fleet_->errors.erase(firing.definition.name);
    if (entry && entry->seen) {
      entry->seen->last = made.at;
      entry->seen->claims[fleet_->daemon] = made;
    }
    auto firing_now = fire(std::move(firing));
    co_await firing_now;
    co_return;
  }
  if (!entry) co_return look_later(firing.definition);
  entry->seen.reset();
  if (claimed.error().code != ErrorCode::kConditionalCheckFailed) {
    failed(firing.definition.name, claimed.error());
    co_return look_later(firing.definition);
  }
  entry->refused = seen_last;  // Another daemon has claimed it.
  firing_.erase(firing.definition.name);
  arm(*entry);
}

void Schedules::failed(const std::string& name, const Error& error) {
  std::string& said = fleet_->errors[name];
  if (said == error.message) return;
  said = error.message;
  parts_.log.warn("SCHEDULE_WAITS", {{"schedule", name}, {"error", error.message}});
}

void Schedules::look_later(const ScheduleDefinition& definition) {
  firing_.erase(definition.name);
  const auto entry = entries_.find(definition.name);
  if (entry == entries_.end() || paused_ || !entry->second.definition.enabled) return;
  entry->second.seen.reset();
  arm_after(entry->second, kLookAgain);
}

}  // namespace freshet
