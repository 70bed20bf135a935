// Names of a task's attributes and states, and reading them from a stored item. docs/lifecycle.md says what they mean.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "runtime/api/cancel_mark.h"
#include "tables/value/item_ref.h"

namespace freshet {

namespace attribute {
inline constexpr std::string_view kId = "taskId";
inline constexpr std::string_view kStatus = "taskStatus";
inline constexpr std::string_view kCreated = "taskCreated";
inline constexpr std::string_view kUpdated = "taskUpdated";
inline constexpr std::string_view kTaken = "taskTaken";
inline constexpr std::string_view kTtl = "ttl";
inline constexpr std::string_view kQueueTtl = "queueTtl";  // The `ttl` that the queue itself gave the task.
inline constexpr std::string_view kPayload = "payload";
inline constexpr std::string_view kDeadline = "deadline";
inline constexpr std::string_view kAttempt = "attempt";
inline constexpr std::string_view kMaxAttempts = "maxAttempts";
inline constexpr std::string_view kLease = "lease";
inline constexpr std::string_view kLeaseMs = "leaseMs";
inline constexpr std::string_view kLeaseBeat = "leaseBeat";
inline constexpr std::string_view kTakenBy = "takenBy";
inline constexpr std::string_view kKey = "key";
inline constexpr std::string_view kLiveKey = "liveKey";
inline constexpr std::string_view kGroup = "group";
inline constexpr std::string_view kPriority = "priority";
inline constexpr std::string_view kLane = "lane";
inline constexpr std::string_view kNotBefore = "notBefore";
inline constexpr std::string_view kCancelRequested = kCancelMark;
inline constexpr std::string_view kResult = "result";
inline constexpr std::string_view kError = "error";
inline constexpr std::string_view kHistory = "history";
inline constexpr std::string_view kShedReason = "shedReason";
inline constexpr std::string_view kReplace = "replace";
inline constexpr std::string_view kReplacedBy = "replacedBy";
// Only on a store without immediate answers (own_write.h).
inline constexpr std::string_view kRev = "taskRev";
inline constexpr std::string_view kBorn = "taskBorn";
inline constexpr std::string_view kLastWrite = "lastWrite";
inline constexpr std::string_view kLastEnd = "lastEnd";
// Only in layout `fleet` (layout.h).
inline constexpr std::string_view kPlace = "taskPlace";
inline constexpr std::string_view kRank = "taskRank";
inline constexpr std::string_view kTaskTtl = "taskTtl";  // The `ttl` while the task waits or is held.
inline constexpr std::string_view kCost = "cost";        // Not reserved: older clients have attributes of that name.

inline constexpr std::array kReserved = {kId,         kStatus,          kCreated,  kUpdated, kTaken,     kTtl,
                                         kPayload,    kDeadline,        kAttempt,  kLease,   kLeaseMs,   kTakenBy,
                                         kKey,        kGroup,           kPriority, kLane,    kNotBefore, kMaxAttempts,
                                         kResult,     kLiveKey,         kError,    kHistory, kLeaseBeat, kShedReason,
                                         kReplacedBy, kCancelRequested, kReplace,  kQueueTtl};
// Also reserved on a store without immediate answers.
inline constexpr std::array kOwnMarks = {kRev, kBorn, kLastWrite, kLastEnd, kPlace, kRank, kTaskTtl};
}  // namespace attribute

// An index of a queue's table: waiting tasks by deadline within a lane.
inline constexpr std::string_view kLaneDeadlineIndex = "freshet-lane-deadline-index";

namespace state {
inline constexpr std::string_view kPending = "PENDING";
inline constexpr std::string_view kDelayed = "DELAYED";
inline constexpr std::string_view kTaken = "TAKEN";
inline constexpr std::string_view kSuccess = "SUCCESS";
inline constexpr std::string_view kFailure = "FAILURE";
inline constexpr std::string_view kDead = "DEAD";
inline constexpr std::string_view kShed = "SHED";
inline constexpr std::string_view kCancelled = "CANCELLED";

inline constexpr std::array kAll = {kPending, kDelayed, kTaken, kSuccess, kFailure, kDead, kShed, kCancelled};
}  // namespace state

// True if the `attributes` of a new task must not have that name, in any queue.
bool is_reserved(std::string_view name);
// True if they must not have it on a store without immediate answers.
bool is_own_mark(std::string_view name);
// True if a task in that state still waits or is held, and so blocks its key.
bool is_live(std::string_view status);
// The task's `key`; empty if it has none, or one that is not valid.
std::string_view key_of(const ItemRef& task);
inline constexpr size_t kMaxKeyBytes = 256;
// True if the task was created to replace earlier ones of its key. A client's own `replace` attribute with another
// meaning does not count.
bool comes_to_replace(const ItemRef& task);

// The attribute if it is a string, else empty. Valid while the item lives.
std::string_view text_of(const ItemRef& task, std::string_view name);
// The attribute if it is a number, rounded down, else `fallback`.
int64_t int_of(const ItemRef& task, std::string_view name, int64_t fallback);
bool has(const ItemRef& task, std::string_view name);
// `cost`, or `fallback` if the task has none, or one out of range (runtime/api/task_cost.h).
double cost_of(const ItemRef& task, double fallback);
// True if the task has `taskTtl`. A client's own attribute of that name, in a task without a rank, does not count.
bool has_task_ttl(const ItemRef& task);
// The task's ttl, whatever it is: the attribute `ttl`, else `taskTtl` (layout.h). Valid while the item lives.
std::optional<ValueView> find_ttl(const ItemRef& task);
// 0: it has none, or one that is no number.
int64_t ttl_of(const ItemRef& task);
// True if the queue itself set the task's `ttl`.
bool has_queue_ttl(const ItemRef& task);
// True if a client set it; the queue then leaves it alone.
bool keeps_own_ttl(const ItemRef& task);
// `attempt`, or 0 if it is missing. Limited, so that adding 1 cannot overflow.
int64_t attempt_of(const ItemRef& task);

}  // namespace freshet
