// A downstream behind a limiter, as the HTTP runner sees it. It answers 429, with the configured headers, to calls that
// the limiter refuses; all other calls take as long as the ledger says.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/lab/ledger.h"
#include "app/lab/limiter.h"
#include "base/async.h"
#include "runtime/ports.h"

namespace freshet::lab {

enum class HintKind {
  kNone,        // Sends only the status.
  kRetryAfter,  // On a refusal, in whole seconds, rounded up (RFC 9110, 10.2.3). A limiter of concurrency never sends
                // it.
  kRateLimit,   // RateLimit headers on every answer.
};
// The spelling of RateLimit headers. All are in use.
enum class HintForm {
  kStructured,  // RateLimit-Policy: "default";q=20;w=1, RateLimit: "default";r=3;t=1
                // (draft-ietf-httpapi-ratelimit-headers).
  kThree,       // RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset in seconds (its earlier versions).
  kEpoch,       // X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset in epoch seconds (as GitHub's API).
};

std::string_view name_of(HintKind kind);
const std::vector<HintKind>& hint_kinds();
Result<HintKind> hint_kind_of(std::string_view name);
// Headers of an answer.
HttpHeaders hints(const LimiterAnswer& answer, HintKind kind, HintForm form, WallTime now);

// One call that was made.
struct LimitedCall {
  nanoseconds at{0};
  bool granted = false;
};

// One limiter for each caller of a downstream, as many APIs have one per account.
class LimiterEach {
 public:
  // Returns the caller for the task with that number in the ledger.
  using Caller = std::function<std::string(size_t number)>;
  LimiterEach(LimiterSpec spec, Caller caller) : spec_(std::move(spec)), caller_(std::move(caller)) {}

  Limiter& of(size_t number);

 private:
  const LimiterSpec spec_;
  const Caller caller_;
  std::map<std::string, std::unique_ptr<Limiter>> limiters_;
};

// Loop thread. All outlive it.
class LimitedDownstream final : public HttpClient {
 public:
  struct Hints {
    HintKind kind = HintKind::kNone;
    HintForm form = HintForm::kStructured;
  };
  // One limiter for all calls.
  LimitedDownstream(Limiter& limiter, Hints hints)
      : limiter_of_([&limiter](size_t) -> Limiter& { return limiter; }), hints_(hints) {}
  LimitedDownstream(LimiterEach& limiters, Hints hints)
      : limiter_of_([&limiters](size_t number) -> Limiter& { return limiters.of(number); }), hints_(hints) {}

  // Begins the run at `origin`. `slots`: the most calls that are worked on at once, other granted calls wait; 0: no
  // limit.
  void begin(Ledger& ledger, Scheduler& scheduler, BootTime origin, int slots = 0);
  // The body is a task as the HTTP runner sends it, whose `taskId` is its number in the ledger.
  Async<Result<HttpResponse>> send(std::string url, HttpRequest request, milliseconds timeout) override;
  const std::vector<LimitedCall>& calls() const { return calls_; }

 private:
  nanoseconds now() const { return scheduler_->clock().boot() - origin_; }

  const std::function<Limiter&(size_t number)> limiter_of_;
  const Hints hints_;
  Ledger* ledger_ = nullptr;
  Scheduler* scheduler_ = nullptr;
  BootTime origin_{};
  int slots_ = 0;
  int busy_ = 0;
  std::deque<Promise<bool>> line_;
  std::vector<LimitedCall> calls_;
};

}  // namespace freshet::lab
