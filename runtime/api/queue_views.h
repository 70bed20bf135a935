// Views of a queue for people who watch it, beside its stats: counts for its history (queue_series.h), the groups or
// keys that share it, and who holds its tasks. All answers are bounded, whatever the queue holds. functions/queue fills
// them; wire/tasks writes them as JSON.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "tables/value/item_ref.h"

namespace freshet {

// The events that are counted. Their names are those in the JSON. Names of one kind begin with that kind and a dot.
enum class QueueFlow : uint8_t {
  kOffered,  // Tasks that were created, and creations that the queue refused.
  kStarted,  // Attempts.
  kInTime,   // SUCCESS by the deadline, or without one.
  kLate,
  kFailed,
  kCancelled,
  kShedTtl,
  kShedDeadline,
  kShedMargin,
  kRefusedFull,
  kRefusedBytes,
  kRefusedLate,
  kRefusedPassed,
  kRefusedLanes,
  kDownstreamRefusals,
  kWasted,
};
inline constexpr size_t kQueueFlows = 16;
inline constexpr std::array<std::string_view, kQueueFlows> kQueueFlowNames = {"offered",
                                                                              "started",
                                                                              "inTime",
                                                                              "late",
                                                                              "failed",
                                                                              "cancelled",
                                                                              "shed.ttl",
                                                                              "shed.deadline",
                                                                              "shed.deadline-margin",
                                                                              "refused.max-waiting",
                                                                              "refused.max-waiting-bytes",
                                                                              "refused.deadline",
                                                                              "refused.deadline-passed",
                                                                              "refused.max-lanes",
                                                                              "downstreamRefusals",
                                                                              "wastedCalls"};

// A queue at one moment. The counts began some time before the first reading; only their differences have a meaning.
struct QueueReading {
  std::array<uint64_t, kQueueFlows> flows{};
  uint64_t pickups = 0;       // Tasks that were started for the first time.
  double pickup_seconds = 0;  // The sum of their ages at that time.
  uint64_t pending = 0;
  uint64_t delayed = 0;
  uint64_t in_work = 0;
  milliseconds newest_age{0};  // The age of the newest PENDING task; 0: there is none.
  milliseconds oldest_age{0};
  double rate_limit = 0;     // Tasks per second that may start, as set or as learnt; 0: no limit.
  uint64_t concurrency = 0;  // The most tasks that the processor may have in work, as set or as learnt; 0: there is
                             // none.
};

// The groups, or the keys, of a queue.
struct SharesInput {
  bool by_key = false;
  uint32_t limit = 100;
};
struct QueueShare {
  std::string name;  // Empty: the tasks without a group.
  uint64_t in_work = 0;
  // PENDING tasks. Empty: keys have no lanes here, so the number is unknown.
  std::optional<uint64_t> waiting;
  bool waiting_at_least = false;  // There are more; not all were counted.
  bool paused = false;
  double per_second = 0;    // Its rate limit, as set or as learnt, if it has reached a limit; 0: it has not, or another
                            // limit.
  bool at_limit = false;    // True if it may start no task now.
  milliseconds free_in{0};  // At its rate limit: the time until it may start the next task.
};
struct QueueShares {
  std::vector<QueueShare> shares;  // Those with the most tasks in work first.
  bool more = false;               // True if there are others, or may be.
};

// Tasks in work, and their holders.
struct HeldTask {
  std::string id;
  ItemRef task;  // As last seen; may be null.
  std::string holder;
  milliseconds held{0};        // The time since this daemon first saw that claim.
  milliseconds lease_left{0};  // Negative: its lease has ended, and the daemon is about to reclaim the task.
};
struct TaskHolder {
  std::string name;  // As in `takenBy`; empty: it gave no name.
  uint64_t tasks = 0;
  milliseconds longest{0};  // The longest time for which it has held one of them.
};
struct QueueHolders {
  static constexpr size_t kMostCounted = 10'000;  // The most tasks that are counted; the others are only in `in_work`.
  uint64_t in_work = 0;
  std::vector<TaskHolder> holders;  // Those with the most tasks first.
  std::vector<HeldTask> tasks;      // Those whose leases end first.
};

}  // namespace freshet
