// Watches a changed policy: if the share of tasks that are done in time falls too far within a set time, the previous
// policy is to be restored. Pure state with an explicit now; the queue changes the policy. Loop thread.
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
  // With fewer ended tasks, a share is not meaningful.
  static constexpr uint64_t kLeastEnded = 20;
  // The first look is not earlier: in the first seconds, tasks end that waited under the old policy.
  static constexpr nanoseconds kFirstLook = std::chrono::seconds(10);
  static constexpr nanoseconds kBetweenLooks = std::chrono::seconds(1);

  // kUnjudged: the time is over, and too few tasks have ended to judge.
  enum class Verdict { kWait, kKeep, kUnjudged, kGoBack };

  // `before`: the settings to go back to. `share_before`: the share of the last minute, from 0 to 1. `counts`: the
  // totals up to now. It replaces an earlier guard.
  void begin(const PolicyGuardTerms& terms, QueueSettings before, double share_before, const InTimeCounts& counts,
             BootTime now);
  void end() {
    watched_.reset();
    aside_.reset();
  }
  // Suspends the guard until take_back(). If another one begins or ends before that, this one is over.
  void put_aside() { aside_ = std::exchange(watched_, std::nullopt); }
  void take_back() {
    if (aside_) watched_ = std::exchange(aside_, std::nullopt);
  }
  bool on() const { return watched_.has_value(); }
  // The time of the next look; BootTime::max() without a guard.
  BootTime next_look() const { return watched_ ? watched_->next_look : BootTime::max(); }

  // kWait before next_look() and without a guard.
  Verdict look(const Punctuality& punctuality, BootTime now);
  // The share that the guard compares: that of the last minute if enough tasks ended in it, else that since the change.
  // Empty: too few have ended.
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
