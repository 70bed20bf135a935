// Repeats calls that take unusually long: a second call is made after the observed 95th percentile, and the first
// answer counts. Only for calls that may be carried out twice: reads, and writes with the timestamp of their first
// attempt. A call that the other side refuses for now is tried again, with growing waits.
//
// Loop thread. Outlives every Async that it returned; scheduler and random outlive it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/async.h"
#include "base/random.h"
#include "functions/ordered/latency_window.h"

namespace freshet::ordered {

struct HedgeSettings {
  size_t window = 1000;                // The percentile is that of the last so many calls.
  size_t least = 20;                   // The calls to observe before anything is hedged.
  nanoseconds least_delay{1'000'000};  // No hedge is made sooner: scheduling alone takes longer.
  double most_share = 0.1;   // The share of calls that may be hedged: when everything is slow, more load does not help.
  int max_attempts = 4;      // The most attempts of a call that is refused for now; each may be hedged.
  milliseconds backoff{20};  // Before the second attempt, then doubled; a random half of it is left out.
  milliseconds most_backoff{2000};
};

struct HedgeCounts {
  uint64_t calls = 0;  // Attempts, without hedges.
  uint64_t hedges = 0;
  uint64_t won = 0;  // Hedges that were answered first.
  uint64_t retries = 0;
};

class Hedger {
 public:
  Hedger(Scheduler& scheduler, Random& random, HedgeSettings settings = {})
      : scheduler_(scheduler), random_(random), settings_(settings), latency_(settings.window, settings.least) {}
  Hedger(const Hedger&) = delete;
  Hedger& operator=(const Hedger&) = delete;

  const HedgeCounts& counts() const { return counts_; }
  // The time after which a call would be hedged now; empty until enough calls were observed.
  std::optional<nanoseconds> delay() const;

  // `begin` makes one attempt each time it is called; `again` decides by an answer if the call should be tried again.
  // The attempt that loses is ended where it waits.
  template <class T>
  Async<T> call(std::function<Async<T>()> begin, bool (*again)(const T&)) {
    for (int attempt = 1;; ++attempt) {
      T answer = co_await hedged<T>(begin);
      if (!again(answer) || attempt >= settings_.max_attempts) co_return answer;
      ++counts_.retries;
      co_await sleep_for(scheduler_, wait_before(attempt));
    }
  }

 private:
  template <class T>
  struct Answer {
    bool by_hedge = false;
    T value;
  };
  struct Timer {
    ~Timer() { scheduler.cancel(id); }
    Scheduler& scheduler;
    TimerId id;
  };

  nanoseconds wait_before(int attempt);
  bool may_hedge() const;  // True if the share allows one more.

  template <class T>
  static Async<void> attempt(Async<T> work, bool by_hedge, Promise<std::shared_ptr<Answer<T>>> first) {
    T value = co_await work;
    first.set(std::make_shared<Answer<T>>(Answer<T>{by_hedge, std::move(value)}));
  }

  template <class T>
  Async<T> hedged(const std::function<Async<T>()>& begin) {
    const BootTime begun = scheduler_.clock().boot();
    Promise<std::shared_ptr<Answer<T>>> first(scheduler_);
    Scope attempts;  // Ends the losing attempt.
    ++counts_.calls;
    attempts.spawn(attempt<T>(begin(), false, first));
    const auto after = first.is_set() ? std::nullopt : delay();
    const auto hedge = [this, &attempts, &begin, first] {
      if (first.is_set() || !may_hedge()) return;
      ++counts_.hedges;
      attempts.spawn(attempt<T>(begin(), true, first));
    };
    // A call that takes exactly the usual time is not late.
    const Timer timer{scheduler_, after ? scheduler_.call_after(*after + nanoseconds(1), hedge) : TimerId{0}};
    const auto answer = co_await first.future();
    if (answer->by_hedge) ++counts_.won;
    // If the hedge won, the first attempt would have taken at least that long.
    latency_.add(scheduler_.clock().boot() - begun);
    co_return std::move(answer->value);
  }

  Scheduler& scheduler_;
  Random& random_;
  const HedgeSettings settings_;
  LatencyWindow latency_;
  HedgeCounts counts_;
};

}  // namespace freshet::ordered
