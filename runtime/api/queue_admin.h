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
#include "runtime/api/new_task.h"
#include "tables/value/item_ref.h"

namespace freshet {

// The author of a change, for the audit log.
struct Actor {
  std::string who = "local";  // The id of the access key that signed the request, or "local".
  std::string from;           // Address and port of the client, or a part of the daemon ("start", "template").
  std::string request;        // The id of the request, as in its response.
};

// A part of a queue that gives out no tasks: the whole queue, a group, or the tasks of a key.
struct Pause {
  enum class Of { kQueue, kGroup, kKey };
  Of of = Of::kQueue;
  std::string name;  // The name of the group or key.
  std::string reason;
  std::string by;  // Actor::who.
  WallTime since{};
  std::optional<WallTime> until;  // The time at which it ends by itself.
};
// "queue", "group" or "key".
std::string_view pause_kind_name(Pause::Of of);

struct PauseInput {
  Pause::Of of = Pause::Of::kQueue;
  std::string name;                   // The name of the group or key: 1 to 256 bytes.
  std::string reason;                 // At most 256 bytes.
  std::optional<milliseconds> lasts;  // Empty: until it is resumed. Otherwise at least 1 s.
};

// Attributes and the text that each must have in a task: a string, or a number as JSON writes it. All must match.
using TaskWhere = std::vector<std::pair<std::string, std::string>>;

// Changes many tasks at once.
struct BulkInput {
  enum class Action { kPurge, kCancel, kRedrive, kRun, kDuplicate };
  Action action = Action::kPurge;
  std::vector<std::string> states;  // Empty: bulk_default_states().
  std::vector<std::string> ids;     // Only these tasks, at most 1,000. Empty: all that match.
  TaskWhere where;
  std::optional<milliseconds> older_than;  // Created at least that long ago.
  std::optional<uint64_t> limit;           // The most tasks to change.
  double rate = 0;                         // The most changes per second; 0: whenever nobody else waits.
  bool dry_run = false;                    // True: only counts.
  // For kDuplicate. The id of a copy is that of its original, "-copy-" and the batch. A task that has a copy of the
  // same batch gets no other one. Empty: the id of the job.
  std::string batch;
  CopyChanges changes;
};
// "purge", "cancel", "redrive", "run" or "duplicate".
std::string_view action_name(BulkInput::Action action);
// The action with that name. Empty: there is none.
std::optional<BulkInput::Action> action_named(std::string_view name);

// A change of many tasks: running, or ended. At kDone, matched = changed + moved + failed + copied.
struct BulkJob {
  enum class Phase { kCounting, kChanging, kDone, kStopped, kFailed, kCutOff };
  uint64_t id = 0;                     // Rises, even across restarts.
  BulkInput input;                     // Without `ids` and `changes`, which may be long.
  size_t named = 0;                    // The number of BulkInput::ids.
  std::vector<std::string> to_change;  // The names of the changed members (CopyChanges::members).
  std::string in_words;                // "purge of PENDING tasks where group=eu, older than 1h".
  Actor actor;
  Phase phase = Phase::kCounting;
  uint64_t looked = 0;   // Tasks that were read to count.
  uint64_t matched = 0;  // Tasks that match.
  uint64_t changed = 0;
  uint64_t moved = 0;   // Tasks that had changed their state, or were gone.
  uint64_t failed = 0;  // Tasks that could not be changed.
  uint64_t copied = 0;  // Tasks that had a copy of this batch already.
  std::string error;    // The reason of the failure, or the last refusal.
  ItemRef example;      // One matching task; null: none matches.
  WallTime began{};
  std::optional<WallTime> ended;

  bool at_work() const { return phase == Phase::kCounting || phase == Phase::kChanging; }
};
// "counting", "changing", "done", "stopped", "failed" or "cut off" (by the end of the daemon).
std::string_view phase_name(BulkJob::Phase phase);

}  // namespace freshet
