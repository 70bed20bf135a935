// Decides which call is allowed on a record, by its state and place. Pure functions of the record's facts;
// docs/priority-queue.md has the table of all transitions.
#pragma once

#include <optional>
#include <string>

#include "functions/priority/record.h"

namespace freshet::priority {

struct Refusal {
  PriorityCode code = PriorityCode::kIllegalState;
  std::string why;  // For people; names the record.
};
using Verdict = std::optional<Refusal>;  // Empty: it is allowed.

// True if the record is in the last state: no consumer gets it, and only a put changes it.
bool is_final(const RecordFacts& facts, const Settings& settings);

// The check of every call: the version and the receipt that it names, if any, must be the record's.
Verdict may_change(const RecordFacts& facts, const RecordCall& call);

// The reason why `status` is not a status of this queue; empty if it is one. Without states every status is one.
std::optional<std::string> no_status(const Settings& settings, const std::string& status);
Verdict may_update_status(const RecordFacts& facts, const Settings& settings, const std::string& status);
Verdict may_enqueue(const RecordFacts& facts, const Settings& settings);
// `held`: the call has the receipt of the record's last peek.
Verdict may_remove(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms);
Verdict may_restore(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms);
Verdict may_send_to_dlq(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms);
Verdict may_touch(const RecordFacts& facts, const Settings& settings);
Verdict may_extend(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms);
Verdict may_set_priority(const RecordFacts& facts, const Settings& settings);
Verdict may_cancel(const RecordFacts& facts, const Settings& settings);

}  // namespace freshet::priority
