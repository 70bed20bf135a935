// The leases of tasks that this daemon watches, in memory only: its own from the claim on, others from when it first
// saw them, by its boottime clock. Records of priority queues have none (functions/priority/record.h). Loop thread.
//
// It is a piece of Claims, which alone changes it; others read it by Claims::leases().
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

  // The lease runs from `now`, whatever was known of the task.
  void start(std::string id, Lease lease, BootTime now);
  // The lease was read somewhere: it runs from `now` if the token or a higher beat is new, else it goes on. A lease
  // that is known as this Queue object's stays so.
  void observe(std::string id, Lease lease, BootTime now);
  // Null if none. Valid until the book changes.
  const Lease* find(const std::string& id) const;
  // Task and token of each lease of this Queue object, the first to end first.
  std::vector<std::pair<std::string, std::string>> held() const;
  // The same for tasks that pull workers hold.
  std::vector<std::pair<std::string, std::string>> pulled() const;
  // When the claim was made, if it is this Queue object's and still in the book.
  std::optional<BootTime> claimed_at(const std::string& id, std::string_view token) const;
  // Replaces the task's image, e.g. with the mark of a cancel; the time goes on.
  void update(const std::string& id, ItemRef task);
  void forget(const std::string& id, std::string_view token);  // Only if that is its token.

  BootTime next_end() const;  // BootTime::max() if there are none.
  // Up to `limit` tasks whose lease has ended at `now`, the first to end first. They stay in the book.
  std::vector<std::string> ended(BootTime now, size_t limit) const;
  // Calls `visit` for at most `most` leases, the first to end first. It does not change the book.
  using Visit = std::function<void(const std::string& id, const Lease& lease, BootTime claimed, BootTime end)>;
  void each(size_t most, const Visit& visit) const;
  // Lets an ended lease run until `until` before it is named by ended() again.
  void postpone(const std::string& id, BootTime until);

  // Told of how many watched tasks a group has, at each change; "" for those without one.
  using OnGroup = std::function<void(std::string_view group, uint64_t in_work)>;
  void tell_groups(OnGroup told) { told_ = std::move(told); }
  // Told of how many watched tasks a key has, at each change.
  using OnKey = std::function<void(std::string_view key, uint64_t in_work)>;
  void tell_keys(OnKey told) { told_key_ = std::move(told); }
  // How many watched tasks each group and each key has.
  using Counts = std::map<std::string, uint64_t, std::less<>>;
  const Counts& by_group() const { return in_work_; }
  const Counts& by_key() const { return keys_; }
  uint64_t ungrouped() const { return ungrouped_; }  // Watched tasks without a group.
  // True if a watched task has that key.
  bool holds_key(std::string_view key) const { return keys_.contains(key); }
  bool holds_keys() const { return !keys_.empty(); }

  size_t size() const { return leases_.size(); }
  size_t mine() const { return mine_; }

 private:
  struct Entry {
    Lease lease;
    BootTime end;
    BootTime claimed;  // First seen, of the leases of others.
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
  OnGroup told_;
  Counts in_work_;  // By group.
  OnKey told_key_;
  Counts keys_;  // Watched tasks by key.
};

}  // namespace freshet
