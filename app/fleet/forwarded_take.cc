#include "app/fleet/forwarded_take.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "wire/tasks/answers.h"

namespace freshet {

namespace {

constexpr milliseconds kLongestTake{75'000};  // It waits for up to a minute.
constexpr milliseconds kLook{500};
constexpr seconds kGrace{1};  // A member that gives a queue up answers its takes itself.

struct Race {
  explicit Race(Scheduler& scheduler) : over(scheduler) {}
  Promise<bool> over;
  std::optional<Result<HttpResponse>> answer;  // Empty: nobody answers any more.
};

Async<void> ask(const HttpRequest& request, std::string url, QueueUnits& units, MemberCalls& calls, Race& race) {
  auto answer = co_await calls.pass_on(request, url, units.id(), kLongestTake);
  race.answer = std::move(answer);
  race.over.set(true);
}

Async<void> watch(std::string queue, std::string url, QueueUnits& units, Race& race) {
  Scheduler& scheduler = units.scheduler();
  std::optional<BootTime> elsewhere_since;
  for (;;) {
    co_await sleep_for(scheduler, kLook);
    const QueueUnits::Place place = units.place_of(queue);
    const BootTime now = scheduler.clock().boot();
    if (place.is == QueueUnits::Place::Is::kThere && place.url == url) {
      elsewhere_since.reset();
    } else if (!elsewhere_since) {
      elsewhere_since = now;
    } else if (now - *elsewhere_since >= kGrace) {
      race.over.set(true);
      co_return;
    }
  }
}

bool settles(const HttpRequest& request) {
  const auto body = nlohmann::json::parse(request.body, nullptr, false);
  return body.is_object() && body.contains("settle");
}

}  // namespace

bool is_take(const HttpRequest& request) {
  return std::string_view(request.target).substr(0, request.target.find('?')).ends_with("/take");
}

Async<Result<HttpResponse>> pass_take_on(const HttpRequest& request, std::string queue, std::string url,
                                         QueueUnits& units, MemberCalls& calls) {
  Race race(units.scheduler());
  Scope both;  // Its destruction abandons the one that is still in flight.
  both.spawn(ask(request, url, units, calls, race));
  if (!race.over.is_set()) both.spawn(watch(queue, url, units, race));
  static_cast<void>(co_await race.over.future());
  if (race.answer) co_return std::move(*race.answer);
  if (settles(request)) {
    co_return fail(ErrorCode::kUnknownOutcome, "it is dead, or another one serves the queue now");
  }
  co_return tasks::json_answer(tasks::taken_json({}, nullptr, nullptr));
}

}  // namespace freshet
