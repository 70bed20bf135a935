#include "runtime/invoke/schedules.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/invoke/codec.h"
#include "runtime/invoke/destinations.h"
#include "streams/system_table.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

constexpr std::string_view kScheduleStateKind = "schedule-state";
constexpr std::string_view kClaimed = "claimed";
constexpr std::string_view kClaimedOf = "claimedOf";
constexpr milliseconds kLongestWait{60'000};
constexpr nanoseconds kRetry = seconds(1);
// If the clock is set back by at most this, a schedule that has fired since does not fire again.
constexpr milliseconds kSmallStep{60'000};

Item state_item(const std::string& name, WallTime start, WallTime last) {
  Item item = system_item(kScheduleStateKind, name);
  item.set("start", Value::number(epoch_ms(start)));
  item.set("last", Value::number(epoch_ms(last)));
  return item;
}

// Claims are counted for each expression (tables/lease/schedule_claims.h).
void set_claimed(Item& state, const ScheduleDefinition& schedule, uint64_t claimed) {
  state.set(kClaimed, Value::number(static_cast<int64_t>(claimed)));
  state.set(kClaimedOf, Value(schedule.expression));
}

Result<ScheduleExpression> check(const ScheduleDefinition& schedule) {
  const auto bad = [&](std::string_view what) {
    return invalid(fmt::format("Schedule \"{}\": {}", schedule.name, what));
  };
  if (schedule.name.empty() || schedule.name.size() > 256) return bad("a name has 1 to 256 characters");
  if (schedule.function.empty()) return bad("it names no function");
  auto expression = ScheduleExpression::parse(schedule.expression);
  if (!expression) return bad(expression.error().message);
  if (!schedule.input.empty()) {
    const auto input = parse_plain_json(schedule.input);
    if (!input && input.error().code == ErrorCode::kSerialization) return bad("its input is not JSON");
  }
  return expression;
}

}  // namespace

Schedules::~Schedules() {
  pause();
}

void Schedules::end_all() {
  pause();
  work_.clear();
}

void Schedules::pause() {
  paused_ = true;
  for (auto& [name, entry] : entries_) {
    parts_.scheduler.cancel(entry.timer);
    entry.timer = 0;
  }
}

Item Schedules::state_of(const Entry& entry) const {
  Item item = state_item(entry.definition.name, entry.start, entry.last);
  if (entry.claimed) set_claimed(item, entry.definition, *entry.claimed);
  return item;
}

Async<Result<void>> Schedules::load() {
  auto states = co_await load_system_items(parts_.tables, std::string(kScheduleStateKind));
  if (!states) co_return fail(std::move(states.error()));
  std::map<std::string, Item> by_name;
  for (const ItemRef& ref : *states) {
    Item state = ref.decode();
    std::string name(state.string_or("id"));
    by_name[std::move(name)] = std::move(state);
  }
  auto items = co_await load_system_items(parts_.tables, std::string(kScheduleKind));
  if (!items) co_return fail(std::move(items.error()));
  const WallTime now = parts_.wall.reckoned();
  for (const ItemRef& ref : *items) {
    ScheduleDefinition definition = schedule_of(ref.decode());
    auto expression = check(definition);
    if (!expression) {
      parts_.log.error("SCHEDULE_NOT_LOADED", {{"schedule", definition.name}, {"error", expression.error().message}});
      continue;
    }
    const Item& state = by_name[definition.name];
    const WallTime start(milliseconds(state.int_or("start", epoch_ms(now))));
    const WallTime last(milliseconds(state.int_or("last", epoch_ms(now))));
    Entry entry{std::move(definition), std::move(*expression), start, last};
    if (fleet_ && state.string_or(kClaimedOf) == entry.definition.expression)
      entry.claimed = static_cast<uint64_t>(state.int_or(kClaimed, 0));
    add(std::move(entry));
  }
  co_return Result<void>();
}

Async<Result<void>> Schedules::put(ScheduleDefinition schedule) {
  auto expression = check(schedule);
  if (!expression) co_return fail(std::move(expression.error()));
  schedule.function = function_name(schedule.function);
  const auto known = entries_.find(schedule.name);
  if (known != entries_.end() && known->second.definition == schedule) co_return Result<void>();
  const WallTime now = parts_.wall.reckoned();
  const bool goes_on = known != entries_.end() && known->second.expression == *expression;
  const bool was_on = known != entries_.end() && known->second.definition.enabled;
  Entry entry{schedule, std::move(*expression), goes_on ? known->second.start : now,
              goes_on && was_on ? known->second.last : now};
  // This includes a schedule that was off: a firing that has happened is not repeated.
  if (goes_on) entry.last = std::max(entry.last, known->second.last);
  // A firing that was claimed before it was off is not made up for when it is on again.
  if (goes_on && was_on) entry.claimed = known->second.claimed;
  std::optional<uint64_t> claimed = goes_on ? known->second.claimed : std::nullopt;
  for (bool is_true = false; !is_true;) {
    std::vector<WriteInput> writes{put_system_item(to_item(schedule)), put_system_item(state_of(entry))};
    auto written = co_await write_together(parts_.tables, std::move(writes));
    if (!written) co_return written;
    // It may have fired in the meantime.
    const Entry* current = find(schedule);
    is_true = !current || (current->last <= entry.last && current->claimed <= claimed);
    if (is_true) break;
    entry.last = std::max(entry.last, current->last);
    entry.claimed = claimed = current->claimed;
  }
  forget_events(schedule.name);
  add(std::move(entry));
  co_return Result<void>();
}

Async<Result<void>> Schedules::remove(std::string name) {
  if (!entries_.contains(name)) {
    co_return fail(ErrorCode::kNotFound, fmt::format("There is no schedule \"{}\"", name));
  }
  std::vector<WriteInput> writes{delete_system_item(kScheduleKind, name), delete_system_item(kScheduleStateKind, name)};
  auto written = co_await write_together(parts_.tables, std::move(writes));
  if (!written) co_return written;
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) co_return Result<void>();
  parts_.scheduler.cancel(entry->second.timer);
  entries_.erase(entry);
  if (fleet_) fleet_->errors.erase(name);
  forget_events(name);
  co_return Result<void>();
}

