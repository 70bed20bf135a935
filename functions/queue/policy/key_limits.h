// Limits of rate and concurrency for each key (or group) by itself: a token bucket and a count of tasks in flight per
// key, with an explicit now. Pure state, no clock. Where rates are learnt (KEY_RATE_LIMIT=adaptive), each key has a
// learner (adaptive_rate.h) in place of a bucket, which takes about a kilobyte until the key has been idle for ten
// minutes.
//
// A bucket counts cost, or tasks (a cost of 1 each). A task may start while the bucket holds one token; then its whole
// cost is charged, so that the bucket may go into debt. In any window of W seconds at most rate * W + burst is started,
// and one task's cost more if tasks cost more than one token. The actual cost of a task is known when it is settled:
// the difference is then charged or given back.
//
// A key that is full and has nothing in flight is forgotten. So memory is bounded by kMostKeys, and by the number of
// keys that started a task within the time in which a bucket fills. bytes() returns the current size. Each call costs
// the logarithm of the number of keys. A key that was never seen counts as one that emptied its bucket when the limits
// were set, so that there is no burst after a restart.
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
  kTaken,    // The downstream accepted it, whatever its result.
  kRefused,  // Because of a limit.
  kUnknown,  // It was not sent, or nobody answered.
};

// One task of a key, from its claim to its answer. Without an answer, its destruction counts as kUnknown.
struct KeyCall {
  KeyCall(double its_cost, uint64_t its_limits) : cost(its_cost), limits(its_limits) {}
  KeyCall(const KeyCall&) = delete;
  KeyCall& operator=(const KeyCall&) = delete;
  ~KeyCall() {
    if (learner) learner->abandoned(start);
  }

  double cost;                            // The cost that was charged.
  uint64_t limits;                        // Identifies the limits that it counts for: see KeyLimits::clear().
  std::shared_ptr<AdaptiveRate> learner;  // Null: rates are not learnt, or the rate was announced.
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
    bool learnt = false;  // The rate is learnt; `rate` and `burst` are not used.

    bool any() const { return rate > 0 || concurrency > 0 || learnt; }
    bool operator==(const Limits&) const = default;
  };

  KeyLimits() = default;
  KeyLimits(const KeyLimits&) = delete;
  KeyLimits& operator=(const KeyLimits&) = delete;

  // Called whenever a key reaches its limit or may start again. It must not call back.
  using OnChange = std::function<void(std::string_view key, bool may_start)>;
  void on_change(OnChange callback) { on_change_ = std::move(callback); }

  // Sets the limits. What was used and what is in flight still counts.
  void set(const Limits& limits, BootTime now);
  // Forgets all keys; their buckets are empty at `now`. Makes no OnChange call. Calls that were started before no
  // longer count.
  void clear(BootTime now);
  bool on() const { return limits_.any(); }
  const Limits& limits() const { return limits_; }

  // True if a task of the key may start in addition to `claims` others, with a total cost of `cost`, that started()
  // does not know of. Otherwise the key is now at its limit, and OnChange is called when that ends.
  bool may_start(std::string_view key, BootTime now, uint64_t claims = 0, double cost = 0);
  // A claim for a task of that cost goes out.
  std::shared_ptr<KeyCall> started(std::string_view key, double cost, BootTime now);
  // The claim was answered. `ok`: the task is in flight, and in_flight() is called next. Otherwise its cost is given
  // back.
  void claimed(std::string_view key, KeyCall& call, bool ok, BootTime now);
  // Reports the task's outcome. Only the first answer counts. `units`: its real cost.
  void answered(std::string_view key, KeyCall& call, CallAnswer answer, BootTime now, const LimitHints& hints = {},
                std::optional<double> units = {});
  // Notes how many tasks of the key are held under leases now.
  void in_flight(std::string_view key, uint64_t tasks, BootTime now);
  // Charges the difference between a task's actual cost and what was charged before. Not for learnt rates: see
  // answered().
  void charge(std::string_view key, double difference, BootTime now);

  // Lets keys whose time has come start again, at most `most` of them. True if there may be more.
  bool due(BootTime now, size_t most);
  BootTime next_due() const { return events_.empty() ? BootTime::max() : events_.begin()->first.first; }

  // The limit that keeps the key from starting a task; empty: none.
  struct Standing {
    bool is_rate = false;  // True: the rate. False: the concurrency.
    BootTime at{};         // When it may start again, by its rate.
    uint64_t in_flight = 0;
    double rate = 0;  // As set, or as learnt.
  };
  std::optional<Standing> standing(std::string_view key, BootTime now) const;

  // The learnt limits to keep across restarts: those of the keys that started something last, the latest first. At most
  // kMostKept, and kMostKeptBytes of names. Keys without a refusal so far have no limit to keep.
  static constexpr size_t kMostKept = 1'000;
  static constexpr size_t kMostKeptBytes = 100'000;
  std::vector<LearntKey> learnt() const;
  // The same, with what remember() was given, to be written now. Empty: nothing has changed, or it is too soon and not
  // `at_once`. The result counts as written unless not_kept() is called.
  std::optional<std::vector<LearntKey>> to_keep(BootTime now, bool at_once = false);
  // That write failed: to_keep() returns the limits again.
  void not_kept() { keep_failed_ = true; }
  BootTime next_keep() const { return limits_.learnt ? next_keep_ : BootTime::max(); }
  // Takes the limits that were kept before a restart. A key that starts a task within ten minutes goes on from them.
  // Call it before the first start.
  void remember(std::vector<LearntKey> kept, BootTime now);

  size_t at_limit() const { return at_limit_; }  // Keys.
  size_t known() const { return keys_.size(); }
  size_t bytes() const;  // The memory that the keys take.

 private:
  struct Key {
    double tokens = 0;
    BootTime at{};  // When it had `tokens`.
    uint64_t in_flight = 0;
    uint64_t claims = 0;  // Without an answer yet.
    bool held = false;    // At its limit.
    BootTime event{};     // With `number`, its place in events_; BootTime{}: none.
    uint64_t number = 0;  // Orders events of the same time.
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
  OnChange on_change_;
  Keys keys_;
  // For a key at its limit, the time at which it may start; for others, the time at which they are full and forgotten.
  absl::btree_map<std::pair<BootTime, uint64_t>, const std::string*> events_;
  uint64_t number_ = 0;
  uint64_t cleared_ = 0;  // The number of calls of clear().
  size_t at_limit_ = 0;
  size_t name_bytes_ = 0;
  std::map<std::string, LearntLimit, std::less<>> kept_;  // As written last, or read at startup.
  BootTime remembered_{};                                 // When `kept_` was read.
  BootTime next_keep_{};
  bool keep_failed_ = false;  // `kept_` differs from what is stored.
  BootTime born_{};           // The time of `tokens_born_`.
  double tokens_born_ = 0;    // The tokens that an unseen key had at `born_`.
};

}  // namespace freshet
