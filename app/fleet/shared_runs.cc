#include "app/fleet/shared_runs.h"

#include "base/points.h"

namespace freshet {

namespace {

// How long a daemon is not asked that cannot be reached or stops, that does not run tasks of the queue, that has no
// room.
constexpr seconds kAvoided{5};
constexpr seconds kAvoidedAsRefusing{60};
constexpr seconds kAvoidedAsFull{1};
constexpr seconds kReached{5};       // A daemon that has not answered for this time is tried before it gets a task.
constexpr seconds kLogged{60};       // A daemon that is not asked is logged again after this time.
constexpr seconds kForTheAnswer{5};  // How long an answer may take after the runner's own timeout.
constexpr size_t kMostElsewhere = 2'000;

enum class Answer {
  kResult,
  kFull,     // The member has no room for the task, or could not start it. It has not begun.
  kAway,     // The member cannot be reached, or stops. It has not begun.
  kRefused,  // The member does not run tasks of this queue. It has not begun.
  kUnfit,    // No member would accept the order. It has not begun.
  kLost,     // The task may be in work there.
};

// `why` is set unless there is a result.
Answer answer_in(const Result<HttpResponse>& answer, RunResult& result, std::string& why) {
  if (!answer) {
    why = answer.error().message;
    return was_never_sent(answer.error()) ? Answer::kAway : Answer::kLost;
  }
  if (answer->status != 200) {
    why = "status " + std::to_string(answer->status) + " " + answer->body.substr(0, 200);
    if (answer->status == 400 || answer->status == 413) return Answer::kUnfit;
    if (answer->status == 503) return Answer::kAway;
    return answer->status > 400 && answer->status < 500 ? Answer::kRefused : Answer::kLost;
  }
  auto read = parse_run_result(answer->body);
  if (!read) {
    why = read.error().message;
    return Answer::kLost;
  }
  result = std::move(*read);
  if (result.begun) return Answer::kResult;
  why = result.error.empty() ? result.reason : result.error;
  return Answer::kFull;
}

RunResult lost(const std::string& member, const std::string& why) {
  RunResult out;
  out.kind = RunResult::Kind::kFailure;
  out.error = "the task was sent to daemon '" + member + "', which gave no answer: " + why;
  out.answered = false;
  return out;
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
  const Key key_;
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

const MemberBeat* SharedRuns::choose(const std::string& queue, const std::set<std::string>& tried) const {
  const FleetCore* fleet = units_.core();
  if (!fleet || fleet->membership() != Membership::kJoined) return nullptr;
  if (FRESHET_PLANTED("fleet-runs-stay-here")) return nullptr;
  if (this->running() - running_at(units_.id()) >= kMostElsewhere) return nullptr;
  const auto running = [&](const std::string& member) {
    const auto found = running_.find({queue, member});
    return found == running_.end() ? 0 : found->second;
  };
  const MemberBeat* best = nullptr;
  size_t least = running(units_.id());
  for (const auto& [id, member] : fleet->view().members) {
    if (id == units_.id() || !fleet->is_alive(id) || member.leaving || tried.contains(id)) continue;
    const auto avoided = avoided_.find({queue, id});
    if ((avoided != avoided_.end() && now() < avoided->second) || running(id) >= least) continue;
    best = &member;
    least = running(id);
  }
  return best;
}

Async<RunResult> SharedRuns::run(RunOrder order, milliseconds timeout, Runner& here) {
  order.owner = units_.id();
  std::set<std::string> tried;
  bool stays = false;
  while (const MemberBeat* there = stays ? nullptr : choose(order.queue, tried)) {
    order.epoch = units_.core()->me().epoch;
    std::string member = there->id;
    std::string url = there->url;
    tried.insert(member);
    RunOrder sent = order;
    auto running = run_at(std::move(member), std::move(url), std::move(sent), timeout, stays);
    auto result = co_await running;
    if (result) co_return std::move(*result);
  }
  const Running counted(*this, order.queue, units_.id());
  co_return co_await here.run(std::move(order.task), std::move(order.lease));
}

Async<std::optional<RunResult>> SharedRuns::run_at(std::string member, std::string url, RunOrder order,
                                                   milliseconds timeout, bool& stays) {
  const Key key{order.queue, member};
  const Running counted(*this, order.queue, member);
  auto reaching = is_reached(key, url, order.function);
  const bool reached = co_await reaching;
  if (!reached) co_return std::nullopt;
  const BootTime end = now() + timeout + kForTheAnswer;
  std::string body = run_order_json(order);
  auto answer = co_await calls_.run(std::move(body), url, units_.id(), timeout + kForTheAnswer);
  if (answer) reached_[member] = now();
  RunResult result;
  std::string why;
  switch (answer_in(answer, result, why)) {
    case Answer::kResult:
      co_return result;
    case Answer::kUnfit:
      stays = true;
      co_return std::nullopt;
    case Answer::kFull:
      FRESHET_REACHED("a member of the fleet has no room for a task");
      avoid(key, kAvoidedAsFull, order.function, why);
      co_return std::nullopt;
    case Answer::kAway:
      avoid(key, kAvoided, order.function, why);
      co_return std::nullopt;
    case Answer::kRefused:
      FRESHET_REACHED("a member of the fleet does not run a task");
      avoid(key, kAvoidedAsRefusing, order.function, why);
      co_return std::nullopt;
    case Answer::kLost:
      break;
  }
  FRESHET_REACHED("a task's daemon is lost");
  avoid(key, kAvoided, order.function, why);
  co_await sleep_until(units_.scheduler(), end);
  co_return lost(member, why);
}

// A daemon to which no connection comes about would hold its task for the whole timeout. So it is tried first, with a
// request that ends soon, unless it has answered lately.
Async<bool> SharedRuns::is_reached(Key key, std::string url, std::string function) {
  const auto found = reached_.find(key.second);
  if (found != reached_.end() && now() - found->second < kReached) co_return true;
  const auto answer = co_await calls_.nudge(url);
  if (answer) {
    std::erase_if(reached_, [this](const auto& one) { return now() - one.second >= kReached; });
    reached_[key.second] = now();
    co_return true;
  }
  FRESHET_REACHED("a member of the fleet is not reached for a task");
  avoid(key, kAvoided, function, answer.error().message);
  co_return false;
}

void SharedRuns::avoid(const Key& key, nanoseconds time, const std::string& function, const std::string& why) {
  const BootTime today = now();
  std::erase_if(avoided_, [today](const auto& one) { return one.second <= today; });
  std::erase_if(logged_, [today](const auto& one) { return one.second + kLogged <= today; });
  avoided_[key] = today + time;
  if (!logged_.emplace(key, today).second) return;
  log_.warn("FLEET_RUN_REFUSED",
            {{"queue", key.first}, {"member", key.second}, {"function", function}, {"message", why}});
}

}  // namespace freshet