std::vector<ScheduleDefinition> Schedules::list() const {
  std::vector<ScheduleDefinition> all;
  for (const auto& [name, entry] : entries_) all.push_back(entry.definition);
  return all;
}

std::vector<ScheduleState> Schedules::states() const {
  std::vector<ScheduleState> all;
  for (const auto& [name, entry] : entries_) {
    ScheduleState& state = all.emplace_back();
    state.definition = entry.definition;
    if (has_fired(entry)) state.last = entry.last;
    if (entry.definition.enabled) state.next = entry.expression.next_fire(entry.last, entry.start);
  }
  return all;
}

void Schedules::add(Entry entry) {
  const std::string name = entry.definition.name;
  if (const auto old = entries_.find(name); old != entries_.end()) {
    parts_.scheduler.cancel(old->second.timer);
    entries_.erase(old);
  }
  arm(entries_.emplace(name, std::move(entry)).first->second);
}

// In a fleet, `start` may be from another daemon and `last` from this one.
bool Schedules::has_fired(const Entry& entry) {
  return entry.seen ? entry.seen->last > entry.seen->start : entry.last > entry.start;
}

// A time further ahead was written before the clock was set back: it counts as now.
void Schedules::follow(Entry& entry, WallTime now) {
  const bool is_over = entry.expression.is_once() && has_fired(entry);
  if (entry.last > now + kSmallStep && !is_over) entry.last = now;
  if (entry.start > now + kSmallStep && !is_over) entry.start = now;
}

void Schedules::arm(Entry& entry) {
  if (paused_ || !entry.definition.enabled || firing_.contains(entry.definition.name)) return;
  if (fleet_ && !entry.seen) return arm_after(entry, nanoseconds(0));
  if (fleet_ && !parts_.wall.trusted()) return arm_after(entry, kRetry);
  const WallTime now = parts_.wall.reckoned();
  follow(entry, now);
  const auto next = entry.expression.next_fire(entry.last, entry.start);
  // A schedule without a next time may get one when the clock is set back.
  if (!next && !(entry.expression.is_once() && !has_fired(entry))) return;
  // In milliseconds: a time centuries ahead is more nanoseconds than the type can hold.
  arm_after(entry, next ? std::clamp<milliseconds>(*next - now, milliseconds(0), kLongestWait) : kLongestWait);
}

void Schedules::arm_after(Entry& entry, nanoseconds wait) {
  entry.timer = parts_.scheduler.call_after(wait, [this, name = entry.definition.name] { due(name); });
}

void Schedules::due(const std::string& name) {
  Entry& entry = entries_.at(name);
  entry.timer = 0;
  if (!entry.definition.enabled) return;
  if (fleet_ && !(fleet_->may_fire() && parts_.wall.trusted())) return arm_after(entry, kRetry);
  if (fleet_ && !entry.seen) {
    firing_.insert(name);
    work_.spawn(look(entry.definition));
    return;
  }
  const WallTime now = parts_.wall.reckoned();
  follow(entry, now);
  const auto time = entry.expression.next_fire(entry.last, entry.start);
  if (!time || *time > now) return arm(entry);
  firing_.insert(name);
  // Firings that were missed before now are skipped: the next one is after both times.
  Firing firing{entry.definition, *time, std::max(*time, now), std::nullopt};
  work_.spawn(fleet_ ? claim(std::move(firing)) : fire(std::move(firing)));
}

