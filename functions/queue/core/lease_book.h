// The leases that this daemon times, by its boot clock and in memory only: its own from the claim on, those of others
// from when it first saw them. Records of priority queues have none (functions/priority/record.h). Loop thread.
//
// It belongs to Claims, which alone changes it. Others read it through Claims::leases().
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/node_hash_map.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "functions/queue/lease.h"

namespace freshet {

class LeaseBook {
 public:
  LeaseBook() = default;
  LeaseBook(const LeaseBook&) = delete;
  LeaseBook& operator=(const LeaseBook&) = delete;
  void clear();

  // Starts a lease at `now`, whatever was known of the task.
  void start(std::string id, Lease lease, BootTime now);
  // The lease was read from the table. It restarts at `now` if its token is new or its heartbeat number is higher, else
  // it goes on. A lease of this Queue object stays marked as such.
  void observe(std::string id, Lease lease, BootTime now);
  // Null if none. Valid until the book changes.
  const Lease* find(const std::string& id) const;
  // Task and token of each lease of this Queue object, in the order of their ends.
  std::vector<std::pair<std::string, std::string>> held() const;
  // The same for tasks that pull workers hold.
  std::vector<std::pair<std::string, std::string>> pulled() const;
  // When the claim was made; empty if it is not this Queue object's, or no longer in the book.
  std::optional<BootTime> claimed_at(const std::string& id, std::string_view token) const;
  // Replaces the task's image, for instance after it was marked as cancelled. The lease goes on.
  void update(const std::string& id, ItemRef task);
  void forget(const std::string& id, std::string_view token);  // Only if that is its token.

  BootTime next_end() const;  // BootTime::max() if there are none.
  // At most `limit` tasks whose lease has ended by `now`, in the order of their ends. They stay in the book.
  std::vector<std::string> ended(BootTime now, size_t limit) const;
  // Calls `visit` for at most `most` leases, in the order of their ends. `visit` must not change the book.
  using Visit = std::function<void(const std::string& id, const Lease& lease, BootTime claimed, BootTime end)>;
  void each(size_t most, const Visit& visit) const;
  // Extends an ended lease, so that ended() does not return it before `until`.
  void postpone(const std::string& id, BootTime until);

  // Called with the number of timed tasks of a group whenever it changes; "": tasks without a group.
  using OnGroup = std::function<void(std::string_view group, uint64_t in_work)>;
  void on_group_change(OnGroup callback) { on_group_change_ = std::move(callback); }
  // Called with the number of timed tasks of a key whenever it changes.
  using OnKey = std::function<void(std::string_view key, uint64_t in_work)>;
  void on_key_change(OnKey callback) { on_key_change_ = std::move(callback); }
  // The number of timed tasks of each group and key.
  using Counts = std::map<std::string, uint64_t, std::less<>>;
  const Counts& by_group() const { return in_work_; }
  const Counts& by_key() const { return keys_; }
  uint64_t ungrouped() const { return ungrouped_; }  // Timed tasks without a group.
  // True if a timed task has that key.
  bool holds_key(std::string_view key) const { return keys_.contains(key); }
  bool holds_keys() const { return !keys_.empty(); }

  size_t size() const { return leases_.size(); }
  size_t mine() const { return mine_; }

 private:
  struct Entry {
    Lease lease;
    BootTime end;
    BootTime claimed;  // For leases of others: when they were first seen.
    uint64_t number;   // Breaks ties of `end`, so that the order never depends on hashing.
  };
  using Leases = absl::node_hash_map<std::string, Entry>;
  using Ends = absl::btree_map<std::pair<BootTime, uint64_t>, const std::string*>;

  void count(const Lease& lease, int change);
  void count_key(const Lease& lease, int change);
  static void end_calls(Lease& lease);
  static bool counts_as(const Lease& one, const Lease& other);

  Leases leases_;
  Ends ends_;
  uint64_t number_ = 0;
  size_t mine_ = 0;
  uint64_t ungrouped_ = 0;
  OnGroup on_group_change_;
  Counts in_work_;  // By group.
  OnKey on_key_change_;
  Counts keys_;  // Timed tasks by key.
};

}  // namespace freshet
