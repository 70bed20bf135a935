// Limits of rate and concurrency for each key (or group) by itself: a token bucket and a count of tasks in flight per
// key, with an explicit now. Pure state, no clock. Where rates are learnt (KEY_RATE_LIMIT=adaptive), each key has a
// learner (adaptive_rate.h) in place of a bucket, about a kilobyte of it until the key was idle for ten minutes.
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
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "functions/queue/policy/adaptive_rate.h"
#include "functions/queue/policy/kept_rate.h"

namespace freshet {

// The limits that were learnt for one key.
struct LearntKey {
  std::string key;
  LearntLimit limit;
};

// The outcome of a task, as its downstream says.
enum class CallAnswer {
  kTaken,    // The downstream took it, whatever came of it.
  kRefused,  // As beyond a limit.
  kUnknown,  // It was not sent, or nobody answered.
};

// One task of a key, from its claim to its answer. One that nobody answers is unknown when this ends.
struct KeyCall {
  KeyCall(double its_cost, uint64_t its_limits) : cost(its_cost), limits(its_limits) {}
  KeyCall(const KeyCall&) = delete;
  KeyCall& operator=(const KeyCall&) = delete;
  ~KeyCall() {
    if (learner) learner->abandoned(start);
  }

  double cost;                            // As it was charged.
  uint64_t limits;                        // Under which limits: see KeyLimits::clear().
  std::shared_ptr<AdaptiveRate> learner;  // Null: rates are not learnt, or it was told.
  AdaptiveRate::Start start{};
};

class KeyLimits {
 public:
  static constexpr size_t kMostKeys = 1'000'000;  // Beyond it, keys that are not known wait until one is forgotten.
  static constexpr size_t kMostLearnt = 100'000;  // The same where rates are learnt.

  struct Limits {
    double rate = 0;      // Tokens a second; 0: no limit.
    double burst = 1;     // The most tokens that a bucket holds. >= 1.
    int concurrency = 0;  // Tasks in flight; 0: no limit.
    bool learnt = false;  // In place of `rate` and `burst`, which are not used.

    bool any() const { return rate > 0 || concurrency > 0 || learnt; }
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
  // Forgets all keys; their buckets are empty at `now`. Nobody is told. Calls that were started before count for
  // nothing any more.
  void clear(BootTime now);
  bool on() const { return limits_.any(); }
  const Limits& limits() const { return limits_; }

  // True if a task of the key may start beside `claims` others that cost `cost` and that started() does not know of.
  // If it may not, the key is at its limit from now on, and the change is told when that ends.
  bool may_start(std::string_view key, BootTime now, uint64_t claims = 0, double cost = 0);
  // A claim for a task of that cost goes out.
  std::shared_ptr<KeyCall> started(std::string_view key, double cost, BootTime now);
  // It was answered; `ok`: the task is in flight, and in_flight() says so next. Else its cost is given back.
  void claimed(std::string_view key, KeyCall& call, bool ok, BootTime now);
  // Reports the task's outcome. Only the first answer counts. `units`: its real cost.
  void answered(std::string_view key, KeyCall& call, CallAnswer answer, BootTime now, const LimitHints& hints = {},
                std::optional<double> units = {});
  // Notes how many tasks of the key are held under leases now.
  void in_flight(std::string_view key, uint64_t tasks, BootTime now);
  // A task has cost that much more (or less) than what was charged for it. Not where rates are learnt: see answered().
  void charge(std::string_view key, double difference, BootTime now);

  // Keys whose time has come may start again. At most `most` of them; true if there may be more.
  bool due(BootTime now, size_t most);
  BootTime next_due() const { return events_.empty() ? BootTime::max() : events_.begin()->first.first; }

  // The limit that keeps the key from starting a task. Empty: none.
  struct Standing {
    bool is_rate = false;  // Else its concurrency.
    BootTime at{};         // When it may start again, by its rate.
    uint64_t in_flight = 0;
    double rate = 0;  // As set, or as learnt.
  };
  std::optional<Standing> standing(std::string_view key, BootTime now) const;

  // The learnt limits to keep across restarts: those of the keys that started something last, the latest first. At most
  // kMostKept, and kMostKeptBytes of names. Keys of which nothing was refused yet have no limit to be kept.
  static constexpr size_t kMostKept = 1'000;
  static constexpr size_t kMostKeptBytes = 100'000;
  std::vector<LearntKey> learnt() const;
  // The same with what an earlier life knew, to be written now. Empty: nothing has moved, or it is too soon to look,
  // and `at_once` is not wanted. It counts as written until not_kept() is called.
  std::optional<std::vector<LearntKey>> to_keep(BootTime now, bool at_once = false);
  // The write of them failed: to_keep() gives them out again, moved or not.
  void not_kept() { keep_failed_ = true; }
  BootTime next_keep() const { return limits_.learnt ? next_keep_ : BootTime::max(); }
  // Takes the limits of an earlier life. A key that starts something within ten minutes goes on from there. Before the
  // first start.
  void remember(std::vector<LearntKey> kept, BootTime now);

  size_t at_limit() const { return at_limit_; }  // Keys.
  size_t known() const { return keys_.size(); }
  size_t bytes() const;  // The bytes that they take.

 private:
  struct Key {
    double tokens = 0;
    BootTime at{};  // When it had those.
    uint64_t in_flight = 0;
    uint64_t claims = 0;  // Without an answer yet.
    bool held = false;    // At its limit.
    BootTime event{};     // Its place in events_; BootTime{}: none.
    uint64_t number = 0;  // The same.
    std::shared_ptr<AdaptiveRate> learner{};
  };
  using Keys = std::map<std::string, Key, std::less<>>;

  double tokens_unseen(BootTime now) const;
  double refilled(double tokens, BootTime at, BootTime now) const;
  void refill(Key& key, BootTime now) const;
  bool may(const Key& key, uint64_t claims, double cost, BootTime now) const;
  bool has_tokens(const Key& key, double cost, BootTime now) const;
  BootTime next_start(const Key& key, BootTime now) const;
  void forget(Keys::iterator it);
  BootTime time_of(double tokens, double wanted, BootTime now) const;
  Keys::iterator find(std::string_view key, BootTime now);
  void settle(Keys::iterator it, BootTime now);
  void plan(Keys::value_type& key, BootTime when);
  std::shared_ptr<AdaptiveRate> make_learner(const std::string& key, BootTime now) const;

  Limits limits_;
  OnChange told_;
  Keys keys_;
  // For a key at its limit, the time at which it may start; for others, the time at which they are full and forgotten.
  absl::btree_map<std::pair<BootTime, uint64_t>, const std::string*> events_;
  uint64_t number_ = 0;
  uint64_t cleared_ = 0;  // The number of times.
  size_t at_limit_ = 0;
  size_t name_bytes_ = 0;
  std::map<std::string, LearntLimit, std::less<>> kept_;  // As it was written last, or read at the start.
  BootTime remembered_{};                                 // When it was read.
  BootTime next_keep_{};
  bool keep_failed_ = false;  // `kept_` is not what is stored.
  BootTime born_{};           // An unseen key had
  double tokens_born_ = 0;    // so many tokens then.
};

}  // namespace freshet
