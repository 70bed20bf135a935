#include "app/fleet/run_here.h"

#include <utility>

#include "base/points.h"
#include "base/set_by.h"
#include "functions/runners/run_sharing.h"
#include "functions/settings.h"
#include "wire/service/api_route.h"
#include "wire/tasks/answers.h"

namespace freshet {

namespace {

constexpr milliseconds kLookAtOwner{200};

Async<void> work(Runner& runner, RunOrder order, std::optional<RunResult>& result, Promise<bool> over) {
  result = co_await runner.run(std::move(order.task), std::move(order.lease));
  over.set(true);
}

HttpResponse refused(ErrorCode code, std::string why) {
  return tasks::error_answer({code, std::move(why), nullptr});
}

}  // namespace

class RunHere::Counted {
 public:
  explicit Counted(RunHere& all) : all_(all) { ++all_.running_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    if (--all_.running_ == 0 && all_.ended_) all_.ended_->set(true);
  }

 private:
  RunHere& all_;
};

// A daemon that leaves finishes its tasks, and still writes heartbeats.
Async<void> RunHere::watch(std::string owner, Promise<bool> over) const {
  for (;;) {
    co_await sleep_for(units_.scheduler(), kLookAtOwner);
    const FleetCore* fleet = units_.core();
    if (fleet && fleet->view().members.contains(owner) && !fleet->is_alive(owner)) break;
  }
  over.set(true);
}

Async<HttpResponse> RunHere::answer(std::string body) {
  auto order = parse_run_order(body);
  if (!order) co_return tasks::error_answer(order.error());
  if (stopped_) co_return refused(ErrorCode::kUnavailable, "this daemon stops");
  auto runner = make_(*order);
  if (!runner) co_return tasks::error_answer(runner.error());
  const Counted counted(*this);
  std::optional<RunResult> result;
  Promise<bool> over(units_.scheduler());
  const std::string owner = order->owner;
  {
    Scope both;  // Its end is that of the work.
    both.spawn(work(**runner, std::move(*order), result, over));
    if (!over.is_set()) both.spawn(watch(owner, over));
    static_cast<void>(co_await over.future());
  }
  if (result) co_return tasks::json_answer(run_result_json(*result));
  FRESHET_REACHED("a run ends as the queue's daemon is dead");
  co_return refused(ErrorCode::kInternal, "daemon " + owner + ", which asked for this, is dead");
}

Async<bool> RunHere::ended(BootTime deadline) {
  if (running_ == 0) co_return true;
  ended_.emplace(units_.scheduler());
  auto ending = set_by(deadline, *ended_, units_.scheduler());
  co_return co_await ending;
}

Result<std::unique_ptr<Runner>> runner_for(const RunOrder& order, Runtime& runtime) {
  const auto function = runtime.invoker().find(order.function);
  const auto none = [&](const std::string& why) {
    return fail(ErrorCode::kNotFound, "function '" + order.function + "' " + why);
  };
  if (!function) return none("is not on this daemon");
  const auto settings = process_settings(function->environment);
  if (!settings) return none("has wrong settings on this daemon: " + settings.error().message);
  if (settings->queue_table != order.queue) return none("is not that of queue '" + order.queue + "' on this daemon");
  if (!is_work_of_machine(settings->runner)) return none("has another TASK_RUNNER on this daemon");
  return make_runner(settings->runner, runtime.services(), order.trace_id);
}

std::unique_ptr<Route> make_run_route(RunHere& runs) {
  return make_api_route(ApiCall::kRun, [&runs](const HttpRequest& request) { return runs.answer(request.body); });
}

}  // namespace freshet
