#include "app/lab/limits_model.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>

#include "functions/queue/policy/token_bucket.h"

namespace freshet::lab {

namespace {

constexpr nanoseconds kNoTime = nanoseconds::max();

class LimitsModel {
 public:
  LimitsModel(const Caller& caller, const std::vector<Arrival>& arrivals, Limiter& limiter, Ledger& ledger)
      : caller_(caller), arrivals_(arrivals), limiter_(limiter), ledger_(ledger), bucket_(caller.rate, 1) {}

  std::vector<LimitedCall> run() {
    const nanoseconds end = ledger_.scenario().duration;
    for (;;) {
      const nanoseconds now = std::min({next_arrival(), next_end(), wake_});
      if (now >= end) return std::move(calls_);
      for (; next_end() <= now; ends_.pop()) limiter_.ended(now);
      for (; next_arrival() <= now; ++arrived_) waiting_.push_back(ledger_.add(arrivals_[arrived_], 0));
      wake_ = kNoTime;
      start_some(now);
    }
  }

 private:
  nanoseconds next_arrival() const { return arrived_ < arrivals_.size() ? arrivals_[arrived_].at : kNoTime; }
  nanoseconds next_end() const { return ends_.empty() ? kNoTime : ends_.top(); }

  void start_some(nanoseconds now) {
    while (!waiting_.empty() && may_call(now)) {
      const size_t task = caller_.newest_first ? waiting_.back() : waiting_.front();
      // A call may take long: there is always a task with more time.
      if (caller_.oracle &&
          milliseconds(ledger_.jobs()[task].arrival.deadline_ms) < now + 7 * ledger_.scenario().mean) {
        waiting_.pop_back();
        continue;
      }
      call(task, now);
    }
  }

  // Sets when to look again, if not.
  bool may_call(nanoseconds now) {
    if (caller_.oracle) {
      const auto next = limiter_.next(now);
      if (next && *next <= now) return true;
      if (next) wake_ = *next;
      return false;
    }
    if (ends_.size() >= static_cast<size_t>(caller_.workers)) return false;
    if (now < paused_until_) {
      wake_ = paused_until_;
      return false;
    }
    if (bucket_.available(BootTime(now), 1) == 1) return true;
    wake_ = bucket_.next(BootTime(now)).time_since_epoch();
    return false;
  }

  void call(size_t task, nanoseconds now) {
    bucket_.use(1);
    const auto answer = limiter_.ask(now);
    calls_.push_back({now, answer.granted});
    if (!answer.granted) {
      if (caller_.obeys_retry_after && answer.retry_after) {
        paused_until_ = now + std::max(seconds(1), std::chrono::ceil<seconds>(*answer.retry_after));
      }
      return;
    }
    caller_.newest_first ? waiting_.pop_back() : waiting_.pop_front();
    ends_.push(ledger_.start(task, now));
  }

  const Caller& caller_;
  const std::vector<Arrival>& arrivals_;
  Limiter& limiter_;
  Ledger& ledger_;
  TokenBucket bucket_;
  size_t arrived_ = 0;
  std::deque<size_t> waiting_;                                                       // In order of arrival.
  std::priority_queue<nanoseconds, std::vector<nanoseconds>, std::greater<>> ends_;  // Ends of calls under way.
  nanoseconds wake_ = kNoTime;
  nanoseconds paused_until_{0};
  std::vector<LimitedCall> calls_;
};

}  // namespace

std::vector<LimitedCall> run_caller(const Caller& caller, const std::vector<Arrival>& arrivals, Limiter& limiter,
                                    Ledger& ledger) {
  return LimitsModel(caller, arrivals, limiter, ledger).run();
}

}  // namespace freshet::lab
