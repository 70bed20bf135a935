#include "app/lab/model.h"

#include <algorithm>
#include <queue>
#include <set>

#include "functions/queue/policy/codel.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/policy/margin.h"
#include "functions/queue/policy/service_time.h"
#include "functions/queue/policy/take_order.h"
#include "functions/queue/policy/urgency.h"

namespace freshet::lab {

namespace {

class OverloadModel {
 public:
  OverloadModel(const Policy& policy, Ledger& ledger, nanoseconds patience = nanoseconds(0))
      : policy_(policy),
        ledger_(ledger),
        free_(ledger.scenario().slots),
        order_(policy.from == TakeFrom::kNewest     ? Order::kNewestFirst
               : policy.from == TakeFrom::kAdaptive ? Order::kAdaptive
                                                    : Order::kOldestFirst) {
    patience_ = patience;
    const Scenario& scenario = ledger_.scenario();
    if (scenario.start_rate > 0) start_gap_ = nanoseconds(static_cast<int64_t>(1e9 / scenario.start_rate));
    start_slack_ =
        nanoseconds(static_cast<int64_t>((scenario.start_burst - 1) * static_cast<double>(start_gap_.count())));
    bound_ = bound_of(ledger.scenario());
  }

  void run(const std::vector<Arrival>& arrivals) {
    for (const auto& one : arrivals) longest_ = std::max(longest_, milliseconds(one.deadline_ms) - one.at);
    const nanoseconds end = ledger_.scenario().duration + std::min<nanoseconds>(longest_, kAfter);
    size_t next = 0;
    while (next < arrivals.size() || (!events_.empty() && events_.top().at <= end)) {
      next_arrival_ = next < arrivals.size() ? arrivals[next].at : nanoseconds::max();
      const bool arrives = next < arrivals.size() && (events_.empty() || arrivals[next].at <= events_.top().at);
      if (arrives) {
        const Arrival& arrival = arrivals[next++];
        now_ = arrival.at;
        next_arrival_ = next < arrivals.size() ? arrivals[next].at : nanoseconds::max();
        come(arrival, ledger_.scenario().retries);
      } else {
        const Event event = events_.top();
        events_.pop();
        now_ = event.at;
        if (event.job == kNobody) {
          dispatch();
        } else {
          event.start == Job::kNever ? client_looks(event.job) : worker_ends(event);
        }
      }
    }
  }

 private:
  struct Event {
    nanoseconds at;
    size_t job;
    nanoseconds start = Job::kNever;  // When a call ended.
    bool operator>(const Event& other) const { return std::pair(at, job) > std::pair(other.at, other.job); }
  };

  static constexpr size_t kNobody = SIZE_MAX;  // The job of an event at which a further call may start.

  BootTime boot() const { return BootTime(now_); }
  WallTime wall() const { return WallTime(std::chrono::floor<milliseconds>(now_)); }
  const Job& job(size_t number) const { return ledger_.jobs()[number]; }

  void come(const Arrival& arrival, int tries_left) {
    const size_t number = ledger_.add(arrival, tries_left);
    if (tries_left > 0) events_.push({milliseconds(arrival.deadline_ms), number});
    if (policy_.bounded && waiting_.size() >= bound_) {
      ledger_.reject(number, now_);
      return;
    }
    waiting_.insert(number);
    urgent_.emplace(arrival.deadline_ms, number);
    dispatch();
  }

  void client_looks(size_t number) {
    if (auto again = ledger_.retry(number)) come(*again, job(number).tries_left - 1);
  }

  void worker_ends(const Event& event) {
    ++free_;
    service_times_.add(now_ - event.start, boot());
    dispatch();
  }

  void dispatch() {
    while (free_ > 0 && may_start()) {
      const auto number = policy_.clairvoyant                   ? pick_knowing()
                          : policy_.from == TakeFrom::kDeadline ? pick_urgent()
                                                                : pick();
      if (!number) break;
      --free_;
      allowed_at_ = std::max(allowed_at_, now_) + start_gap_;
      const nanoseconds end = ledger_.start(*number, now_);
      events_.push({end, *number, now_});
    }
    if (free_ == 0 || !waiting_.empty()) return;
    order_.found_empty(boot());
    server_codel_.empty(boot());
  }

  // The rate of starts, as a virtual schedule: one is due every gap, and may come earlier by the slack.
  bool may_start() {
    const nanoseconds earliest = allowed_at_ - start_slack_;
    if (start_gap_ == nanoseconds(0) || earliest <= now_) return true;
    if (!waiting_.empty() && wakes_at_ < earliest) {
      wakes_at_ = earliest;
      events_.push({earliest, kNobody});
    }
    return false;
  }

