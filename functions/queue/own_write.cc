#include "functions/queue/own_write.h"

#include <algorithm>
#include <string>

#include "base/points.h"
#include "functions/queue/attributes.h"

namespace freshet {

namespace {

using Edit = EditItemInput::Edit;

constexpr int64_t kMaxRev = int64_t{1} << 60;

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

int64_t number(const Edit* edit) {
  const auto* value = edit && edit->value ? edit->value->get_if<Decimal>() : nullptr;
  return value ? value->floor_int64() : 0;
}

// A client can write any number there.
int64_t rev_of(const ItemRef& task) {
  return std::clamp<int64_t>(int_of(task, attribute::kRev, 0), 0, kMaxRev);
}

bool is_held(const ItemRef& task) {
  return text_of(task, attribute::kStatus) == state::kTaken;
}

// The write that sets a task aside sets no time, because it must fit into a task that has no room.
bool is_set_aside(const EditItemInput& write) {
  return find(write, attribute::kStatus) && !find(write, attribute::kUpdated);
}

bool is_transition(const EditItemInput& write) {
  const auto to = text(find(write, attribute::kStatus));
  if (to.empty() || is_set_aside(write)) return false;
  return to != state::kTaken || !is_held(write.seen);
}

// Adds the condition that the last write is unchanged. A task that the queue has not written yet is known by its put,
// or by its time.
void guard(EditItemInput& write) {
  if (write.unchanged[0].empty() || FRESHET_PLANTED("fleet-rev-unchecked")) return;
  const auto free = std::find(write.unchanged.begin(), write.unchanged.end(), std::string_view());
  if (free != write.unchanged.end()) *free = attribute::kLastWrite;
  if (has(write.seen, attribute::kLastWrite)) return;
  const auto attempt = std::find(write.unchanged.begin(), write.unchanged.end(), attribute::kAttempt);
  if (attempt == write.unchanged.end()) return;  // Its lease is the condition.
  *attempt = has(write.seen, attribute::kBorn) ? attribute::kBorn : attribute::kCreated;
}

bool is_same(const ItemRef& seen, const ItemRef& now, std::string_view name) {
  const auto there = now.find(name);
  const auto then = seen.find(name);
  return then ? there && there->decode() == then->decode() : !there;
}

bool is_as_seen(const EditItemInput& write, const ItemRef& now) {
  return std::all_of(write.unchanged.begin(), write.unchanged.end(),
                     [&](std::string_view name) { return name.empty() || is_same(write.seen, now, name); });
}

// True if it is another task under the same id.
bool is_another_life(const EditItemInput& write, const ItemRef& now) {
  return !is_same(write.seen, now, attribute::kBorn) || !is_same(write.seen, now, attribute::kCreated);
}

bool holds(const Edit& edit, const ItemRef& now) {
  const auto there = now.find(edit.name);
  if (!edit.value) return !there;
  return there && there->decode() == *edit.value;
}

Fate fate_of_heartbeat(const EditItemInput& write, const ItemRef& now) {
  const bool held = is_held(now) && is_same(write.seen, now, attribute::kLease);
  if (!held) return Fate::kOvertaken;
  if (int_of(now, attribute::kLeaseBeat, 0) >= number(&write.edits[0])) return Fate::kDone;
  return is_as_seen(write, now) ? Fate::kNotDone : Fate::kOvertaken;
}

// For a write without a token: it marks a held task, or sets a task aside.
Fate fate_of_mark(const EditItemInput& write, const ItemRef& now) {
  const bool all = std::all_of(write.edits.begin(), write.edits.end(), [&](const Edit& e) { return holds(e, now); });
  if (all) return Fate::kDone;
  if (is_as_seen(write, now)) return Fate::kNotDone;
  return is_set_aside(write) ? Fate::kUnknown : Fate::kOvertaken;
}

std::string end_value(std::string_view lease, std::string_view end) {
  return std::string(lease) + " " + std::string(end) + " ";
}

}  // namespace

bool is_heartbeat(const EditItemInput& write) {
  return write.edits.size() == 1 && write.edits[0].name == attribute::kLeaseBeat;
}

EditItemInput recognisable(EditItemInput write, std::string_view token, std::string_view end) {
  // A late heartbeat must not take the lease back to an earlier beat.
  if (is_heartbeat(write)) write.unchanged[2] = attribute::kLeaseBeat;
  if (is_set_aside(write)) guard(write);
  if (!is_transition(write)) return write;
  guard(write);
  put(write, attribute::kRev, Value::number(rev_of(write.seen) + 1));
  put(write, attribute::kLastWrite, Value(token));
  const auto lease = text_of(write.seen, attribute::kLease);
  if (is_held(write.seen) && !lease.empty()) {
    const auto how = end.empty() ? end_of_claim::kEnded : end;
    put(write, attribute::kLastEnd, Value(end_value(lease, how).append(token)));
  }
  return write;
}

WriteInput recognisable(WriteInput put, std::string_view token) {
  if (auto* input = std::get_if<PutItemInput>(&put)) input->item.set(std::string(attribute::kBorn), Value(token));
  return put;
}

Fate fate_of(const EditItemInput& write, const ItemRef& now) {
  const Edit* rev = find(write, attribute::kRev);
  if (!now) return rev || is_set_aside(write) ? Fate::kUnknown : Fate::kOvertaken;
  if (is_heartbeat(write)) return fate_of_heartbeat(write, now);
  if (!rev) return fate_of_mark(write, now);
  if (is_another_life(write, now)) return Fate::kUnknown;
  const int64_t there = rev_of(now);
  if (there < number(rev)) return is_as_seen(write, now) ? Fate::kNotDone : Fate::kOvertaken;
  if (there == number(rev)) {
    if (FRESHET_PLANTED("fleet-anothers-write-taken-for-own")) return Fate::kDone;
    return text_of(now, attribute::kLastWrite) == text(find(write, attribute::kLastWrite)) ? Fate::kDone
                                                                                           : Fate::kOvertaken;
  }
  const auto mine = claim_end(write);
  if (mine.lease.empty()) return Fate::kUnknown;
  const auto last = text_of(now, attribute::kLastEnd);
  if (last == text(find(write, attribute::kLastEnd))) return Fate::kDone;
  return last.starts_with(std::string(mine.lease) + " ") ? Fate::kOvertaken : Fate::kUnknown;
}

Fate fate_of(const WriteInput& put, const ItemRef& now) {
  if (!now) return Fate::kNotDone;
  const Value* born = std::get<PutItemInput>(put).item.find(attribute::kBorn);
  const auto there = now.find(attribute::kBorn);
  return born && there && there->decode() == *born ? Fate::kDone : Fate::kOvertaken;
}

bool ended_so(const ItemRef& now, std::string_view lease, std::string_view end) {
  return now && text_of(now, attribute::kLastEnd).starts_with(end_value(lease, end));
}

ClaimEnd claim_end(const EditItemInput& write) {
  const auto last = text(find(write, attribute::kLastEnd));
  const size_t token = last.rfind(' ');
  if (last.empty() || token == std::string_view::npos || token == 0) return {};
  const size_t end = last.rfind(' ', token - 1);
  if (end == std::string_view::npos) return {};
  return {last.substr(0, end), last.substr(end + 1, token - end - 1)};
}

}  // namespace freshet
