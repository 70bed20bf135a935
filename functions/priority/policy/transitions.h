// Which call may be made on a record in which state and place. Pure functions of the record's facts; the table of them
// all is in docs/priority-queue.md.
#pragma once

#include <optional>
#include <string>

#include "functions/priority/record.h"

namespace freshet::priority {

struct Refusal {
  PriorityCode code = PriorityCode::kIllegalState;
  std::string why;  // For people; says which record.
};
using Verdict = std::optional<Refusal>;  // Empty: it may.

// True if the record is in the last state: no consumer gets it, and only a put changes it.
bool is_final(const RecordFacts& facts, const Settings& settings);

// Every call is checked so: the version and the receipt that it names, if any, must be the record's.
Verdict may_change(const RecordFacts& facts, const RecordCall& call);

Verdict may_update_status(const RecordFacts& facts, const Settings& settings, const std::string& status);
Verdict may_enqueue(const RecordFacts& facts, const Settings& settings);
// `held`: the call has named the receipt of the record's last peek.
Verdict may_remove(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms);
Verdict may_restore(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms);
Verdict may_send_to_dlq(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms);
Verdict may_touch(const RecordFacts& facts, const Settings& settings);
Verdict may_extend(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms);
Verdict may_set_priority(const RecordFacts& facts, const Settings& settings);
Verdict may_cancel(const RecordFacts& facts, const Settings& settings);

}  // namespace freshet::priority
