#include "functions/priority/policy/transitions.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/there_are.h"

namespace freshet::priority {
namespace {

std::string record(const RecordFacts& facts) {
  return "record '" + facts.id + "' ";
}

Refusal illegal(const RecordFacts& facts, const std::string& why) {
  return {PriorityCode::kIllegalState, record(facts) + why};
}

Verdict final_state(const RecordFacts& facts, const Settings& settings) {
  if (!is_final(facts, settings)) return {};
  return illegal(facts, "is " + facts.status + ", which is final; put it again to reset it");
}

Verdict elsewhere(const RecordFacts& facts, const Settings& settings) {
  if (facts.place != RecordPlace::kElsewhere) return {};
  const bool dead = !facts.number;
  return illegal(facts, "is in another queue of the table: '" + (dead ? settings.names.dead : settings.names.queued) +
                            "' is " + std::to_string(dead ? *facts.dead_number : *facts.number));
}

Verdict unconstructed(const RecordFacts& facts, const Settings& settings) {
  if (!settings.states.used || facts.status != settings.states.initial) return {};
  const std::string first = facts.has_info ? "" : ": it has no '" + settings.names.system_info + "' yet";
  return Refusal{PriorityCode::kRecordNotConstructed,
                 record(facts) + "is " + facts.status + first + "; it must be " + settings.states.ready + " first"};
}

Verdict without_receipt(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms) {
  if (!settings.require_receipt || held || facts.place != RecordPlace::kInFlight || facts.due_ms(settings) <= now_ms) {
    return {};
  }
  return illegal(facts, "is in flight until " + std::to_string(facts.due_ms(settings)) +
                            ": this queue wants the receipt of the peek");
}

// A record that enters the queue must have room for everything that the queue writes to it. Otherwise nobody could
// peek it, or its timeout could not be written.
Verdict without_room(const RecordFacts& facts, const Settings& settings) {
  // The stored size is never less than a third of the counted size.
  if (facts.item.encoded().size() < limits::kMaxItemBytes / 4) return {};
  const size_t bytes = largest_bytes(facts, settings);
  if (bytes <= limits::kMaxItemBytes) return {};
  return illegal(facts, "has no room for the attributes of a queue: with them it may have " + std::to_string(bytes) +
                            " bytes, and an item has at most " + std::to_string(limits::kMaxItemBytes));
}

}  // namespace

bool is_final(const RecordFacts& facts, const Settings& settings) {
  return settings.states.used && facts.status == settings.states.completed;
}

Verdict may_change(const RecordFacts& facts, const RecordCall& call) {
  if (call.version && *call.version != facts.version) {
    return Refusal{PriorityCode::kOnCondition, record(facts) + "has version " + std::to_string(facts.version) +
                                                   ", not " + std::to_string(*call.version)};
  }
  if (!call.receipt.empty() && !holds_receipt(facts, call.receipt)) {
    return Refusal{PriorityCode::kOnCondition,
                   record(facts) + "is not held under this receipt: it was settled or peeked again since"};
  }
  return {};
}

std::optional<std::string> no_status(const Settings& settings, const std::string& status) {
  if (!settings.states.used) return {};
  const auto all = settings.states.all();
  if (std::find(all.begin(), all.end(), status) != all.end()) return {};
  return "'" + status.substr(0, 100) + "' is no status of queue '" + settings.name + "': " + there_are(all) +
         " (more with 'states.others' of its definition)";
}

Verdict may_update_status(const RecordFacts& facts, const Settings& settings, const std::string& status) {
  if (auto no = elsewhere(facts, settings)) return no;
  if (status == facts.status) return {};
  if (auto no = final_state(facts, settings)) return no;
  if (auto why = no_status(settings, status)) return Refusal{PriorityCode::kIllegalState, std::move(*why)};
  return {};
}

Verdict may_enqueue(const RecordFacts& facts, const Settings& settings) {
  if (auto no = elsewhere(facts, settings)) return no;
  if (auto no = unconstructed(facts, settings)) return no;
  if (facts.place == RecordPlace::kInFlight) return illegal(facts, "is in flight");
  if (settings.states.used && facts.status != settings.states.ready) {
    return illegal(facts, "is " + facts.status + "; it must be " + settings.states.ready);
  }
  return without_room(facts, settings);
}

Verdict may_remove(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms) {
  if (auto no = elsewhere(facts, settings)) return no;
  return without_receipt(facts, settings, held, now_ms);
}

Verdict may_restore(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms) {
  if (auto no = elsewhere(facts, settings)) return no;
  if (auto no = unconstructed(facts, settings)) return no;
  if (auto no = final_state(facts, settings)) return no;
  const bool comes_in = facts.place == RecordPlace::kOutside || facts.place == RecordPlace::kDead;
  if (comes_in) return without_room(facts, settings);
  return without_receipt(facts, settings, held, now_ms);
}

Verdict may_send_to_dlq(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms) {
  if (auto no = elsewhere(facts, settings)) return no;
  if (auto no = final_state(facts, settings)) return no;
  if (facts.place == RecordPlace::kDead) return illegal(facts, "is in the dead-letter queue already");
  if (facts.place == RecordPlace::kOutside) return illegal(facts, "is not in the queue");
  return without_receipt(facts, settings, held, now_ms);
}

Verdict may_touch(const RecordFacts& facts, const Settings& settings) {
  if (auto no = elsewhere(facts, settings)) return no;
  return final_state(facts, settings);
}

Verdict may_extend(const RecordFacts& facts, const Settings& settings, bool held, int64_t now_ms) {
  if (facts.place != RecordPlace::kInFlight) {
    return illegal(facts, "is not in flight: it is " + std::string(place_name(facts.place)));
  }
  if (facts.due_ms(settings) <= now_ms)
    return illegal(facts, "is not in flight any more: its visibility timeout is over");
  if (auto no = final_state(facts, settings)) return no;
  return without_receipt(facts, settings, held, now_ms);
}

Verdict may_set_priority(const RecordFacts& facts, const Settings& settings) {
  if (auto no = elsewhere(facts, settings)) return no;
  return final_state(facts, settings);
}

Verdict may_cancel(const RecordFacts& facts, const Settings& settings) {
  if (auto no = elsewhere(facts, settings)) return no;
  if (facts.place == RecordPlace::kInFlight) return illegal(facts, "is in flight: somebody works on it");
  if (facts.place != RecordPlace::kReady && facts.place != RecordPlace::kDelayed) {
    return illegal(facts, "does not wait in the queue: it is " + std::string(place_name(facts.place)));
  }
  return {};
}

}  // namespace freshet::priority
