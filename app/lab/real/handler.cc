#include "app/lab/real/handler.h"

#include <utility>

#include "app/lab/real/call_body.h"

namespace freshet::lab {

// One call under way; a caller that hangs up ends it.
struct HandlerCall {
  explicit HandlerCall(Handler& its) : handler(its) {
    handler.counts_.most_at_once = std::max(handler.counts_.most_at_once, ++handler.under_way_);
  }
  HandlerCall(const HandlerCall&) = delete;
  HandlerCall& operator=(const HandlerCall&) = delete;
  ~HandlerCall() {
    --handler.under_way_;
    if (has_slot) handler.leave_slot();
    if (is_granted) handler.limiter_->ended(handler.now());
  }
  Handler& handler;
  bool has_slot = false;
  bool is_granted = false;  // By a limiter.
};

void Handler::leave_slot() {
  --busy_;
  // All look again, in their order: the first of them may have hung up meanwhile.
  for (auto& one : std::exchange(waiting_, {})) one.set(true);
}

HttpResponse Handler::with_hints(HttpResponse response, const LimiterAnswer& answer) const {
  if (limiter_ != nullptr) {
    response.headers = hints(answer, hints_.kind, hints_.form, scheduler_.clock().wall());
  }
  return response;
}

Async<HttpResponse> Handler::answer(std::string body) {
  if (closed_) {
    ++counts_.turned_away;
    auto later = answer_of(503, "{}");
    later.headers.emplace_back("Retry-After", "3600");
    co_return later;
  }
  const auto number = number_of(body, ledger_.jobs().size());
  if (!number) {
    ++counts_.unknown;
    co_return answer_of(400, R"({"error":"taskId must be the number of a task of this run"})");
  }
  HandlerCall call(*this);
  LimiterAnswer grant;
  if (limiter_ != nullptr) {
    grant = limiter_->ask(now());
    calls_->push_back({now(), grant.granted});
    if (!grant.granted) co_return with_hints(answer_of(429, "{}"), grant);
    call.is_granted = true;
  }
  while (busy_ >= ledger_.scenario().slots) {
    Promise<bool> free(scheduler_);
    waiting_.push_back(free);
    co_await free.future();
  }
  ++busy_;
  call.has_slot = true;
  if (ledger_.jobs()[*number].fate == Job::Fate::kStarted) {
    ++counts_.again;
    co_return answer_of(200, "{}");
  }
  const nanoseconds end = ledger_.start(*number, now());
  co_await sleep_until(scheduler_, origin_ + end);
  ledger_.ended(*number, now());
  ++counts_.done;
  co_return with_hints(answer_of(200, R"({"done":true})"), grant);
}

}  // namespace freshet::lab
