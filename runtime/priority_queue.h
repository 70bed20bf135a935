// What the priority-queue API (wire/priority, the command line) asks of a queue over a table. functions/priority
// fulfils it. The walk of a record through it, its attributes and the return codes: docs/priority-queue.md.
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

// What came of a call, by the names of the sample that the design comes from.
enum class PriorityCode : uint8_t {
  kNone,                  // NONE: the API was not called.
  kSuccess,               // SUCCESS
  kIdNotProvided,         // FAILED_ID_NOT_PROVIDED
  kIdNotFound,            // FAILED_ID_NOT_FOUND
  kRecordNotConstructed,  // FAILED_RECORD_NOT_CONSTRUCTED: in the first state, which cannot be queued.
  kOnCondition,           // FAILED_ON_CONDITION: a version gone by, a stale receipt.
  kEmptyQueue,            // FAILED_EMPTY_QUEUE
  kIllegalState,          // FAILED_ILLEGAL_STATE: the record is elsewhere, or is not one that a queue can use.
  kStoreError,            // FAILED_DYNAMO_ERROR
};
std::string_view code_name(PriorityCode code);     // "FAILED_ID_NOT_FOUND"
std::string_view code_message(PriorityCode code);  // The sample's sentence for it.

// Where a record is, as its attributes say.
enum class Place : uint8_t {
  kOutside,    // In no queue.
  kReady,      // Waits and can be peeked.
  kInFlight,   // Peeked: invisible until it is settled or its visibility timeout has passed.
  kDelayed,    // Waits and cannot be peeked yet.
  kDead,       // In the dead-letter queue.
  kElsewhere,  // In another queue of the same table.
};
std::string_view place_name(Place place);  // "ready", "in-flight", ...

struct PriorityResult {
  PriorityCode code = PriorityCode::kNone;
  std::string id;            // As it was asked for; of peek and dequeue, that of the record.
  std::string status;        // These three as stored afterwards, or as found when refused; empty without a record.
  std::string last_updated;  // Of system_info.
  int64_t version = 0;
  Place place = Place::kOutside;
  std::string detail;               // For people: what was wrong, of which attribute of which item.
  std::optional<ErrorCode> error;   // Of kStoreError: the store's own.
  ItemRef item;                     // As stored afterwards; null if refused.
  std::string receipt;              // Of peek and extend: names this claim. Opaque.
  int64_t peeked_ms = 0;            // Of peek: when, in epoch milliseconds.
  int64_t visible_ms = 0;           // Of peek and extend, and of a delay: when it can be peeked (again).
  int64_t peeks = 0;                // Since it was enqueued from outside, or came out of the dead-letter queue.
  int64_t failures = 0;             // Of those: returned as failed, or their visibility timeout had passed.
  std::vector<std::string> passed;  // Of peek: what stood before it and is no record that a queue can use.
  bool ok() const { return code == PriorityCode::kSuccess; }
};

struct PutRecordInput {
  std::string id;
  Map attributes;      // Of the item, but its key and those that the queue keeps; `data` usually.
  std::string status;  // Empty: the first state.
};

// Of every call on one record. With a version or receipt that is not the record's (any more) nothing is changed.
struct RecordCall {
  std::string id;
  std::optional<int64_t> version;  // The record must have it; empty: what is found.
  std::string receipt;             // Of the peek that is being answered; empty: none is given.
};

struct EnqueueInput {
  RecordCall call;
  std::optional<milliseconds> delay;  // Cannot be peeked before that; empty: the queue's own (none, usually).
  std::optional<int64_t> priority;    // Empty: the record's, else 0.
};

struct PeekInput {
  int max = 1;                             // 1..100.
  std::optional<milliseconds> visibility;  // Empty: the queue's.
};

struct RestoreInput {
  RecordCall call;
  std::optional<milliseconds> delay;  // Empty: the queue's backoff.
  bool failed = true;                 // Counts as a failure if it was in flight.
};

struct RedriveRecordsInput {
  std::vector<std::string> ids;  // Those; empty: all in the dead-letter queue that the filter takes.
  std::string filter;            // A filter expression over the items; empty: all.
  Placeholders placeholders;     // Of the filter.
  double rate = 0;               // A second; 0: at once. With a rate it goes on after the answer.
  uint32_t limit = 0;            // At most so many; 0: no bound.
};
struct RedriveRecordsOutput {
  uint64_t moved = 0;
  std::vector<PriorityResult> refused;  // At most 100 of them.
  bool going_on = false;                // It is done at the rate asked for; stats() shows how far it is.
};

struct ListRecordsInput {
  uint32_t limit = 100;
  std::string cursor;  // From the page before; empty for the first.
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
  bool counted = true;                          // From exact counters; false: by reading the queue's index.
  std::vector<std::string> first_ids;           // Of ready and in flight, at most 100.
  std::vector<std::string> first_in_flight;     // At most 100.
  std::optional<int64_t> oldest_ms;             // Epoch milliseconds of the timestamp of the head, if it has one.
  std::optional<RedriveRecordsOutput> redrive;  // One at a rate that goes on, or went on last.
};
struct DeadStats {
  uint64_t dead = 0;
  std::vector<std::string> first_ids;  // At most 100.
};

class PriorityQueue {
 public:
  virtual ~PriorityQueue() = default;
  virtual const std::string& name() const = 0;

  // The record as it is; kIdNotFound.
  virtual Async<PriorityResult> get(std::string id) = 0;
  // Replaces the record, out of every queue, at version 1 / at the version after that of the record that was there.
  virtual Async<PriorityResult> put(PutRecordInput input) = 0;
  virtual Async<PriorityResult> upsert(PutRecordInput input) = 0;
  virtual Async<PriorityResult> update_status(RecordCall call, std::string status) = 0;
  virtual Async<PriorityResult> enqueue(EnqueueInput input) = 0;
  // Records that are now the caller's until their visibility timeout, in order; or one result that says why there is
  // none.
  virtual Async<std::vector<PriorityResult>> peek(PeekInput input) = 0;
  virtual Async<PriorityResult> dequeue() = 0;  // Peeks and removes.
  virtual Async<PriorityResult> remove(RecordCall call) = 0;
  virtual Async<PriorityResult> restore(RestoreInput input) = 0;
  virtual Async<PriorityResult> touch(RecordCall call) = 0;
  virtual Async<PriorityResult> send_to_dlq(RecordCall call) = 0;
  // The visibility timeout begins anew, with that length.
  virtual Async<PriorityResult> extend(RecordCall call, std::optional<milliseconds> visibility) = 0;
  virtual Async<PriorityResult> set_priority(RecordCall call, int64_t priority) = 0;
  virtual Async<PriorityResult> cancel(RecordCall call) = 0;  // Out of the queue, if nobody works on it.
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
