// The interface of a priority queue over a table. The API (wire/priority, the command line) calls it, and
// functions/priority implements it. docs/priority-queue.md describes the states of a record, its attributes and the
// return codes.
//
// Loop thread. Records travel as ItemRef, so that I/O threads serialise them without another copy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

// The outcome of a call, with the names of the sample that the design comes from.
enum class PriorityCode : uint8_t {
  kNone,                  // NONE: the API was not called.
  kSuccess,               // SUCCESS
  kIdNotProvided,         // FAILED_ID_NOT_PROVIDED
  kIdNotFound,            // FAILED_ID_NOT_FOUND
  kRecordNotConstructed,  // FAILED_RECORD_NOT_CONSTRUCTED: it is in the first state, which cannot be queued.
  kOnCondition,           // FAILED_ON_CONDITION: an old version or a stale receipt.
  kEmptyQueue,            // FAILED_EMPTY_QUEUE
  kIllegalState,          // FAILED_ILLEGAL_STATE: the record is in another state, or a queue cannot use it.
  kStoreError,            // FAILED_DYNAMO_ERROR
};
std::string_view code_name(PriorityCode code);     // "FAILED_ID_NOT_FOUND"
std::string_view code_message(PriorityCode code);  // The sample's sentence for it.

// The state of a record, by its attributes.
enum class RecordPlace : uint8_t {
  kOutside,    // In no queue.
  kReady,      // Waits and can be peeked.
  kInFlight,   // Peeked: invisible until it is settled or its visibility timeout has passed.
  kDelayed,    // Waits and cannot be peeked yet.
  kDead,       // In the dead-letter queue.
  kElsewhere,  // In another queue of the same table.
};
std::string_view place_name(RecordPlace place);  // "ready", "in-flight", ...

struct PriorityResult {
  PriorityCode code = PriorityCode::kNone;
  std::string id;            // The id of the request; for peek and dequeue, that of the record.
  std::string status;        // The next three as stored afterwards, or as found if refused; empty without a record.
  std::string last_updated;  // From system_info.
  int64_t version = 0;
  RecordPlace place = RecordPlace::kOutside;
  std::string detail;              // For people: the fault, with the attribute and the item.
  std::optional<ErrorCode> error;  // For kStoreError: the error of the store.
  ItemRef item;                    // As stored afterwards; null if refused.
  std::string receipt;             // For peek and extend: the token of this claim. Opaque.
  int64_t peeked_ms = 0;           // For peek: its time, in epoch milliseconds.
  int64_t visible_ms = 0;          // For peek, extend and a delay: the time at which it can be peeked (again).
  int64_t peeks = 0;     // The number of peeks since it was enqueued from outside, or left the dead-letter queue.
  int64_t failures = 0;  // The number of peeks that were returned as failed, or whose visibility timeout has passed.
  std::vector<std::string> passed;  // For peek: entries before it that a queue cannot use as records.
  bool ok() const { return code == PriorityCode::kSuccess; }
};

struct PutRecordInput {
  std::string id;
  Map attributes;      // All attributes but the key and those that the queue keeps; usually `data`.
  std::string status;  // Empty: the first state.
};

// A call on one record. If the version or the receipt is not the record's current one, nothing is changed.
struct RecordCall {
  std::string id;
  std::optional<int64_t> version;  // The version that the record must have; empty: any.
  std::string receipt;             // The receipt of the peek that is being answered; empty: none.
};

struct EnqueueInput {
  RecordCall call;
  std::optional<milliseconds> delay;  // It cannot be peeked before this delay; empty: the queue's default (usually
                                      // none).
  std::optional<int64_t> priority;    // Empty: the record's, else 0.
};

struct PeekInput {
  int max = 1;                             // 1..100.
  std::optional<milliseconds> visibility;  // Empty: the queue's.
};

struct RestoreInput {
  RecordCall call;
  std::optional<milliseconds> delay;  // Empty: the queue's backoff.
  bool failed = true;                 // True: counts as a failure if it was in flight.
};

