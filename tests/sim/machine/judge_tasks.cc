#include "tests/sim/machine/judge_tasks.h"

#include <algorithm>
#include <utility>

namespace freshet::sim {

namespace {

std::string ms(BootTime time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count()) + " ms";
}

constexpr milliseconds kShortestLease{500};
constexpr seconds kToRunner{2};               // The way of a task to its runner, without a pause of the machine.
constexpr seconds kTravel{150};               // The way of a task to its runner, a pause of the machine included.
constexpr milliseconds kSmallStep{1'000};     // Delays follow a step of the wall clock that is no larger.
constexpr milliseconds kLongestRetry{8'000};  // BACKOFF_MAX_MS of every deployment; workers ask for less.
constexpr size_t kLately = 40;
constexpr milliseconds kRateWindow{5'000};
constexpr std::chrono::hours kFar{24 * 365};

// The states of an arrow "A->B"; "" is outside.
std::pair<std::string, std::string> ends_of(const std::string& arrow) {
  const size_t at = arrow.find("->");
  return {arrow.substr(0, at), arrow.substr(at + 2)};
}

}  // namespace

void TasksJudge::touch(Task& task, BootTime by) {
  if (std::exchange(task.touched, true)) return;
  task.touched_by = by;
  if (!task.acknowledged) return;
  const auto found = surely_pending_.find(task.created.answered);
  if (found == surely_pending_.end()) return;
  found->second.erase(task.facts.id);
  if (found->second.empty()) surely_pending_.erase(found);
}

void TasksJudge::begin_create(const NewTask& task) {
  tasks_[task.id].facts = task;
  if (!task.replaces) return;
  // Should no answer come, it may have replaced them all the same.
  OfKey& others = of_key_[task.key];
  for (; others.touched < others.all.size(); ++others.touched) touch(*others.all[others.touched], BootTime{});
}

void TasksJudge::created(const std::string& id, const Span& span) {
  Task& task = tasks_[id];
  if (std::exchange(task.acknowledged, true)) return;
  task.created = span;
  acknowledged_.insert(id);
  created_lately_.push_back(id);
  if (created_lately_.size() > kLately) created_lately_.pop_front();
  task.earliest_deadline = task.facts.deadline;
  if (task.facts.deadline_in) {
    task.facts.deadline = wall_.latest_counted(span.answered) + *task.facts.deadline_in;  // At the latest.
    task.earliest_deadline = span.wall_sent + *task.facts.deadline_in;
    // Once the task is removed, a repeated request creates it anew, with a later deadline.
    if (task.facts.has_ttl || removals_) task.facts.deadline = span.wall_answered + kFar;
    // Set meanwhile, the clock may have shown anything when the daemon looked at it.
    if (last_disturbance_ > BootTime{} && last_disturbance_ >= span.sent) {
      task.facts.deadline = span.wall_answered + kFar;
      task.earliest_deadline = span.wall_sent - kFar;
    }
  }
  if (task.facts.delay.count() > 0) task.not_before = span.sent + task.facts.delay;
  const NewTask& facts = task.facts;
  const bool plain = !task.touched && !facts.delayed && !facts.has_ttl && !facts.deadline && !facts.ranked;
  if (plain && facts.key.empty()) surely_pending_[span.answered].insert(id);
  if (!facts.key.empty()) judge_new_of_key(task, span);
}

void TasksJudge::judge_new_of_key(Task& task, const Span& span) {
  auto& all = of_key_[task.facts.key].all;
  if (!all.empty() && !redrives_ && !task.facts.replaces) {
    const Task& before = *all.back();
    verdict_.expect(!surely_lives(before), "two tasks of one key live at once",
                    [&] { return before.facts.id + " and " + task.facts.id + " of " + task.facts.key; });
  }
  for (Task* old : all) {
    if (!task.facts.replaces) break;
    if (old->ended) continue;
    old->replaced_by = &task;
    old->replaced = span.answered;
  }
  all.push_back(&task);
}

// Tasks that must not be started in any state.
void TasksJudge::check_start(const Task& task, const Span& span) {
  const std::string& id = task.facts.id;
  const BootTime delayed = task.not_before - task.facts.delay;
  const bool nudged = nudged_ >= delayed;
  // A delay is stored as a wall time, and ends earlier where that clock goes faster (docs/lifecycle.md).
  const milliseconds early = (nudged ? kSmallStep : milliseconds(2)) + wall_.ran_ahead(delayed, span.answered);
  verdict_.expect(redrives_ || runs_ || task.not_before <= span.answered + early || life_began_ >= delayed,
                  "a task is started before its delay is over",
                  [&] { return id + ", which waits until " + ms(task.not_before); });
  const bool may_be_anew = redrives_ || ttl_is_over(task, span) || keep_is_over(task, span);
  verdict_.expect(may_be_anew || !task.cancelled || span.sent <= *task.cancelled, "a cancelled task is started", id);
  if (redrives_ || removals_ || task.replaced_by == nullptr || span.sent <= task.replaced) return;
  // A store that was full may have refused to end the older one. A restart forgets that it was to end.
  if (store_fills_up_ && task.replaced < life_began_) return;
  // Should the newer one go before it could start, the older one has its turn again.
  const Task& newer = *task.replaced_by;
  const bool stays = !newer.facts.deadline && !newer.facts.has_ttl && !newer.touched_by_cancel;
  verdict_.expect(!stays, "a replaced task is started", id + ", which " + newer.facts.id + " has replaced");
}

// A settlement says what the next attempt is. Takes without an answer may have come in between.
void TasksJudge::check_attempt(Task& task, int attempt, const Span& span) {
  verdict_.expect(redrives_ || attempt <= most_attempts_, "a task has more attempts than it may",
                  [&] { return task.facts.id + ", attempt " + std::to_string(attempt); });
  const auto next = std::exchange(task.next_attempt, std::nullopt);
  if (redrives_ || !next) return;
  const auto wrong = [&] {
    return task.facts.id + ", attempt " + std::to_string(attempt) + " instead of " + std::to_string(*next);
  };
  verdict_.expect(attempt >= *next, "an attempt is not counted", wrong);
  bool others = unsure_until_ >= task.settled;
  for (const auto& [take, sent] : takes_) others = others || sent < span.answered - kShortestLease;
  verdict_.expect(others || attempt == *next, "an attempt is counted twice", wrong);
}

// Those that were certainly taken within some seconds.
void TasksJudge::check_rate(const Span& span) {
  if (rate_ <= 0) return;
  rated_.push_back(span);
  const BootTime from = span.answered - kRateWindow;
  std::erase_if(rated_, [&](const Span& one) { return one.sent < from || one.sent < life_began_; });
  // A burst of 20 ms at the least of one, and one that was due at the window's beginning.
  const double most = rate_ * std::chrono::duration<double>(kRateWindow).count() + rate_ / 50 + 3;
  verdict_.expect(static_cast<double>(rated_.size()) <= most, "more is started than RATE_LIMIT allows",
                  [&] { return std::to_string(rated_.size()) + " in 5 s at " + std::to_string(rate_) + " a second"; });
}

bool TasksJudge::surely_lives(const Task& task) const {
  return task.acknowledged && !task.touched && !task.facts.has_ttl && !task.facts.deadline &&
         unsure_until_ < task.created.sent;
}

void TasksJudge::kept_for_key(const std::string& id, const std::string& other, const Span& span) {
  const auto found = tasks_.find(other);
  verdict_.expect(found != tasks_.end(), "a task appears that nobody created", other);
  if (found == tasks_.end()) return;
  const Task& task = found->second;
  verdict_.expect(!task.ended || task.known_ended >= span.sent, "a key is kept by a task that has ended",
                  other + " keeps out " + id);
}

void TasksJudge::create_refused(const std::string& id) {
  const Task& task = tasks_[id];
  verdict_.expect(!task.acknowledged && task.leases.empty(), "a refused task is there", id);
}

// It may have been removed then, and made anew by a repeated create.
bool TasksJudge::ttl_is_over(const Task& task, const Span& span) const {
  if (!task.facts.has_ttl) return false;
  const milliseconds ahead = wall_.ran_ahead(task.created.sent, span.answered);
  return last_disturbance_ >= task.created.sent ||
         span.answered + seconds(1) + ahead >= task.created.sent + task.facts.ttl;
}

// The same for a task that was cancelled, in a queue that removes such tasks.
bool TasksJudge::keep_is_over(const Task& task, const Span& span) const {
  if (!removals_ || !task.stopped) return false;
  const milliseconds ahead = wall_.ran_ahead(task.created.sent, span.answered);
  return !kept_ || last_disturbance_ >= task.created.sent ||
         span.answered + seconds(1) + ahead >= *task.stopped + *kept_;
}

bool TasksJudge::stays_cancelled(const Task& task, const Span& span) const {
  return task.stopped && span.sent > *task.stopped && !redrives_ && !removals_ && !ttl_is_over(task, span);
}

// A task that was surely PENDING all the while, and created after the taken one, would have been the newer choice.
void TasksJudge::check_order(const Task& task, const Span& span) {
  if (!in_order_ || !task.acknowledged || task.facts.delayed || task.facts.ranked || task.attempts > 1) return;
  if (last_disturbance_ >= task.created.sent || unsure_until_ >= span.sent) return;
  if (ttl_is_over(task, span)) return;
  Doubt doubt{task.facts.id, span, {}, {}};
  for (auto at = surely_pending_.upper_bound(task.created.answered); at != surely_pending_.end(); ++at) {
    if (at->first >= span.sent || doubt.newer.size() > 8) break;
    for (const std::string& id : at->second) {
      if (tasks_.at(id).created.sent > task.created.answered) doubt.newer.insert(id);
    }
  }
  if (doubt.newer.empty()) return verdict_.expect(true, "", "");
  for (const auto& [take, sent] : takes_) doubt.overlapping.insert(take);
  doubts_.push_back(std::move(doubt));
}

void TasksJudge::judge(const Doubt& doubt) {
  if (last_disturbance_ >= doubt.span.sent || unsure_until_ >= doubt.span.sent) return;
  for (const std::string& id : doubt.newer) {
    const Task& newer = tasks_.at(id);
    const bool was_taken = newer.touched && newer.touched_by < doubt.span.answered;
    verdict_.expect(was_taken, "a take does not give the newest task", [&] {
      return doubt.id + " was taken although " + id + " is newer and was waiting since " + ms(newer.created.answered);
    });
  }
}

uint64_t TasksJudge::begin_take(BootTime now) {
  takes_.emplace(++last_take_, now);
  return last_take_;
}

void TasksJudge::take_over(uint64_t take) {
  takes_.erase(take);
  std::vector<Doubt> open;
  for (Doubt& doubt : doubts_) {
    doubt.overlapping.erase(take);
    if (doubt.overlapping.empty()) {
      judge(doubt);
    } else {
      open.push_back(std::move(doubt));
    }
  }
  doubts_ = std::move(open);
}

void TasksJudge::taken(const TakenTask& taken, const Span& span) {
  const auto found = tasks_.find(taken.id);
  verdict_.expect(found != tasks_.end(), "a task appears that nobody created", taken.id);
  if (found == tasks_.end()) return;
  Task& task = found->second;
  verdict_.expect(!paused_since_ || span.sent < *paused_since_, "a paused queue gives out a task", taken.id);
  const bool is_anew = ttl_is_over(task, span) || keep_is_over(task, span) || (removals_ && task.ended);
  verdict_.expect(!task.ended || is_anew, "a task that is SUCCESS is handed out again", taken.id);
  if (is_anew) {
    task.ended = false;
    task.cancelled.reset();
    task.stopped.reset();
    task.next_attempt.reset();
    task.not_before = {};
  }
  const std::string giver = taken.lease.substr(0, taken.lease.rfind(':'));
  verdict_.expect(task.leases.insert(taken.lease).second, "a lease is handed out twice", taken.lease);
  verdict_.expect(task.lease.empty() || task.lease_giver != giver || span.answered >= task.lease_sure_until,
                  "two leases of one task are valid at once", [&] {
                    return taken.id + " is taken at " + ms(span.answered) + ", and the lease before holds until " +
                           ms(task.lease_sure_until);
                  });
  const auto& deadline = task.facts.deadline;
  verdict_.expect(redrives_ || !deadline || last_disturbance_ >= span.sent || span.wall_sent < *deadline,
                  "a task is started after its deadline", taken.id);
  check_start(task, span);
  check_attempt(task, taken.attempt, span);
  check_rate(span);
  task.attempts = std::max(task.attempts, taken.attempt);
  task.attempt = taken.attempt;
  if (!task.touched) check_order(task, span);
  touch(task, span.sent);
  task.lease = taken.lease;
  task.given = taken.lease;
  task.given_sent = span.sent;
  task.given_answered = span.answered;
  givers_[giver] = std::max(givers_[giver], span.answered);
  task.lease_giver = giver;
  task.lease_sure_until = span.sent + taken.lease_time;
  task.lease_time = taken.lease_time;
}

void TasksJudge::take_unknown(uint64_t take, const Span& span, milliseconds lease) {
  unsure_until_ = std::max(unsure_until_, span.answered + lease + seconds(5));
  take_over(take);
  // A task that may have been taken may come back later, and is not surely PENDING then: judge only later tasks.
  surely_pending_.clear();
}

void TasksJudge::event_lost(BootTime now) {
  unsure_until_ = std::max(unsure_until_, now);
  surely_pending_.clear();
}

void TasksJudge::begin_settle(const std::string& id, const std::string& lease, Outcome outcome) {
  Task& task = tasks_[id];
  // From now on it may be somebody else's.
  if (outcome != Outcome::kHeartbeat && task.lease == lease) task.lease.clear();
}

void TasksJudge::settled(const std::string& id, const std::string& lease, Outcome outcome, const std::string& status,
                         const Span& span, std::optional<milliseconds> delay) {
  Task& task = tasks_[id];
  verdict_.expect(task.leases.contains(lease), "a lease is accepted that was not handed out", id);
  verdict_.expect(!stays_cancelled(task, span), "a lease on a cancelled task is accepted", id + " is " + status);
  if (outcome == Outcome::kComplete) {
    verdict_.expect(status == "SUCCESS", "a completed task is not SUCCESS", id + " is " + status);
    verdict_.expect(!task.ended, "a task is completed twice", id);
    task.ended = true;
    task.known_ended = span.answered;
    task.ended_after = span.sent;
    task.ended_wall = span.wall_sent;
    ended_lately_.push_back(id);
    if (ended_lately_.size() > kLately) ended_lately_.pop_front();
  }
  if (outcome == Outcome::kHeartbeat) {
    verdict_.expect(status == "TAKEN", "a task with a heartbeat is not TAKEN", id + " is " + status);
    if (task.lease == lease) task.lease_sure_until = std::max(task.lease_sure_until, span.sent + task.lease_time);
  }
  if (outcome != Outcome::kFail && outcome != Outcome::kRelease) return;
  verdict_.expect(redrives_ || !task.cancelled || span.sent <= *task.cancelled || status == "CANCELLED",
                  "a cancelled task waits again", id + " is " + status);
  if (status != "PENDING" && status != "DELAYED") return;
  verdict_.expect(outcome != Outcome::kFail || redrives_ || task.attempt < most_attempts_,
                  "a task without attempts left waits again",
                  id + ", which has had " + std::to_string(task.attempt) + " attempts");
  // A take that was answered before this may have had the next attempt already.
  const bool taken_since = !task.lease.empty() && task.lease != lease;
  if (!taken_since) task.next_attempt = task.attempt + (outcome == Outcome::kFail ? 1 : 0);
  task.settled = span.sent;
  // PENDING: a daemon that stopped had given the task back before its holder did, and so without the delay.
  if (delay && status == "DELAYED") {
    task.not_before = span.sent + *delay;
    task.facts.delay = *delay;
  }
}

void TasksJudge::settle_unknown(const std::string& id) {
  tasks_[id].lease.clear();
}

void TasksJudge::settle_refused(const std::string& id, const std::string& lease, const Span& span) {
  const Task& task = tasks_[id];
  // A stop gives back what is held, and a daemon that starts ends what the one before gave.
  const bool holds = task.given == lease && task.given_sent > life_began_ && span.answered < task.lease_sure_until;
  verdict_.expect(!holds || task.facts.has_ttl, "a holder is refused within its lease",
                  id + ", whose lease holds until " + ms(task.lease_sure_until));
}

void TasksJudge::held(const std::string& id, const std::string& lease, const Span& span) const {
  const std::string giver = lease.substr(0, lease.rfind(':'));
  const auto last = givers_.find(giver);
  const bool is_dead = last != givers_.end() && last->second < life_began_ && span.sent > life_began_ + end_of_dead_;
  verdict_.expect(!is_dead, "a lease of a dead daemon holds", id + " is held under " + lease);
}

bool TasksJudge::is_of_this_daemon(const std::string& id, const std::string& lease, BootTime sent) const {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return false;
  const Task& task = found->second;
  return task.given == lease && task.given_sent > life_began_ && task.given_answered < sent;
}

void TasksJudge::begin_cancel(const std::string& id, BootTime now) {
  touch(tasks_[id], now);
  tasks_[id].touched_by_cancel = true;
}

void TasksJudge::cancelled(const std::string& id, const std::string& status, const Span& span) {
  verdict_.expect(status == "CANCELLED" || status == "TAKEN", "a cancelled task is in a wrong state",
                  id + " is " + status);
  Task& task = tasks_[id];
  task.cancelled = std::min(task.cancelled.value_or(span.answered), span.answered);
  if (status == "CANCELLED") task.stopped = std::min(task.stopped.value_or(span.answered), span.answered);
}

void TasksJudge::started_by_runner(const std::string& id, int attempt, WallTime now, BootTime boot) {
  const auto found = tasks_.find(id);
  verdict_.expect(found != tasks_.end(), "a task appears that nobody created", id);
  if (found == tasks_.end()) return;
  Task& task = found->second;
  task.attempts = std::max(task.attempts, attempt);
  touch(task, BootTime{});
  check_start(task, {boot - kTravel, boot, {}, {}});
  verdict_.expect(redrives_ || attempt <= most_attempts_, "a task has more attempts than it may", id);
  const auto& deadline = task.facts.deadline;
  const bool held_up = deadline && pause_began_ <= *deadline + kToRunner && now < pause_ended_ + kToRunner;
  verdict_.expect(redrives_ || !deadline || now < *deadline + kToRunner || held_up || last_disturbance_ > BootTime{},
                  "a task is started after its deadline", id);
}

void TasksJudge::clock_stepped(milliseconds by, BootTime now) {
  // A drift since the daemon looked last is seen together with it.
  const milliseconds small = kSmallStep + wall_.strayed(now - WallHistory::kLongestLook, now);
  if (by <= small && by >= -small) nudged_ = now;
}

bool TasksJudge::has_ended(const std::string& id) const {
  const auto found = tasks_.find(id);
  return found != tasks_.end() && found->second.ended;
}

bool TasksJudge::may_be_gone(const Task& task) const {
  if (task.facts.has_ttl) return true;
  const auto sure = surely_pending_.find(task.created.answered);
  return removals_ && (sure == surely_pending_.end() || !sure->second.contains(task.facts.id));
}

bool TasksJudge::is_too_early(const Task& task, milliseconds time, const Span& span) const {
  constexpr seconds kDoubtful{55};
  const bool judged = doubted_ && task.acknowledged && task.created.sent > disturbance_before_ &&
                      task.created.answered < last_disturbance_ && life_began_ < task.created.sent &&
                      span.answered < last_disturbance_ + kDoubtful;
  return judged &&
         span.answered - task.created.sent < time - seconds(1) - wall_.ran_ahead(task.created.sent, span.answered);
}

void TasksJudge::seen(const std::string& id, const std::optional<std::string>& status, bool had_ended,
                      const Span& span) {
  const Task& task = tasks_[id];
  if (!status) {
    verdict_.expect(!task.acknowledged || may_be_gone(task), "an acknowledged task is lost", id);
    verdict_.expect(removals_ || !task.facts.has_ttl || !is_too_early(task, task.facts.ttl, span),
                    "TTL goes by a clock that was set", id);
    const bool too_early = kept_ && had_ended && !task.facts.has_ttl && last_disturbance_ < task.ended_after &&
                           span.wall_answered < task.ended_wall + *kept_;
    verdict_.expect(!too_early, "an ended task is not kept as long as KEEP_MS says", id);
  } else {
    const bool may_change = !had_ended || removals_ || ttl_is_over(task, span);
    const auto is = [&] { return id + " is " + *status; };
    verdict_.expect(may_change || *status == "SUCCESS", "a task that was SUCCESS has changed", is);
    verdict_.expect(*status == "CANCELLED" || !stays_cancelled(task, span), "a task that was CANCELLED has changed",
                    is);
    // Delayed beyond its deadline, it can never start.
    const auto& deadline = task.facts.deadline;
    const milliseconds slack = seconds(1) + wall_.ran_ahead(task.created.sent, span.answered);
    const bool hopeless = deadline && task.created.wall_answered + task.facts.delay + slack >= *deadline;
    // A failure may delay it as far. Then the next create of its key sheds it.
    const bool retried = !task.facts.key.empty() && (task.attempts > 0 || task.touched);
    const bool fails_too_late =
        retried && task.earliest_deadline && span.wall_answered + kLongestRetry + slack >= *task.earliest_deadline;
    const bool may_be_shed = margins_ || (hopeless && task.facts.delayed) || fails_too_late || redrives_ ||
                             !task.acknowledged || task.facts.has_ttl || last_disturbance_ >= task.created.sent ||
                             (task.earliest_deadline && span.wall_answered >= *task.earliest_deadline);
    verdict_.expect(*status != "SHED" || may_be_shed, "a task is shed before its deadline", id);
    const auto& in = task.facts.deadline_in;
    const milliseconds retry = retried ? kLongestRetry : milliseconds(0);
    const bool early = !margins_ && !redrives_ && !task.facts.has_ttl && in && is_too_early(task, *in - retry, span);
    verdict_.expect(*status != "SHED" || !early, "a task is shed by a clock that was set", id);
  }
}

void TasksJudge::stats(const std::map<std::string, int64_t>& depth, const std::map<std::string, int64_t>& flow) {
  std::map<std::string, int64_t> balance;
  for (const auto& [arrow, count] : flow) {
    const auto [from, to] = ends_of(arrow);
    balance[from] -= count;
    balance[to] += count;
  }
  for (const auto& [state, count] : depth) {
    const int64_t came = balance[state];
    verdict_.expect(came == count, "the books do not balance", [&, what = state, there = count] {
      return what + ": " + std::to_string(came) + " came and did not go, " + std::to_string(there) + " are there";
    });
  }
}

bool TasksJudge::created_after(BootTime time) const {
  return std::any_of(acknowledged_.begin(), acknowledged_.end(),
                     [&](const std::string& id) { return tasks_.at(id).created.answered > time; });
}

void TasksJudge::at_rest(const std::map<std::string, std::string>& status_of_all, const Span& span) {
  for (const auto& [id, status] : status_of_all) {
    verdict_.expect(status != "PENDING" && status != "TAKEN" && status != "DELAYED", "a task is never done",
                    [&id = id, &status = status] { return id + " is still " + status; });
    seen(id, status, has_ended(id), span);
  }
  for (const std::string& id : acknowledged_) {
    if (!status_of_all.contains(id)) seen(id, std::nullopt, false, span);
  }
}

}  // namespace freshet::sim
