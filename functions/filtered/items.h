// The items of a filtered queue as they are read, and their keys: members, queues, entries of members, requests and
// entries of requests. The shapes: docs/filtered-queue.md. kConflict naming attribute and item if something is not in
// the form that a queue writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "functions/filtered/policy/combinations.h"
#include "functions/filtered/settings.h"
#include "tables/value/item_ref.h"

namespace freshet::filtered {

// Attributes of requests, and of their entries, with names of their own.
namespace asked {
inline constexpr std::string_view kStatus = "RequestStatus";
inline constexpr std::string_view kAt = "RequestedAt";
inline constexpr std::string_view kMember = "MemberId";
inline constexpr std::string_view kAlternatives = "Alternatives";  // A list of lists of queue keys.
inline constexpr std::string_view kQueue = "Queue";                // The queue in which the member was found.
inline constexpr std::string_view kEntry = "Entry";                // The member's entry in that queue, a map.
inline constexpr std::string_view kWaiting = "waiting";
inline constexpr std::string_view kAssigned = "assigned";
}  // namespace asked

struct QueueFacts {
  int64_t version = 0;
  int64_t depth = 0;
  std::optional<int64_t> request_version;  // Empty: no request has waited for it yet.
  int64_t requests = 0;
};
struct EntryFacts {
  std::string id;   // The member's id.
  std::string at;   // Its sort key.
  QueueSet queues;  // All queues in which the member waits.
};
struct WaitingFacts {  // The entry of a request in one queue.
  std::string id;
  std::string at;
};
struct RequestFacts {
  FilteredRequest request;
  Alternatives alternatives;
};

class Items {
 public:
  // Both outlive it.
  Items(const Settings& settings, const Combinations& combinations)
      : settings_(settings), combinations_(combinations) {}

  Item key(const std::string& partition, std::string sort) const;
  Item member_key(const std::string& id) const;
  Item queue_key(size_t queue) const { return key(settings_.layout.queues, combinations_.key(queue)); }
  Item entry_key(size_t queue, const std::string& at) const { return key(combinations_.key(queue), at); }
  Item waiting_key(size_t queue, const std::string& at) const { return key(combinations_.waiting_key(queue), at); }
  Item request_key(const std::string& id) const;
  // "AllQueues / Q#English#F": an item in messages.
  std::string name_of(const Item& key) const;
  std::string name_of(const ItemRef& item) const;
  // kValidation: empty, or too long for a key.
  Result<void> check_id(const std::string& id, std::string_view what) const;

  Result<FilteredMember> member(const ItemRef& item) const;
  // A null item means that no member has waited in the queue yet, unless `must_be_there`.
  Result<QueueFacts> queue(const ItemRef& item, size_t queue, bool must_be_there) const;
  Result<EntryFacts> entry(const ItemRef& item, size_t found_in) const;
  Result<WaitingFacts> waiting(const ItemRef& item) const;
  Result<RequestFacts> request(const ItemRef& item) const;
  Value alternatives(const Alternatives& alternatives) const;

  // The attributes that an entry copies from its member, without the key.
  Item copy_of(const ItemRef& member, const std::string& id) const;

 private:
  Result<std::string> text(const ItemRef& item, std::string_view attribute) const;
  Result<std::string> filled(const ItemRef& item, std::string_view attribute) const;
  Result<int64_t> number(const ItemRef& item, std::string_view attribute) const;
  Result<Alternatives> read_alternatives(const ItemRef& item) const;

  const Settings& settings_;
  const Combinations& combinations_;
};

}  // namespace freshet::filtered
