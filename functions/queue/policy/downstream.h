// The learned state of a queue's downstream, which is its task runner or its workers. It outlives runs of the
// processor: a pause that the downstream asked for does not end with a run. Pure state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "functions/queue/policy/adaptive_concurrency.h"
#include "functions/queue/policy/adaptive_rate.h"
#include "functions/queue/policy/breaker.h"
#include "functions/queue/policy/token_bucket.h"
#include "functions/settings.h"
#include "runtime/api/task_queue.h"

namespace freshet {

struct Downstream {
  Breaker breaker;                                 // Opens when a task is bounced.
  TokenBucket bucket{0};                           // RATE_LIMIT, of all runs together.
  std::optional<AdaptiveRate> rate;                // With RATE_LIMIT=adaptive, used instead of `bucket`.
  uint64_t rate_number = 0;                        // Changes each time `rate` is switched on.
  std::optional<AdaptiveConcurrency> concurrency;  // With CONCURRENCY=adaptive; of all runs together.
  uint64_t concurrency_number = 0;                 // Changes each time `concurrency` is switched on.
  size_t busy = 0;                                 // Tasks of all runs that are claimed and not done.
  size_t left = 0;                                 // Slots in use by runs that are over.
  std::string runner;                              // For people: the URL or program that works on the tasks.
  std::optional<RunnerTrouble> trouble;            // Set from the first bounce until a task is taken.

  // Sets the runner, which may be another one than before.
  void set_runner(std::string name) {
    if (name != runner) trouble.reset();
    runner = std::move(name);
  }
  // The runner did not take a task. True if that is new: before, it took tasks, or was reachable and is not now.
  bool bounced(std::string_view message, bool reachable, WallTime now) {
    const bool is_news = !trouble || (trouble->reachable && !reachable);
    if (!trouble) trouble = RunnerTrouble{runner, {}, reachable, now, 0};
    trouble->message = message;
    trouble->reachable = reachable;
    ++trouble->bounces;
    return is_news;
  }

  // How many of `wanted` tasks may start now by RATE_LIMIT. Each one that starts must have a RatedCall.
  size_t allowed(BootTime now, size_t wanted) {
    if (breaker.open()) bucket.rest(now);
    return rate ? rate->allowed(now, wanted) : bucket.available(now, wanted);
  }
  // When the next one may start. Call it after allowed(), with the same `now`.
  BootTime next(BootTime now) const { return rate ? rate->next(now) : bucket.next(now); }
  // Nothing could start for a while: the queue was paused.
  void rested(BootTime now) { bucket.rest(now); }
  // The allowed starts per second, set or learnt; 0: no limit.
  double starts_a_second(const WorkSettings& work) const { return rate ? rate->rate() : work.rate_limit; }

  // Applies changed settings.
  void follow(const WorkSettings& work) {
    bucket.set(work.rate_limit, work.rate_burst);
    if (!work.rate_adaptive) {
      rate.reset();
    } else if (rate) {
      rate->set_bounds(work.rate_least, work.rate_most);
    } else {
      rate.emplace(work.rate_least, work.rate_most);
      ++rate_number;
    }
    const auto least = static_cast<size_t>(work.least);
    const auto most = static_cast<size_t>(work.most);
    if (!work.adaptive) return concurrency.reset();
    if (concurrency) return concurrency->set_bounds(least, most);
    concurrency.emplace(least, most);
    ++concurrency_number;
  }
};

// One task that may start by RATE_LIMIT, from its claim to its answer, whatever ends it. The downstream outlives it.
class RatedCall {
 public:
  RatedCall(Downstream& downstream, BootTime now, double units = 1)
      : downstream_(downstream), number_(downstream.rate_number), units_(units) {
    if (downstream.rate) {
      start_ = downstream.rate->started(now, units);
    } else {
      downstream.bucket.use(units);
    }
  }
  RatedCall(const RatedCall&) = delete;
  RatedCall& operator=(const RatedCall&) = delete;
  ~RatedCall() {
    if (is_learnt()) downstream_.rate->abandoned(*start_);
  }

  // True if the limit learns from its answer, which has not come yet.
  bool is_learnt() const { return start_ && downstream_.rate && downstream_.rate_number == number_; }
  // The downstream accepted it, whatever its result. `units`: the actual cost.
  void accepted(BootTime now, const LimitHints& hints = {}, std::optional<double> units = {}) {
    if (is_learnt()) {
      downstream_.rate->accepted(*start_, now, hints, units);
    } else if (units && !start_) {
      downstream_.bucket.use(*units - std::exchange(units_, *units));
    }
    start_.reset();
  }
  // It timed out, or the connection was lost: nobody knows whether the downstream took it. What was charged stays.
  void unanswered() {
    if (is_learnt()) downstream_.rate->abandoned(*start_);
    start_.reset();
  }
  // It never began: what was charged is given back.
  void never_began() {
    if (!start_) downstream_.bucket.use(-std::exchange(units_, 0.0));
  }
  // The downstream refused it because of a limit.
  void refused(BootTime now, const LimitHints& hints = {}) {
    if (is_learnt()) downstream_.rate->refused(*start_, now, hints);
    start_.reset();
  }

 private:
  Downstream& downstream_;
  const uint64_t number_;
  double units_;  // Charged so far.
  std::optional<AdaptiveRate::Start> start_;
};

}  // namespace freshet
