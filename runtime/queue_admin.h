// Operations on a queue as a whole: pausing parts of it, and changing many tasks at once (docs/running-queues.md).
// functions/queue implements it. Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tables/value/item_ref.h"

namespace freshet {

// Who asks for a change, for the audit log.
struct Actor {
  std::string who = "local";  // The id of the access key that signed the request, or "local".
  std::string from;           // Address and port of the client, or what in the daemon asked ("start", "template").
  std::string request;        // The id of the request, as its answer has it.
};

// A part of a queue that gives out no tasks: all of it, a group, or the tasks of a key.
struct Pause {
  enum class Of { kQueue, kGroup, kKey };
  Of of = Of::kQueue;
  std::string name;  // Of the group or key.
  std::string reason;
  std::string by;  // Actor::who.
  WallTime since{};
  std::optional<WallTime> until;  // It ends then by itself.
};
// "queue", "group" or "key".
std::string_view pause_kind_name(Pause::Of of);

struct PauseInput {
  Pause::Of of = Pause::Of::kQueue;
  std::string name;                   // Of the group or key: 1 to 256 bytes.
  std::string reason;                 // At most 256 bytes.
  std::optional<milliseconds> lasts;  // Until it is resumed, if empty. Else at least 1 s.
};

// Attributes that a task must have as text says: a string, or a number as JSON writes it. All must hold.
using TaskWhere = std::vector<std::pair<std::string, std::string>>;

// Changes many tasks at once.
struct BulkInput {
  enum class Action { kPurge, kCancel, kRedrive };
  Action action = Action::kPurge;
  std::vector<std::string> states;  // Empty: those that the action is for (bulk_states()).
  TaskWhere where;
  std::optional<milliseconds> older_than;  // Created at least that long ago.
  std::optional<uint64_t> limit;           // Changes at most so many.
  double rate = 0;                         // Changes at most so many a second; 0: whenever nobody else waits.
  bool dry_run = false;                    // Counts only.
};
// "purge", "cancel" or "redrive".
std::string_view action_name(BulkInput::Action action);

// A change of many tasks: at work, or one that has ended. matched = changed + moved + failed once it has ended.
struct BulkJob {
  enum class Phase { kCounting, kChanging, kDone, kStopped, kFailed, kCutOff };
  uint64_t id = 0;  // Rises; also across restarts.
  BulkInput input;
  Actor actor;
  Phase phase = Phase::kCounting;
  uint64_t looked = 0;   // Tasks that the count has read.
  uint64_t matched = 0;  // Tasks that the count has found.
  uint64_t changed = 0;
  uint64_t moved = 0;   // They were in another state by then, or gone.
  uint64_t failed = 0;  // The store refused to change them.
  std::string error;    // Why it failed, or the last refusal.
  ItemRef example;      // One that matches; null: none does.
  WallTime began{};
  std::optional<WallTime> ended;

  bool at_work() const { return phase == Phase::kCounting || phase == Phase::kChanging; }
};
// "counting", "changing", "done", "stopped", "failed" or "cut off" (by the end of the daemon).
std::string_view phase_name(BulkJob::Phase phase);

}  // namespace freshet
