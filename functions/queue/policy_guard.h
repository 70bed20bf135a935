// Watches a changed policy: if the share of tasks done in time falls too far within a set time, the policy of before
// has to come back. Pure state with an explicit now; the queue changes the policy. Loop thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "functions/queue/punctuality.h"
#include "functions/settings.h"
#include "runtime/api/task_queue.h"

namespace freshet {

class PolicyGuard {
 public:
  // A share of fewer ended tasks than that says nothing.
  static constexpr uint64_t kLeastEnded = 20;
  // Tasks that waited under the old policy end in the first seconds of the new one, so the first look comes later.
  static constexpr nanoseconds kFirstLook = std::chrono::seconds(10);
  static constexpr nanoseconds kBetweenLooks = std::chrono::seconds(1);

  // kUnjudged: the time is over, and too few tasks have ended to say anything.
  enum class Verdict { kWait, kKeep, kUnjudged, kGoBack };

  // `before`: the settings to go back to. `share_before`: the share of the last minute, from 0 to 1. `counts`: all that
  // has ended until now. An older guard ends.
  void begin(const PolicyGuardTerms& terms, QueueSettings before, double share_before, const InTimeCounts& counts,
             BootTime now);
  void end() {
    watched_.reset();
    aside_.reset();
  }
  // Ends it, too, until take_back(), if no other one begins or ends before that.
  void put_aside() { aside_ = std::exchange(watched_, std::nullopt); }
  void take_back() {
    if (aside_) watched_ = std::exchange(aside_, std::nullopt);
  }
  bool on() const { return watched_.has_value(); }
  // The time of the next look; BootTime::max() without a guard.
  BootTime next_look() const { return watched_ ? watched_->next_look : BootTime::max(); }

  // kWait before next_look() and without a guard.
  Verdict look(const Punctuality& punctuality, BootTime now);
  // The share since the change, as the guard compares it: of the last minute if enough tasks ended in it, otherwise of
  // all the time since. Empty: too few have ended.
  std::optional<double> share(const Punctuality& punctuality, BootTime now) const;

  // Only with a guard.
  const QueueSettings& before() const { return watched_->before; }
  const PolicyGuardTerms& terms() const { return watched_->terms; }
  double share_before() const { return watched_->share_before; }
  BootTime until() const { return watched_->since + watched_->terms.within; }

 private:
  struct Watched {
    PolicyGuardTerms terms;
    QueueSettings before;
    double share_before = 0;
    InTimeCounts counts;
    BootTime since;
    BootTime next_look;
  };

  std::optional<Watched> watched_;
  std::optional<Watched> aside_;
};

}  // namespace freshet
