#include "app/demo/limited_api.h"

#include <algorithm>
#include <utility>

#include "app/lab/real/call_body.h"

namespace freshet::demo {

using lab::answer_of;
using lab::number_of;

Async<HttpResponse> LimitedApi::answer(std::string body) {
  const auto number = number_of(body, tasks_.size());
  if (!number) co_return answer_of(400, R"({"error":"taskId must be the number of a task of this run"})");
  const nanoseconds began = now();
  const auto asked = limiter_->ask(began);
  const size_t place = calls_.size();
  calls_.push_back({*number, began, asked.granted, nanoseconds(0)});
  if (!asked.granted) co_return answer_of(429, R"({"error":"too many requests"})");
  co_await sleep_until(scheduler_, origin_ + began + service_);
  calls_[place].end = now();
  limiter_->ended(now());
  co_return answer_of(200, R"({"done":true})");
}

}  // namespace freshet::demo
