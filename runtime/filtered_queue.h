// What the filtered-queue API (wire/filtered, the command line) asks of a queue whose members wait in one queue per
// combination of their attributes and leave all of them at once. functions/filtered fulfils it. Items, transactions and
// the life of members and requests: docs/filtered-queue.md.
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

// One alternative of what a request takes.
struct MatchAlternative {
  std::string queue;  // The key of one queue, as it is stored; or empty, and
  // for each attribute the values that will do. An attribute left out: any value.
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
};
// In order of preference; none: any member. Within an alternative the member that waits longest (or shortest, by the
// queue's order) is taken.
using Match = std::vector<MatchAlternative>;

struct FilteredMember {
  std::string id;
  std::string status;      // As stored: available, queued, attendingCall by default.
  std::string queued_at;   // While it waits: its place in the order.
  std::string assignment;  // While it is assigned: names this assignment. Opaque.
  std::string request;     // While it is assigned to a request that has an id.
  ItemRef item;            // As stored; of assign the entry that it waited by; null where it was not read.
};

struct Enqueued {
  FilteredMember member;            // Waiting, or assigned to the oldest request that it matches.
  std::vector<std::string> queues;  // Keys of those that it waits in.
};

struct AssignInput {
  Match match;
  std::string request;  // The same id again is answered with what came of it; empty: none.
  bool wait = false;    // Without a match the request waits; needs an id.
};
enum class AssignOutcome : uint8_t { kAssigned, kWaiting, kNoMatch };
struct Assigned {
  AssignOutcome outcome = AssignOutcome::kNoMatch;
  FilteredMember member;  // The member if kAssigned.
  // The key of the queue in which it was found; the same request gets the same answer again. Empty for a request that
  // had waited.
  std::string queue;
  std::string request;              // As given.
  std::vector<std::string> passed;  // What stood before it and is nothing that the queue can use; at most 100.
};

struct FilteredRequest {
  std::string id;
  std::string status;               // waiting or assigned.
  std::string asked_at;             // Its place in the order.
  std::string member;               // Of assigned: that member's id,
  std::string assignment;           // and the assignment.
  std::vector<std::string> queues;  // Keys of the queues that it accepts, in order of preference.
  // For a request that found a member at once: the key of the queue in which it stood, and its entry there. Null or
  // empty for a request that had waited, and for one that an earlier version wrote.
  std::string queue;
  ItemRef entry;
};

struct ReleaseInput {
  std::string id;
  std::string assignment;  // Must be the member's; empty: whichever it is.
  bool enqueue = false;    // Waits again at once.
};

struct ListMembersInput {
  std::string status;  // Only those; empty: all.
  uint32_t limit = 100;
  std::string cursor;  // From the page before.
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
  int64_t requests = 0;  // That wait for it.
};
struct FilteredStats {
  std::vector<std::string> attributes;
  std::vector<CombinationStats> queues;
};

// What counting all entries again gave.
struct Recount {
  uint64_t queues = 0;
  uint64_t entries = 0;
  uint64_t waiting = 0;                  // Entries of requests.
  uint64_t wrong = 0;                    // Differences in all.
  std::vector<std::string> differences;  // The first 100, for people.
};

class FilteredQueue {
 public:
  virtual ~FilteredQueue() = default;
  virtual const std::string& name() const = 0;

  // A new member, available; or replaces one that is.
  virtual Async<Result<FilteredMember>> put_member(std::string id, Item attributes) = 0;
  virtual Async<Result<FilteredMember>> get_member(std::string id) = 0;
  virtual Async<Result<FilteredMember>> delete_member(std::string id) = 0;  // Only an available one.
  virtual Async<Result<MemberPage>> list_members(ListMembersInput input) = 0;

  // An available member waits in the queue of each of its combinations; or gets the oldest request it matches.
  virtual Async<Result<Enqueued>> enqueue(std::string id) = 0;
  virtual Async<Result<FilteredMember>> withdraw(std::string id) = 0;  // Out of all queues: available.
  virtual Async<Result<Enqueued>> release(ReleaseInput input) = 0;     // Its assignment is over: available.

  virtual Async<Result<Assigned>> assign(AssignInput input) = 0;
  virtual Async<Result<FilteredRequest>> get_request(std::string id) = 0;
  virtual Async<Result<FilteredRequest>> cancel_request(std::string id) = 0;  // Only one that waits.
  virtual Async<Result<RequestPage>> list_requests(uint32_t limit, std::string cursor) = 0;

  virtual Async<Result<FilteredStats>> stats() = 0;
  // Reads every entry. Exact also while the queue is used: a queue that changes meanwhile is counted again.
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
