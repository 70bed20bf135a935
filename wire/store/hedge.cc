#include "wire/store/hedge.h"

#include <utility>

namespace freshet::remote {

namespace {

struct Race {
  explicit Race(Scheduler& scheduler) : answer(scheduler) {}
  Promise<Result<std::string>> answer;
  int under_way = 0;
};

bool passes(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
         error.code == ErrorCode::kThroughputExceeded || error.code == ErrorCode::kRequestLimitExceeded;
}

Async<void> ask(Caller& caller, std::string operation, std::string body, Race& race) {
  ++race.under_way;
  auto answer = co_await caller.call(std::move(operation), std::move(body), Caller::Kind::kRead);
  const bool is_last = --race.under_way == 0;
  if (answer || is_last || !passes(answer.error())) race.answer.set(std::move(answer));
}

Async<void> ask_later(Caller& caller, std::string operation, std::string body, nanoseconds delay, Race& race) {
  co_await sleep_for(caller.scheduler(), delay);
  if (race.answer.is_set() || !caller.may_hedge()) co_return;
  co_await ask(caller, std::move(operation), std::move(body), race);
}

}  // namespace

Async<Result<std::string>> hedged_read(Caller& caller, std::string operation, std::string body, nanoseconds delay) {
  Race race(caller.scheduler());
  Scope sendings;  // Its destruction abandons the request that is still in flight.
  sendings.spawn(ask(caller, operation, body, race));
  if (!race.answer.is_set()) {
    sendings.spawn(ask_later(caller, std::move(operation), std::move(body), delay, race));
  }
  auto answer = co_await race.answer.future();
  co_return answer;
}

}  // namespace freshet::remote
