// The actions of one transaction of a filtered queue. Each has its assumptions as conditions, so a transaction changes
// nothing if another writer was faster.
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

  // A member enters the queue: its entry, version and depth; fails if a request has come or gone since `seen`.
  void enter(size_t queue, const std::string& at, const Item& copy, const QueueFacts& seen);
  // The member leaves, if its entry exists. With `seen`, only if no member has come or gone since then.
  void leave(size_t queue, const EntryFacts& entry, const QueueFacts* seen);
  // A request begins to wait for the queue; fails if a member has come or gone since `seen`.
  void wait(size_t queue, const std::string& at, const std::string& request, const QueueFacts& seen);
  // The request stops waiting for the queue, if the entry there is its own.
  void stop_waiting(size_t queue, const std::string& at, const std::string& request);

  // Sets the member's status; fails if its attributes have changed since it was read.
  void queue_member(const FilteredMember& member, const std::string& at);
  // Assigns a queued member with that entry. `queued_at`: the time in the member as it was read; empty if it had none.
  // Without `queued_at`, the member may have the entry's time or none, as members that other programs queued.
  void assign_member(const EntryFacts& entry, const std::optional<std::string>& queued_at,
                     const std::string& assignment, const std::string& request);
  // The member must be available, with the attributes as they were read.
  void give_member(const FilteredMember& member, const std::string& assignment, const std::string& request);
  void withdraw_member(const FilteredMember& member);
  void release_member(const FilteredMember& member);

  // Fails if the request exists. Leaves out an entry that would make the item too large.
  void put_request(const FilteredRequest& request, const Alternatives& alternatives);
  void give_request(const std::string& id, const std::string& member, const std::string& assignment);  // Fails unless
                                                                                                       // the request
                                                                                                       // waits.
  void drop_request(const std::string& id, std::string_view status);  // Fails unless the request has that status.

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
