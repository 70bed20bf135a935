#include "app/fleet/shared_runs.h"

#include "base/points.h"

namespace freshet {

namespace {

constexpr seconds kAvoided{5};
constexpr seconds kForTheAnswer{5};  // How long an answer may take after the runner's own timeout.

RunResult lost(const std::string& member, const std::string& why) {
  RunResult out;
  out.kind = RunResult::Kind::kFailure;
  out.error = "daemon " + member + " of the fleet, where it ran, gave no answer: " + why;
  out.answered = false;
  return out;
}

// The member has looked at the request, and not begun.
bool is_refused(const HttpResponse& answer) {
  return (answer.status >= 400 && answer.status < 500) || answer.status == 503;
}

}  // namespace

// A task that runs somewhere.
class SharedRuns::Running {
 public:
  Running(SharedRuns& all, std::string queue, std::string member)
      : all_(all), key_(std::move(queue), std::move(member)) {
    ++all_.running_[key_];
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (--all_.running_[key_] == 0) all_.running_.erase(key_);
  }

 private:
  SharedRuns& all_;
  const std::pair<std::string, std::string> key_;
};

size_t SharedRuns::running() const {
  size_t out = 0;
  for (const auto& [key, count] : running_) out += count;
  return out;
}

size_t SharedRuns::running_at(const std::string& member) const {
  size_t out = 0;
  for (const auto& [key, count] : running_) out += key.second == member ? count : 0;
  return out;
}

const MemberBeat* SharedRuns::choose(const std::string& queue) const {
  const FleetCore* fleet = units_.core();
  if (!fleet || fleet->membership() != Membership::kJoined) return nullptr;
  const auto running = [&](const std::string& member) {
    const auto found = running_.find({queue, member});
    return found == running_.end() ? 0 : found->second;
  };
  const MemberBeat* best = nullptr;
  size_t least = running(units_.id());
  for (const auto& [id, member] : fleet->view().members) {
    if (id == units_.id() || !fleet->is_alive(id) || member.leaving || member.url.empty()) continue;
    const auto avoided = avoided_.find(id);
    if ((avoided != avoided_.end() && now() < avoided->second) || running(id) >= least) continue;
    best = &member;
    least = running(id);
  }
  return best;
}

Async<RunResult> SharedRuns::run(RunOrder order, milliseconds timeout, Runner& here) {
  order.owner = units_.id();
  while (const MemberBeat* there = choose(order.queue)) {
    std::string member = there->id;
    std::string url = there->url;
    RunOrder sent = order;
    auto running = run_at(std::move(member), std::move(url), std::move(sent), timeout);
    auto result = co_await running;
    if (result) co_return std::move(*result);
  }
  const Running counted(*this, order.queue, units_.id());
  co_return co_await here.run(std::move(order.task), std::move(order.lease));
}

// Empty: it has not begun there.
Async<std::optional<RunResult>> SharedRuns::run_at(std::string member, std::string url, RunOrder order,
                                                   milliseconds timeout) {
  const Running counted(*this, order.queue, member);
  const BootTime end = now() + timeout;
  std::string body = run_order_json(order);
  auto answer = co_await calls_.run(std::move(body), url, units_.id(), timeout + kForTheAnswer);
  Error why;
  if (answer && answer->status == 200) {
    auto result = parse_run_result(answer->body);
    if (result) co_return std::move(*result);
    why = std::move(result.error());
  } else if (answer ? is_refused(*answer) : was_never_sent(answer.error())) {
    FRESHET_REACHED("a member of the fleet does not run a task");
    avoided_[member] = now() + kAvoided;
    co_return std::nullopt;
  } else {
    why = answer ? Error{ErrorCode::kInternal, "status " + std::to_string(answer->status), nullptr} : answer.error();
  }
  FRESHET_REACHED("a task's daemon is lost");
  avoided_[member] = now() + kAvoided;
  co_await sleep_until(units_.scheduler(), end);
  co_return lost(member, why.message);
}

}  // namespace freshet