  std::optional<size_t> pick() {
    while (!waiting_.empty()) {
      const bool adaptive = policy_.from == TakeFrom::kAdaptive;
      const nanoseconds service = adaptive ? service_times_.p90(boot()) : nanoseconds(0);
      order_.take_begins(boot(), service);
      const bool newest = order_.newest_first(boot(), service);
      const bool by_deadline = policy_.from == TakeFrom::kEarliestDeadline;
      const size_t number = by_deadline ? urgent_.begin()->second : newest ? *waiting_.rbegin() : *waiting_.begin();
      const bool last = waiting_.size() == 1;
      remove(number);
      if (!is_dropped(number, newest, last)) return number;
      ledger_.shed(number, now_);
    }
    return std::nullopt;
  }

  // As functions/queue/shell/urgent.cc chooses.
  std::optional<size_t> pick_urgent() {
    shed_past();
    if (urgent_.empty()) return std::nullopt;
    auto place = urgent_.lower_bound({epoch_ms(urgency_.enough(service_times_, FineTime(now_), boot())), 0});
    const bool has_enough = place != urgent_.end();
    if (!has_enough) --place;
    const auto created = WallTime(std::chrono::floor<milliseconds>(job(place->second).arrival.at));
    const auto left = time_left(created, WallTime(milliseconds(place->first)), FineTime(now_));
    if (!has_enough && !urgency_.is_worth_it(left, service_times_, boot())) return std::nullopt;
    urgency_.started(left, service_times_, boot());
    const size_t number = place->second;
    remove(number);
    return number;
  }

  void shed_past() {
    while (!urgent_.empty() && milliseconds(urgent_.begin()->first) <= now_) {
      const size_t number = urgent_.begin()->second;
      remove(number);
      ledger_.shed(number, now_);
    }
  }

  void remove(size_t number) {
    waiting_.erase(number);
    urgent_.erase({job(number).arrival.deadline_ms, number});
  }

  bool is_dropped(size_t number, bool newest, bool last) {
    const nanoseconds age = now_ - job(number).arrival.at;
    if (!newest) order_.took_oldest(age, boot());
    if (policy_.ttl) {
      TaskEnds ends;
      ends.deadline = WallTime(milliseconds(job(number).arrival.deadline_ms));
      const bool keep = margin_applies(policy_.margin, newest, last);
      if (!expired(ends, wall(), keep ? service_times_.p90(boot()) : nanoseconds(0)).empty()) return true;
    }
    if (policy_.dropper == Dropper::kCodel) return codel_.drop(age, last, boot());
    if (policy_.dropper == Dropper::kServerCodel) return server_codel_.drop(age, boot());
    return false;
  }

  // Picks the most urgent task that the next call would still finish in time. If there is none, the slot waits for a
  // fresher one, unless the call takes longer than any task is given: then it takes the task with least to lose.
  std::optional<size_t> pick_knowing() {
    shed_past();
    if (urgent_.empty()) return std::nullopt;
    const nanoseconds service = ledger_.next_service();
    auto place = urgent_.lower_bound({std::chrono::ceil<milliseconds>(now_ + service).count(), 0});
    if (place == urgent_.end()) {
      const bool soon = next_arrival_ - now_ < patience_;
      if (service <= longest_ && soon) return std::nullopt;
      place = urgent_.begin();
    }
    const size_t number = place->second;
    remove(number);
    return number;
  }

  const Policy& policy_;
  Ledger& ledger_;
  nanoseconds now_{0};
  int free_;
  size_t bound_;
  std::set<size_t> waiting_;                     // In order of arrival.
  std::set<std::pair<int64_t, size_t>> urgent_;  // The same, by deadline.
  nanoseconds next_arrival_{0};
  nanoseconds patience_{0};
  nanoseconds start_gap_{0};
  nanoseconds start_slack_{0};
  nanoseconds allowed_at_{0};  // When the next start is due.
  nanoseconds wakes_at_{-1};
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  TakeOrder order_;
  ServiceTimes service_times_;
  Urgency urgency_;
  Codel codel_;
  ServerCodel server_codel_;
  nanoseconds longest_{0};  // That any task is given.
};

}  // namespace

void run_model(const Policy& policy, uint64_t seed, Ledger& ledger) {
  const auto arrivals = arrivals_of(ledger.scenario(), seed);
  if (!policy.clairvoyant) return OverloadModel(policy, ledger).run(arrivals);
  // A slot may wait for a fresher task or spend a long call on one that is lost anyway. The best limit of the wait
  // depends on later tasks, so several are tried.
  const auto mean = ledger.scenario().mean;
  uint64_t best = 0;
  Ledger tried = ledger;
  for (const nanoseconds patience : {nanoseconds(0), mean / 4, mean / 2, mean, nanoseconds::max()}) {
    Ledger one = tried;
    OverloadModel(policy, one, patience).run(arrivals);
    uint64_t good = 0;
    for (const auto& job : one.jobs()) good += job.in_time();
    if (good >= best) {
      best = good;
      ledger.take(std::move(one));
    }
  }
}

}  // namespace freshet::lab