// Null if the schedule has been removed, or has another expression.
Schedules::Entry* Schedules::find(const ScheduleDefinition& definition) {
  const auto entry = entries_.find(definition.name);
  const bool is_same = entry != entries_.end() && entry->second.definition.expression == definition.expression;
  return is_same ? &entry->second : nullptr;
}

// Everything that makes a firing another one.
std::pair<std::string, uint64_t> Schedules::event_key(const Firing& firing) {
  const ScheduleDefinition& of = firing.definition;
  return {of.name + "|" + of.expression + "|" + of.function + "|" + of.input, *firing.claim};
}

Result<PreparedEvent> Schedules::event_for(const Firing& firing, std::string payload) {
  if (!firing.claim) return parts_.queue.prepare({firing.definition.function, std::move(payload)});
  const auto key = event_key(firing);
  if (const auto known = fleet_->events.find(key); known != fleet_->events.end()) return known->second;
  auto event = parts_.queue.prepare({firing.definition.function, std::move(payload)});
  if (event) fleet_->events.emplace(key, *event);
  return event;
}

void Schedules::forget_events(const std::string& name) {
  if (!fleet_) return;
  std::erase_if(fleet_->events, [&](const auto& one) { return one.first.first.starts_with(name + "|"); });
}

Async<void> Schedules::fire(Firing firing) {
  const ScheduleDefinition& definition = firing.definition;
  std::string payload = definition.input.empty() ? event_of(definition, firing.time) : definition.input;
  auto event = event_for(firing, std::move(payload));
  const Entry* before = find(definition);
  Item state = state_item(definition.name, before ? before->start : firing.last,
                          before ? std::max(before->last, firing.last) : firing.last);
  if (firing.claim) set_claimed(state, definition, *firing.claim);
  // In a fleet the event is in the shared store, and written first: a firing may come twice, but is not lost.
  std::vector<WriteInput> writes;
  bool again = false;
  if (event) {
    writes.push_back(std::move(event->write));
  } else {
    parts_.log.error("SCHEDULE_FAILED", {{"schedule", definition.name}, {"error", event.error().message}});
    again = is_passing(event.error());
  }
  writes.emplace_back(put_system_item(std::move(state)));
  if (!again) {
    auto written = co_await write_together(parts_.tables, std::move(writes));
    if (written && event) event->logged();
    if (written && firing.claim) fleet_->events.erase(event_key(firing));
    again = !written;
  }
  // In a fleet the claim is found again when the schedule is read.
  if (Entry* entry = find(definition); again && entry) entry->seen.reset();
  auto ending = fired(std::move(firing), !again);
  co_await ending;
}

// Ends a firing, which is tried again unless it is done. The schedule may have changed since, or been removed.
Async<void> Schedules::fired(Firing firing, bool is_done) {
  const std::string name = firing.definition.name;
  Entry* same = find(firing.definition);
  if (is_done && same) {
    same->last = std::max(same->last, firing.last);
    same->claimed = std::max(same->claimed, firing.claim);
  }
  if (is_done && !(same && same->definition == firing.definition)) {
    // A client that changed or removed it may have written before this firing did.
    const auto now = entries_.find(name);
    std::vector<WriteInput> writes;
    if (now == entries_.end()) {
      writes.emplace_back(delete_system_item(kScheduleStateKind, name));
    } else {
      writes.emplace_back(put_system_item(state_of(now->second)));
    }
    co_await write_together(parts_.tables, std::move(writes));
  }
  firing_.erase(name);
  const auto entry = entries_.find(name);
  if (entry == entries_.end() || paused_) co_return;
  if (is_done) {
    arm(entry->second);
  } else {
    arm_after(entry->second, kRetry);
  }
}

std::string Schedules::event_of(const ScheduleDefinition& schedule, WallTime time) {
  std::string at = iso8601(time);
  at.replace(at.find('.'), std::string::npos, "Z");
  std::string out =
      fmt::format(R"({{"version":"0","id":"{}","detail-type":"Scheduled Event","source":"aws.events","account":)",
                  parts_.random.uuid());
  append_json_string(out, parts_.account.id);
  out += fmt::format(R"(,"time":"{}","region":)", at);
  append_json_string(out, parts_.account.region);
  out += R"(,"resources":[)";
  append_json_string(out, rule_arn(parts_.account, schedule.name));
  out += R"(],"detail":{}})";
  return out;
}

}  // namespace freshet
