#include "app/lab/limited.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace freshet::lab {

namespace {

constexpr std::array<std::string_view, 3> kHeaderNames = {"none", "retry-after", "ratelimit"};

int64_t whole_seconds(nanoseconds time) {
  return std::max<int64_t>(0, std::chrono::ceil<seconds>(time).count());
}

void add_structured(const Quota& quota, HttpHeaders& out) {
  if (quota.window.count() > 0) {
    out.emplace_back("RateLimit-Policy",
                     fmt::format(R"("default";q={:.0f};w={})", quota.limit, whole_seconds(quota.window)));
  } else {
    out.emplace_back("RateLimit-Policy", fmt::format(R"("default";q={:.0f};qu="concurrent-requests")", quota.limit));
  }
  auto state = fmt::format(R"("default";r={:.0f})", quota.remaining);
  if (quota.reset) state += fmt::format(";t={}", whole_seconds(*quota.reset));
  out.emplace_back("RateLimit", std::move(state));
}

void add_three(const Quota& quota, HttpHeaders& out) {
  out.emplace_back("RateLimit-Limit", fmt::format("{:.0f}", quota.limit));
  out.emplace_back("RateLimit-Remaining", fmt::format("{:.0f}", quota.remaining));
  if (quota.reset) out.emplace_back("RateLimit-Reset", fmt::format("{}", whole_seconds(*quota.reset)));
}

void add_epoch(const Quota& quota, WallTime now, HttpHeaders& out) {
  out.emplace_back("X-RateLimit-Limit", fmt::format("{:.0f}", quota.limit));
  out.emplace_back("X-RateLimit-Remaining", fmt::format("{:.0f}", quota.remaining));
  if (!quota.reset) return;
  const auto at = std::chrono::ceil<seconds>(now.time_since_epoch() + *quota.reset);
  out.emplace_back("X-RateLimit-Reset", fmt::format("{}", at.count()));
}

// The runner writes the body; it is trusted.
size_t number_in_body(std::string_view body) {
  constexpr std::string_view kName = R"("taskId":")";
  const auto at = body.find(kName);
  size_t number = 0;
  if (at == std::string_view::npos) return number;
  std::from_chars(body.data() + at + kName.size(), body.data() + body.size(), number);
  return number;
}

}  // namespace

std::string_view name_of(HintKind kind) {
  return kHeaderNames[static_cast<size_t>(kind)];
}

const std::vector<HintKind>& hint_kinds() {
  static const std::vector<HintKind> all = {HintKind::kNone, HintKind::kRetryAfter, HintKind::kRateLimit};
  return all;
}

Result<HintKind> hint_kind_of(std::string_view name) {
  for (const auto kind : hint_kinds()) {
    if (name_of(kind) == name) return kind;
  }
  return invalid("--headers '" + std::string(name) + "' must be none, retry-after or ratelimit");
}

HttpHeaders hints(const LimiterAnswer& answer, HintKind kind, HintForm form, WallTime now) {
  HttpHeaders out;
  if (kind == HintKind::kRetryAfter && answer.retry_after) {
    out.emplace_back("Retry-After", fmt::format("{}", std::max<int64_t>(1, whole_seconds(*answer.retry_after))));
  }
  if (kind != HintKind::kRateLimit) return out;
  // Only this form can say that the limit is not a rate.
  if (form == HintForm::kStructured || answer.quota.window.count() == 0) {
    add_structured(answer.quota, out);
  } else if (form == HintForm::kThree) {
    add_three(answer.quota, out);
  } else {
    add_epoch(answer.quota, now, out);
  }
  return out;
}

Limiter& LimiterEach::of(size_t number) {
  auto& limiter = limiters_[caller_(number)];
  if (!limiter) limiter = make_limiter(spec_);
  return *limiter;
}

void LimitedDownstream::begin(Ledger& ledger, Scheduler& scheduler, BootTime origin, int slots) {
  ledger_ = &ledger;
  scheduler_ = &scheduler;
  origin_ = origin;
  slots_ = slots;
}

Async<Result<HttpResponse>> LimitedDownstream::send(std::string, HttpRequest request, milliseconds) {
  const size_t number = number_in_body(request.body);
  Limiter& limiter = limiter_of_(number);
  const auto answer = limiter.ask(now());
  calls_.push_back({now(), answer.granted});
  HttpResponse response;
  response.headers = hints(answer, hints_.kind, hints_.form, scheduler_->clock().wall());
  if (!answer.granted) {
    response.status = 429;
    co_return response;
  }
  if (slots_ > 0 && busy_ >= slots_) {
    Promise<bool> turn(*scheduler_);
    line_.push_back(turn);
    co_await turn.future();
  } else {
    ++busy_;
  }
  const nanoseconds end = ledger_->start(number, now());
  co_await sleep_until(*scheduler_, origin_ + end);
  limiter.ended(now());
  if (line_.empty()) {
    --busy_;
  } else {
    line_.front().set(true);
    line_.pop_front();
  }
  if (ledger_->jobs()[number].failed) response.status = 500;
  if (const auto cost = ledger_->reported_cost(number)) {
    response.headers.emplace_back("Freshet-Cost", fmt::format("{}", *cost));
  }
  co_return response;
}

}  // namespace freshet::lab
