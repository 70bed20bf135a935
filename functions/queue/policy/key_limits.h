// Limits of rate and concurrency for each key (or group) by itself: a token bucket and a count of tasks in flight per
// key, with an explicit now. Pure state, no clock.
//
// A bucket counts cost, or tasks (a cost of 1 each). A task may start while the bucket holds one token; then its whole
// cost is charged, so that the bucket may go into debt. In any window of W seconds at most rate * W + burst is started,
// and one task's cost more if tasks cost more than one token. What a task really cost is told when it is settled: the
// difference is charged or given back.
//
// A key that is full and has nothing in flight is forgotten. So memory is bounded by the keys that started something
// within the time in which a bucket fills, and by kMostKeys; bytes() says how much it is. Each call costs the logarithm
// of the number of keys. A key that was never seen counts as one that emptied its bucket when the limits were set: no
// burst comes after a restart.
#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace freshet {

class KeyLimits {
 public:
  static constexpr size_t kMostKeys = 1'000'000;  // Beyond it, keys that are not known wait until one is forgotten.

  struct Limits {
    double rate = 0;      // Tokens a second; 0: no limit.
    double burst = 1;     // The most tokens that a bucket holds. >= 1.
    int concurrency = 0;  // Tasks in flight; 0: no limit.

    bool any() const { return rate > 0 || concurrency > 0; }
    bool operator==(const Limits&) const = default;
  };

  KeyLimits() = default;
  KeyLimits(const KeyLimits&) = delete;
  KeyLimits& operator=(const KeyLimits&) = delete;

  // Told whenever a key reaches its limit or may start again. It does not call back.
  using OnChange = std::function<void(std::string_view key, bool may_start)>;
  void tell(OnChange told) { told_ = std::move(told); }

  // From now on. What was used and what is in flight counts.
  void set(const Limits& limits, BootTime now);
  // Forgets all keys; their buckets are empty at `now`. Nobody is told.
  void clear(BootTime now);
  bool on() const { return limits_.any(); }
  const Limits& limits() const { return limits_; }

  // Whether a task of the key may start beside `claims` others that cost `cost` and that started() does not know of.
  // If it may not, the key is at its limit from now on, and the change is told when that ends.
  bool may_start(std::string_view key, BootTime now, uint64_t claims = 0, double cost = 0);
  // A claim for a task of that cost goes out.
  void started(std::string_view key, double cost, BootTime now);
  // It was answered; `ok`: the task is in flight, and in_flight() says so next. Else its cost is given back.
  void claimed(std::string_view key, double cost, bool ok, BootTime now);
  // So many tasks of the key are held under leases now.
  void in_flight(std::string_view key, uint64_t tasks, BootTime now);
  // A task has cost that much more (or less) than what was charged for it.
  void charge(std::string_view key, double difference, BootTime now);

  // Keys whose time has come may start again. At most `most` of them; true if there may be more.
  bool due(BootTime now, size_t most);
  BootTime next_due() const { return events_.empty() ? BootTime::max() : events_.begin()->first.first; }

  // What keeps the key from starting a task; empty: nothing.
  struct Standing {
    bool is_rate = false;  // Else its concurrency.
    BootTime at{};         // When it may start again, by its rate.
    uint64_t in_flight = 0;
  };
  std::optional<Standing> standing(std::string_view key, BootTime now) const;

  size_t at_limit() const { return at_limit_; }  // Keys.
  size_t known() const { return keys_.size(); }
  size_t bytes() const;  // What they take.

 private:
  struct Key {
    double tokens = 0;
    BootTime at{};  // When it had those.
    uint64_t in_flight = 0;
    uint64_t claims = 0;  // Without an answer yet.
    bool held = false;    // At its limit.
    BootTime event{};     // Its place in events_; BootTime{}: none.
    uint64_t number = 0;  // The same.
  };
  using Keys = std::map<std::string, Key, std::less<>>;

  double tokens_unseen(BootTime now) const;
  double refilled(double tokens, BootTime at, BootTime now) const;
  void refill(Key& key, BootTime now) const;
  bool may(const Key& key, uint64_t claims, double cost) const;
  BootTime time_of(double tokens, double wanted, BootTime now) const;
  Keys::iterator find(std::string_view key, BootTime now);
  void settle(Keys::iterator it, BootTime now);
  void plan(Keys::value_type& key, BootTime when);

  Limits limits_;
  OnChange told_;
  Keys keys_;
  // Of a key at its limit: when it may start. Of others: when they are full, to be forgotten. Numbers break ties.
  absl::btree_map<std::pair<BootTime, uint64_t>, const std::string*> events_;
  uint64_t number_ = 0;
  size_t at_limit_ = 0;
  size_t name_bytes_ = 0;
  BootTime born_{};         // An unseen key had
  double tokens_born_ = 0;  // so many tokens then.
};

}  // namespace freshet
