// The interface of a filtered queue: members wait in one queue per combination of their attributes and leave all of
// them at once. The API (wire/filtered, the command line) calls it, and functions/filtered implements it. Items,
// transactions and the life of members and requests: docs/filtered-queue.md.
//
// Loop thread. Errors: kValidation for what the caller gave, kNotFound for members and requests that are not there,
// kConflict for those in another state and for items that the queue cannot use (the message names attribute and item),
// kTooManyRequests when other callers were faster too often, and the store's own. A refused call has changed nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "tables/value/item_ref.h"

namespace freshet {

// One alternative of a request.
struct MatchAlternative {
  std::string queue;  // The key of one queue, as it is stored. Empty: `values` decide.
  // The accepted values for each attribute. An attribute that is left out accepts any value.
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
};
// In order of preference; empty: any member. Within an alternative, the member that has waited longest (or shortest, by
// the queue's order) is taken.
using Match = std::vector<MatchAlternative>;

struct FilteredMember {
  std::string id;
  std::string status;      // As stored: available, queued, attendingCall by default.
  std::string queued_at;   // While it waits: its position in the order.
  std::string assignment;  // While it is assigned: the token of this assignment. Opaque.
  std::string request;     // While it is assigned to a request with an id: that id.
  ItemRef item;            // The stored item; for assign, the entry by which it waited; null if it was not read.
};

struct Enqueued {
  FilteredMember member;            // The member: waiting, or assigned to the oldest request that it matches.
  std::vector<std::string> queues;  // Keys of the queues in which it waits.
};

struct AssignInput {
  Match match;
  std::string request;  // A request with the same id gets the same answer; empty: no id.
  bool wait = false;    // Without a match the request waits; this needs an id.
};
enum class AssignOutcome : uint8_t { kAssigned, kWaiting, kNoMatch };
struct Assigned {
  AssignOutcome outcome = AssignOutcome::kNoMatch;
  FilteredMember member;  // Set for kAssigned.
  // The key of the queue in which it was found; the same request gets the same answer again. Empty if the request had
  // waited.
  std::string queue;
  std::string request;              // The id that the caller gave.
  std::vector<std::string> passed;  // Entries before it that the queue cannot use; at most 100.
};

struct FilteredRequest {
  std::string id;
  std::string status;               // waiting or assigned.
  std::string asked_at;             // Its position in the order.
  std::string member;               // For assigned: the id of the member.
  std::string assignment;           // For assigned: the token of the assignment.
  std::vector<std::string> queues;  // Keys of the queues that it accepts, in order of preference.
  // For a request that found a member at once: the key of the queue in which that waited, and its entry there. Null or
  // empty for a request that had waited, and for one that an earlier version wrote.
  std::string queue;
  ItemRef entry;
};

struct ReleaseInput {
  std::string id;
  std::string assignment;  // Must be the member's assignment; empty: any.
  bool enqueue = false;    // True: the member waits again at once.
};

struct ListMembersInput {
  std::string status;  // Only members in this status; empty: all.
  uint32_t limit = 100;
  std::string cursor;  // The cursor of the previous page.
};
struct MemberPage {
  std::vector<FilteredMember> members;
  std::string cursor;  // Empty at the end.
};
struct RequestPage {
  std::vector<FilteredRequest> requests;
  std::string cursor;
};

struct CombinationStats {
  std::string key;
  std::vector<std::string> values;  // One for each attribute, in the definition's order.
  int64_t version = 0;
  int64_t depth = 0;
  int64_t requests = 0;  // The number of requests that wait for it.
};
struct FilteredStats {
  std::vector<std::string> attributes;
  std::vector<CombinationStats> queues;
};

// The result of counting all entries again.
struct Recount {
  uint64_t queues = 0;
  uint64_t entries = 0;
  uint64_t waiting = 0;                  // The number of waiting requests.
  uint64_t wrong = 0;                    // The number of all differences.
  std::vector<std::string> differences;  // The first 100, for people.
};

class FilteredQueue {
 public:
  virtual ~FilteredQueue() = default;
  virtual const std::string& name() const = 0;

  // Adds a member, which is then available, or replaces an available one.
  virtual Async<Result<FilteredMember>> put_member(std::string id, Item attributes) = 0;
  virtual Async<Result<FilteredMember>> get_member(std::string id) = 0;
  virtual Async<Result<FilteredMember>> delete_member(std::string id) = 0;  // Deletes an available member.
  virtual Async<Result<MemberPage>> list_members(ListMembersInput input) = 0;

  // Makes an available member wait in the queue of each of its combinations, or assigns it to the oldest request that
  // it matches.
  virtual Async<Result<Enqueued>> enqueue(std::string id) = 0;
  virtual Async<Result<FilteredMember>> withdraw(std::string id) = 0;  // Removes the member from all queues: it is
                                                                       // available.
  virtual Async<Result<Enqueued>> release(ReleaseInput input) = 0;     // Ends the member's assignment: it is available.

  virtual Async<Result<Assigned>> assign(AssignInput input) = 0;
  virtual Async<Result<FilteredRequest>> get_request(std::string id) = 0;
  virtual Async<Result<FilteredRequest>> cancel_request(std::string id) = 0;  // Cancels a request that waits.
  virtual Async<Result<RequestPage>> list_requests(uint32_t limit, std::string cursor) = 0;

  virtual Async<Result<FilteredStats>> stats() = 0;
  // Reads every entry. Exact even while the queue is used: a queue that changes meanwhile is counted again.
  virtual Async<Result<Recount>> recount() = 0;
};

// The filtered queues of this daemon, by name. Loop thread.
class FilteredQueues {
 public:
  virtual ~FilteredQueues() = default;
  virtual FilteredQueue* find(std::string_view name) = 0;  // Null if there is none. Lives as long as this.
  virtual std::vector<std::string> names() const = 0;      // Sorted.
};

}  // namespace freshet
