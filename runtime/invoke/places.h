// Limits how many invocations run at a time: per function with reserved concurrency, which its versions and aliases
// share, and together for all other functions.
//
// Callers and waiting events take turns. Events would otherwise take every place in the moment in which it is freed,
// and a caller at the limit of a function with a backlog would always be refused. The rule, for each function with
// reserved concurrency and for the places that all others share:
//
// - When a caller is refused, the next place is kept for a caller. Callers try again after a while, so it is kept for
//   kKept after an event has asked for it. Then the event gets it.
// - When a caller has got a place, it is the turn of an event: until one has started, nothing is kept.
// - A caller that has not come back within kRemembered after it was refused is forgotten.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "runtime/invoke/function.h"
#include "streams/arn.h"

namespace freshet {

// Loop thread only. Must outlive every place it gave.
class Places {
 public:
  enum class For { kCaller, kEvent };
  static constexpr nanoseconds kKept = std::chrono::seconds(1);
  static constexpr nanoseconds kRemembered = std::chrono::seconds(30);

  // `freed` is called for every place that is given back; `reserved` is true if only that function gains by it.
  Places(int unreserved, std::function<void(const std::string& function, bool reserved)> freed)
      : unreserved_(unreserved), freed_(std::move(freed)) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // One running invocation. Its destructor gives the place back. Movable.
  class Place {
   public:
    Place(Place&& other) noexcept
        : places_(std::exchange(other.places_, nullptr)), name_(std::move(other.name_)), reserved_(other.reserved_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (places_) places_->release(name_, reserved_);
    }

   private:
    friend class Places;
    Place(Places& places, std::string name, bool reserved)
        : places_(&places), name_(std::move(name)), reserved_(reserved) {}
    Places* places_;
    std::string name_;
    bool reserved_;
  };

  // Empty if the function is at its limit, or if the place is kept for a caller.
  std::optional<Place> take(const FunctionDefinition& function, For whom, BootTime now) {
    const int free = free_of(function);
    if (free <= 0) {
      if (whom == For::kCaller) refused(function, now);
      return std::nullopt;
    }
    if (!turns_.empty() && !take_turn(function, whom, now, free)) return std::nullopt;
    const bool reserved = function.reserved_concurrency.has_value();
    ++running_[function.name];
    ++total_;
    if (!reserved) ++unreserved_running_;
    return Place(*this, function.name, reserved);
  }
  // The time until which the place that an event of it wants is kept for a caller. Empty: none is kept.
  std::optional<BootTime> kept_until(const FunctionDefinition& function) const {
    const auto turn = turns_.find(pool_of(function));
    // After the limit was lowered there may be no place to keep until one is freed.
    if (turn == turns_.end() || free_of(function) <= 0) return std::nullopt;
    return turn->second.kept_until;
  }
  void forget(const FunctionDefinition& function) {
    if (function.reserved_concurrency) turns_.erase(std::string(pool_of(function)));
  }
  int running(const std::string& function) const {
    const auto found = running_.find(function);
    return found == running_.end() ? 0 : found->second;
  }
  int total() const { return total_; }

 private:
  struct Turns {
    std::optional<BootTime> refused_at;  // The time at which a caller was last refused; empty: no caller waits for its
                                         // turn.
    std::optional<BootTime> kept_until;
    bool of_event = false;  // True if a caller has had its turn.
  };

  // Endpoints of topics have no versions, but colons in their names.
  static bool is_endpoint(const FunctionDefinition& function) { return function.host == "endpoint"; }
  // "" for the pool that all functions without reserved concurrency share.
  static std::string_view pool_of(const FunctionDefinition& function) {
    if (!function.reserved_concurrency) return {};
    return is_endpoint(function) ? std::string_view(function.name) : plain_name(function.name);
  }
  int free_of(const FunctionDefinition& function) const {
    if (!function.reserved_concurrency) return unreserved_ - unreserved_running_;
    const std::string name(pool_of(function));
    int taken = running(name);
    if (is_endpoint(function)) return *function.reserved_concurrency - taken;
    const std::string end = name + static_cast<char>(':' + 1);
    for (auto at = running_.lower_bound(name + ":"); at != running_.end() && at->first < end; ++at) taken += at->second;
    return *function.reserved_concurrency - taken;
  }
  void refused(const FunctionDefinition& function, BootTime now) {
    Turns& turns = turns_.try_emplace(std::string(pool_of(function))).first->second;
    if (!turns.of_event) turns.refused_at = now;
  }
  // Returns false if it is a caller's turn.
  bool take_turn(const FunctionDefinition& function, For whom, BootTime now, int free) {
    const auto found = turns_.find(pool_of(function));
    if (found == turns_.end()) return true;
    Turns& turns = found->second;
    if (whom == For::kCaller) {
      turns = Turns{std::nullopt, std::nullopt, true};
      return true;
    }
    const bool waits = turns.refused_at && now - *turns.refused_at < kRemembered;
    if (waits && free == 1) {
      if (!turns.kept_until) turns.kept_until = now + kKept;
      if (now < *turns.kept_until) return false;
    }
    if (free == 1 || !waits) turns = Turns{};
    turns.of_event = false;
    return true;
  }
  void release(const std::string& function, bool reserved) {
    const auto found = running_.find(function);
    if (--found->second == 0) running_.erase(found);
    --total_;
    if (!reserved) --unreserved_running_;
    freed_(function, reserved);
  }

  const int unreserved_;
  const std::function<void(const std::string&, bool)> freed_;
  std::map<std::string, int> running_;
  std::map<std::string, Turns, std::less<>> turns_;  // By pool; only where a caller was refused.
  int unreserved_running_ = 0;
  int total_ = 0;
};

}  // namespace freshet
