#include "functions/queue/own_write.h"

#include <algorithm>
#include <array>

#include "functions/queue/attributes.h"

namespace freshet {

namespace {

using Edit = EditItemInput::Edit;

const Edit* find(const EditItemInput& write, std::string_view name) {
  const auto at =
      std::find_if(write.edits.begin(), write.edits.end(), [&](const Edit& edit) { return edit.name == name; });
  return at == write.edits.end() ? nullptr : &*at;
}

// In the order of the names, as the store wants them.
void put(EditItemInput& write, std::string_view name, Value value) {
  const auto at =
      std::find_if(write.edits.begin(), write.edits.end(), [&](const Edit& edit) { return edit.name > name; });
  write.edits.insert(at, Edit{name, std::move(value)});
}

std::string_view text(const Edit* edit) {
  const auto* value = edit && edit->value ? edit->value->get_if<std::string>() : nullptr;
  return value ? std::string_view(*value) : std::string_view();
}

// The write that sets a task aside says no time: it has to fit into a task that has no room for anything.
bool is_transition(const EditItemInput& write) {
  const auto to = text(find(write, attribute::kStatus));
  if (to.empty() || !find(write, attribute::kUpdated)) return false;
  return to != state::kTaken || text_of(write.seen, attribute::kStatus) != state::kTaken;
}

bool holds(const Edit& edit, const ItemRef& now) {
  const auto there = now.find(edit.name);
  if (!edit.value) return !there;
  if (!there) return false;
  if (edit.name == attribute::kLeaseBeat)
    return int_of(now, edit.name, 0) >= edit.value->get_if<Decimal>()->floor_int64();
  return there->decode() == *edit.value;
}

bool holds(const EditItemInput& write, std::string_view name, const ItemRef& now) {
  const Edit* edit = find(write, name);
  return !edit || holds(*edit, now);
}

bool is_as_seen(const EditItemInput& write, const ItemRef& now) {
  return std::all_of(write.unchanged.begin(), write.unchanged.end(), [&](std::string_view name) {
    if (name.empty()) return true;
    const auto seen = write.seen.find(name);
    const auto there = now.find(name);
    return seen ? there && there->decode() == seen->decode() : !there;
  });
}

}  // namespace

bool is_heartbeat(const EditItemInput& write) {
  return write.edits.size() == 1 && write.edits[0].name == attribute::kLeaseBeat;
}

EditItemInput recognisable(EditItemInput write) {
  // One that comes late must not take the lease back to a beat gone by.
  if (is_heartbeat(write)) write.unchanged[2] = attribute::kLeaseBeat;
  if (!is_transition(write)) return write;
  put(write, attribute::kRev, Value::number(int_of(write.seen, attribute::kRev, 0) + 1));
  const auto lease = text_of(write.seen, attribute::kLease);
  const bool was_held = text_of(write.seen, attribute::kStatus) == state::kTaken;
  if (was_held && !lease.empty()) put(write, attribute::kLastLease, Value(lease));
  const auto free = std::find(write.unchanged.begin(), write.unchanged.end(), std::string_view());
  if (free != write.unchanged.end()) *free = attribute::kRev;
  return write;
}

Fate fate_of(const EditItemInput& write, const ItemRef& now) {
  if (!now) return Fate::kOvertaken;
  const Edit* rev = find(write, attribute::kRev);
  if (is_heartbeat(write)) {
    const bool held = text_of(now, attribute::kStatus) == state::kTaken &&
                      text_of(now, attribute::kLease) == text_of(write.seen, attribute::kLease);
    if (held && holds(write.edits[0], now)) return Fate::kDone;
    return held && is_as_seen(write, now) ? Fate::kNotDone : Fate::kOvertaken;
  }
  if (!rev) {
    const bool all = std::all_of(write.edits.begin(), write.edits.end(), [&](const Edit& e) { return holds(e, now); });
    if (all) return Fate::kDone;
    return is_as_seen(write, now) ? Fate::kNotDone : Fate::kOvertaken;
  }
  const int64_t there = int_of(now, attribute::kRev, 0);
  const int64_t mine = rev->value->get_if<Decimal>()->floor_int64();
  if (there < mine) return is_as_seen(write, now) ? Fate::kNotDone : Fate::kOvertaken;
  if (there == mine) {
    // At most one write has raised it to that: this one, or another that was decided on the same facts.
    constexpr std::array kTold = {attribute::kStatus, attribute::kUpdated, attribute::kLastLease};
    const bool same = std::all_of(kTold.begin(), kTold.end(), [&](auto name) { return holds(write, name, now); });
    // While the task is held, marks change the time.
    const auto lease = text(find(write, attribute::kLease));
    const bool is_mine =
        lease.empty() ? same
                      : text_of(now, attribute::kStatus) == state::kTaken && text_of(now, attribute::kLease) == lease;
    return is_mine ? Fate::kDone : Fate::kOvertaken;
  }
  const auto ended = lease_ended_by(write);
  const bool went_on = !ended.empty() && text_of(now, attribute::kLastLease) == ended;
  return went_on && text(find(write, attribute::kStatus)) != state::kSuccess ? Fate::kDone : Fate::kOvertaken;
}

Fate fate_of(const PutItemInput& put, const ItemRef& now) {
  if (!now) return Fate::kNotDone;
  // No transition changes these.
  for (const auto name : {attribute::kCreated, attribute::kPayload, attribute::kKey, attribute::kGroup}) {
    const Value* mine = put.item.find(name);
    const auto there = now.find(name);
    if (mine ? !there || there->decode() != *mine : there.has_value()) return Fate::kOvertaken;
  }
  return Fate::kDone;
}

bool ended_the_same(const EditItemInput& write, const ItemRef& now) {
  const auto ended = lease_ended_by(write);
  if (ended.empty() || !now || text_of(now, attribute::kLastLease) != ended) return false;
  return text_of(now, attribute::kStatus) == text(find(write, attribute::kStatus));
}

std::string_view lease_ended_by(const EditItemInput& write) {
  return text(find(write, attribute::kLastLease));
}

}  // namespace freshet
