// The downstream of the lab in real time: an HTTP handler with a number of slots, which takes as long for a call as the
// scenario says. It records in the ledger what was started and when it ended, whoever calls.
#pragma once

#include <string>
#include <vector>

#include "app/lab/ledger.h"
#include "app/lab/limited.h"
#include "base/async.h"
#include "runtime/ports.h"

namespace freshet::lab {

struct HandlerCounts {
  uint64_t done = 0;         // Calls that were answered with success.
  uint64_t again = 0;        // Repeated calls for a task.
  uint64_t unknown = 0;      // Calls for tasks that the ledger does not have.
  uint64_t turned_away = 0;  // Calls after close().
  int most_at_once = 0;      // The most concurrent calls, including those that wait for a slot.
};

// Loop thread.
class Handler {
 public:
  // All outlive the calls.
  Handler(Ledger& ledger, Scheduler& scheduler) : ledger_(ledger), scheduler_(scheduler) {}
  void begin(BootTime origin) { origin_ = origin; }
  // From now on calls that the limiter refuses are answered with 429. Both outlive the calls.
  void limit(Limiter& limiter, LimitedDownstream::Hints hints, std::vector<LimitedCall>& calls) {
    limiter_ = &limiter;
    hints_ = hints;
    calls_ = &calls;
  }
  // `body` is a JSON object whose `taskId` is the number of a task in the ledger; 400 if it is not. Waits for a slot,
  // then for the duration of the call. After close(): 503 with a Retry-After of an hour.
  Async<HttpResponse> answer(std::string body);
  // No further call is served; running calls end.
  void close() { closed_ = true; }
  int under_way() const { return under_way_; }
  const HandlerCounts& counts() const { return counts_; }

 private:
  friend struct HandlerCall;

  nanoseconds now() const { return scheduler_.clock().boot() - origin_; }
  void leave_slot();
  HttpResponse with_hints(HttpResponse response, const LimiterAnswer& answer) const;

  Ledger& ledger_;
  Scheduler& scheduler_;
  BootTime origin_{};
  Limiter* limiter_ = nullptr;
  LimitedDownstream::Hints hints_{};
  std::vector<LimitedCall>* calls_ = nullptr;
  int under_way_ = 0;
  int busy_ = 0;
  std::vector<Promise<bool>> waiting_;  // Calls that wait for a slot, oldest first.
  bool closed_ = false;
  HandlerCounts counts_;
};

}  // namespace freshet::lab