struct RedriveRecordsInput {
  std::vector<std::string> ids;  // The ids to move; empty: all in the dead-letter queue that match the filter.
  std::string filter;            // A filter expression over the items; empty: all.
  Placeholders placeholders;     // The placeholders of the filter.
  double rate = 0;               // Records per second; 0: at once. With a rate the work continues after the answer.
  uint32_t limit = 0;            // The most records; 0: no bound.
};
struct RedriveRecordsOutput {
  uint64_t moved = 0;
  std::vector<PriorityResult> refused;  // At most 100 of them.
  bool going_on = false;                // True while it is done at the requested rate; stats() shows the progress.
};

struct ListRecordsInput {
  uint32_t limit = 100;
  std::string cursor;  // The cursor of the previous page; empty for the first.
};
struct ListedRecord {
  std::string id;
  std::string status;  // Empty if the item has none.
};
struct RecordPage {
  std::vector<ListedRecord> records;
  std::string cursor;  // Empty at the end.
};

struct PriorityStats {
  uint64_t ready = 0;
  uint64_t in_flight = 0;
  uint64_t delayed = 0;
  uint64_t dead = 0;
  bool counted = true;                          // True: from exact counters. False: from reading the queue's index.
  std::vector<std::string> first_ids;           // Ready and in flight, at most 100.
  std::vector<std::string> first_in_flight;     // At most 100.
  std::optional<int64_t> oldest_ms;             // Epoch milliseconds of the timestamp of the head, if it has one.
  std::optional<RedriveRecordsOutput> redrive;  // A redrive at a rate that is running, or the last one.
};
struct DeadStats {
  uint64_t dead = 0;
  std::vector<std::string> first_ids;  // At most 100.
};

class PriorityQueue {
 public:
  virtual ~PriorityQueue() = default;
  virtual const std::string& name() const = 0;

  // The current record; kIdNotFound.
  virtual Async<PriorityResult> get(std::string id) = 0;
  // Replaces the record. It is in no queue, at version 1, or at the version after that of the record it replaces.
  virtual Async<PriorityResult> put(PutRecordInput input) = 0;
  virtual Async<PriorityResult> upsert(PutRecordInput input) = 0;
  virtual Async<PriorityResult> update_status(RecordCall call, std::string status) = 0;
  virtual Async<PriorityResult> enqueue(EnqueueInput input) = 0;
  // Returns records, in order, that belong to the caller until their visibility timeout; or one result with the reason
  // why there is none.
  virtual Async<std::vector<PriorityResult>> peek(PeekInput input) = 0;
  virtual Async<PriorityResult> dequeue() = 0;  // Peeks and removes.
  virtual Async<PriorityResult> remove(RecordCall call) = 0;
  virtual Async<PriorityResult> restore(RestoreInput input) = 0;
  virtual Async<PriorityResult> touch(RecordCall call) = 0;
  virtual Async<PriorityResult> send_to_dlq(RecordCall call) = 0;
  // Starts the visibility timeout again, with that length.
  virtual Async<PriorityResult> extend(RecordCall call, std::optional<milliseconds> visibility) = 0;
  virtual Async<PriorityResult> set_priority(RecordCall call, int64_t priority) = 0;
  virtual Async<PriorityResult> cancel(RecordCall call) = 0;  // Removes the record from the queue, if nobody works on
                                                              // it.
  virtual Async<PriorityResult> erase(std::string id) = 0;    // Deletes the item.
  virtual Async<Result<RedriveRecordsOutput>> redrive(RedriveRecordsInput input) = 0;
  virtual Async<Result<RecordPage>> list(ListRecordsInput input) = 0;
  virtual Async<Result<PriorityStats>> stats() = 0;
  virtual Async<Result<DeadStats>> dlq_stats() = 0;
};

// The priority queues of this daemon, by name. Loop thread.
class PriorityQueues {
 public:
  virtual ~PriorityQueues() = default;
  virtual PriorityQueue* find(std::string_view name) = 0;  // Null if there is none. Lives as long as this.
  virtual std::vector<std::string> names() const = 0;      // Sorted.
};

}  // namespace freshet
