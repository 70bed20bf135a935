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

constexpr milliseconds kLookAtOwner{100};

Async<void> work(Runner& runner, RunOrder order, std::optional<RunResult>& result, Promise<bool> over) {
  result = co_await runner.run(std::move(order.task), std::move(order.lease));
  over.set(true);
}

// Nobody is to blame: the attempt does not count.
RunResult released() {
  RunResult out;
  out.kind = RunResult::Kind::kBounced;
  out.refusal = DownstreamRefusal::kRelease;
  out.error = "the daemon on which it ran stops";
  return out;
}

HttpResponse refused(ErrorCode code, std::string why) {
  return tasks::error_answer({code, std::move(why), nullptr});
}

}  // namespace

// One run: its place in the list is its promise, which ends it.
class RunHere::Counted {
 public:
  Counted(RunHere& all, const Promise<bool>& over) : all_(all), at_(all.runs_.insert(all.runs_.end(), over)) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    all_.runs_.erase(at_);
    if (all_.runs_.empty() && all_.ended_) all_.ended_->set(true);
  }

 private:
  RunHere& all_;
  const std::list<Promise<bool>>::iterator at_;
};

bool RunHere::is_member(const RunOrder& order) const {
  const FleetCore* fleet = units_.core();
  if (!fleet || order.owner == units_.id() || !fleet->is_alive(order.owner)) return false;
  const auto member = fleet->view().members.find(order.owner);
  return member != fleet->view().members.end() && member->second.epoch == order.epoch;
}

// Completes once that life of the owner is over, or seems to be: the runs must end before another daemon serves the
// queue, which begins after a lease without a heartbeat and may have seen the last one earlier. By then the owner has
// stopped by itself. One that leaves still writes heartbeats, so its runs go on.
Async<void> RunHere::watch(std::string owner, uint64_t epoch, Promise<bool> over) const {
  for (;;) {
    co_await sleep_for(units_.scheduler(), kLookAtOwner);
    const FleetCore* fleet = units_.core();
    if (!fleet || fleet->membership() != Membership::kJoined) continue;  // It does not see others then.
    const auto member = fleet->view().members.find(owner);
    if (member == fleet->view().members.end() || member->second.epoch != epoch || !fleet->is_alive(owner)) break;
    const BootTime now = units_.scheduler().clock().boot();
    const BootTime seen = fleet->last_seen(owner);
    const nanoseconds lease = member->second.lease;
    const nanoseconds silence = lease * 3 / 4;
    // This daemon may have been kept from reading: then the owner is not silent before a whole lease is over.
    if (fleet->read_begun() - seen >= silence || now - seen >= lease) break;
    // Only a read that begins now tells; the next one by itself may come too late.
    if (now - seen >= silence) units_.nudge();
  }
  over.set(true);
}

Async<HttpResponse> RunHere::answer(std::string body) {
  auto order = parse_run_order(body);
  if (!order) co_return tasks::error_answer(order.error());
  if (stopped_) co_return refused(ErrorCode::kUnavailable, "this daemon is stopping: ask another one");
  if (!is_member(*order)) {
    co_return refused(ErrorCode::kUnavailable, "daemon '" + order->owner + "' is no living member of the fleet");
  }
  auto runner = make_(*order);
  if (!runner) co_return tasks::error_answer(runner.error());
  std::optional<RunResult> result;
  Promise<bool> over(units_.scheduler());
  const Counted counted(*this, over);
  const std::string owner = order->owner;
  const uint64_t epoch = order->epoch;
  {
    Scope both;  // Its end is that of the work.
    both.spawn(work(**runner, std::move(*order), result, over));
    if (!over.is_set() && !FRESHET_PLANTED("fleet-runs-outlive-their-owner")) both.spawn(watch(owner, epoch, over));
    static_cast<void>(co_await over.future());
  }
  if (result) co_return tasks::json_answer(run_result_json(*result));
  if (stopped_) co_return tasks::json_answer(run_result_json(released()));
  FRESHET_REACHED("a run ends as the queue's daemon is dead");
  co_return refused(ErrorCode::kInternal, "the run was stopped: daemon '" + owner + "', which asked for it, is dead");
}

Async<bool> RunHere::finish(BootTime deadline) {
  if (runs_.empty()) co_return true;
  ended_.emplace(units_.scheduler());
  auto ending = set_by(deadline, *ended_, units_.scheduler());
  const bool all = co_await ending;
  const std::list<Promise<bool>> rest = runs_;
  for (const Promise<bool>& run : rest) run.set(true);
  co_return all;
}

Result<std::unique_ptr<Runner>> runner_for(const RunOrder& order, Runtime& runtime) {
  const auto function = runtime.invoker().find(order.function);
  const auto none = [&](const std::string& why) {
    return fail(ErrorCode::kNotFound, "function '" + order.function + "' " + why);
  };
  if (!function) return none("is not on this daemon");
  const auto settings = process_settings(function->environment);
  if (!settings) return none("has wrong settings on this daemon: " + settings.error().message);
  if (settings->queue_table != order.queue)
    return none("processes queue '" + settings->queue_table + "' on this daemon, not '" + order.queue + "'");
  if (!is_work_of_machine(settings->runner) || place_of(settings->runner) != order.place) {
    return none("has another TASK_RUNNER on this daemon");
  }
  return make_runner(settings->runner, runtime.services(), order.trace_id);
}

std::unique_ptr<Route> make_run_route(RunHere& runs) {
  return make_api_route(ApiCall::kRun, [&runs](const HttpRequest& request) { return runs.answer(request.body); });
}

}  // namespace freshet
