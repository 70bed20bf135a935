// The actions of one transaction of a filtered queue. What each relies on is a condition of its own, so a transaction
// that somebody was faster than changes nothing, whoever that was.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "functions/filtered/items.h"
#include "tables/tables.h"

namespace freshet::filtered {

class Actions {
 public:
  // All three outlive it.
  Actions(const Settings& settings, const Combinations& combinations, const Items& items)
      : settings_(settings), combinations_(combinations), items_(items) {}

  // A member comes into the queue: its entry, version and depth; unless a request has come or gone since `seen`.
  void enter(size_t queue, const std::string& at, const Item& copy, const QueueFacts& seen);
  // The member leaves, if its entry exists. With `seen`, only if no member has come or gone since.
  void leave(size_t queue, const EntryFacts& entry, const QueueFacts* seen);
  // A request begins to wait for the queue; unless a member has come or gone since `seen`.
  void wait(size_t queue, const std::string& at, const std::string& request, const QueueFacts& seen);
  // It waits no longer, if the entry there is its own.
  void stop_waiting(size_t queue, const std::string& at, const std::string& request);

  // The member as it was read, with its status, and with its attributes as they were.
  void queue_member(const FilteredMember& member, const std::string& at);
  // Assigns a member that is queued and waits by an entry of that time. `queued_at`: the time that the member showed as
  // it was read, empty if none. Without it, the member has the entry's time or none, as members that others queued do.
  void assign_member(const EntryFacts& entry, const std::optional<std::string>& queued_at,
                     const std::string& assignment, const std::string& request);
  // The member must be available and have its attributes as they were read.
  void give_member(const FilteredMember& member, const std::string& assignment, const std::string& request);
  void withdraw_member(const FilteredMember& member);
  void release_member(const FilteredMember& member);

  // Only if it does not exist. Leaves out an entry that would make it too large for an item.
  void put_request(const FilteredRequest& request, const Alternatives& alternatives);
  void give_request(const std::string& id, const std::string& member, const std::string& assignment);  // If it waits.
  void drop_request(const std::string& id, std::string_view status);  // If it has that status.

  size_t size() const { return transaction_.actions.size(); }
  TransactWriteInput finish() && { return std::move(transaction_); }

 private:
  void put_new(Item item);
  void drop_entry(Item key, const std::string& member);
  UpdateItemInput queue_update(size_t queue) const;
  UpdateItemInput member_update(const std::string& id) const;
  UpdateItemInput assignment(const std::string& id, const std::string& before, const std::string& assignment,
                             const std::string& request) const;
  void rely_on_attributes(UpdateItemInput& update, const FilteredMember& member) const;
  template <class Input>
  void add(Input input);

  const Settings& settings_;
  const Combinations& combinations_;
  const Items& items_;
  TransactWriteInput transaction_;
};

}  // namespace freshet::filtered
