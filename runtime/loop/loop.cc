#include "runtime/loop/loop.h"

#include <algorithm>

#include "base/points.h"

namespace freshet {

namespace {
// Reading the clock costs as much as a short piece of work.
constexpr size_t kStepsPerLook = 32;
}  // namespace

Loop::Loop(const Clock& clock, Waiter& waiter, LoopOptions options)
    : clock_(clock), waiter_(waiter), options_(options), mail_(options.mailbox_bound) {}

Loop::~Loop() {
  mail_.close();
  // Objects that a work holds may cancel timers or post while they are destroyed.
  while (!timers_.empty() || !posted_.empty()) {
    absl::btree_map<TimerKey, Work> timers;
    std::deque<Work> posted;
    timers.swap(timers_);
    posted.swap(posted_);
    timer_times_.clear();
  }
}

void Loop::post(Work work) {
  posted_.push_back(std::move(work));
}

TimerId Loop::call_at(BootTime when, Work work) {
  const TimerId id = ++last_timer_;
  timers_.emplace(TimerKey(when, id), std::move(work));
  timer_times_.emplace(id, when);
  return id;
}

void Loop::cancel(TimerId id) {
  const auto time = timer_times_.find(id);
  if (time == timer_times_.end()) return;
  const auto timer = timers_.find(TimerKey(time->second, id));
  timer_times_.erase(time);
  // Destroyed last, because objects that the work holds may call the loop.
  Work dropped = std::move(timer->second);
  timers_.erase(timer);
}

bool Loop::deliver(Work work) {
  if (!mail_.push(std::move(work))) return false;
  if (sleeping_.load() && sleeping_.exchange(false)) waiter_.wake();
  return true;
}

void Loop::add(TurnParticipant& participant) {
  participants_.push_back(&participant);
}

void Loop::remove(TurnParticipant& participant) {
  participants_.erase(std::remove(participants_.begin(), participants_.end(), &participant), participants_.end());
}

void Loop::take_mail() {
  if (mail_.empty() || posted_.size() >= options_.max_steps) return;
  const size_t before = posted_.size();
  mail_.drain_into(posted_);
  stats_.mailbox_max = std::max(stats_.mailbox_max, posted_.size() - before);
}

void Loop::run_timers(BootTime now) {
  // Timers that a timer creates run in the next turn, so that one that is always due cannot block the turn.
  const TimerId newest = last_timer_;
  for (auto due = timers_.begin(); due != timers_.end() && due->first.first <= now;) {
    const TimerKey key = due->first;
    if (key.second > newest) {
      ++due;
      continue;
    }
    Work work = std::move(due->second);
    timers_.erase(due);
    timer_times_.erase(key.second);
    work();
    ++stats_.works;
    due = timers_.upper_bound(key);
  }
}

void Loop::run_posted(BootTime started) {
  for (size_t steps = 0; !posted_.empty() && steps < options_.max_steps; ++steps) {
    if (steps % kStepsPerLook == kStepsPerLook - 1 && clock_.boot() - started > options_.turn_budget) return;
    Work work = std::move(posted_.front());
    posted_.pop_front();
    work();
    ++stats_.works;
    if (FRESHET_OFTEN("a turn of the loop is used up")) return;
  }
}

void Loop::turn() {
  const BootTime started = clock_.boot();
  turn_began_.store(started.time_since_epoch().count(), std::memory_order_relaxed);
  begin("mailbox");
  take_mail();
  begin("due work");
  for (size_t i = 0; i < participants_.size(); ++i) participants_[i]->run_due();
  begin("timers");
  run_timers(started);
  begin("work");
  run_posted(started);
  const BootTime worked = clock_.boot();
  begin("commit");
  for (size_t i = 0; i < participants_.size(); ++i) participants_[i]->commit();
  ++stats_.turns;
  stats_.steps.add(worked - started);
  stats_.commits.add(clock_.boot() - worked);
  turn_began_.store(kNoTurn, std::memory_order_relaxed);
}

std::optional<BootTime> Loop::turn_began() const {
  const auto began = turn_began_.load(std::memory_order_relaxed);
  return began == kNoTurn ? std::nullopt : std::optional(BootTime(BootTime::duration(began)));
}

BootTime Loop::next_deadline() const {
  BootTime next = timers_.empty() ? BootTime::max() : timers_.begin()->first.first;
  for (const TurnParticipant* participant : participants_) next = std::min(next, participant->next_due());
  return next;
}

bool Loop::ready() const {
  return !posted_.empty() || !mail_.empty() || next_deadline() <= clock_.boot();
}

void Loop::run() {
  while (!stopped()) {
    turn();
    if (ready()) continue;
    sleeping_.store(true);
    // A sender that came before the flag was visible has left its work behind.
    if (mail_.empty() && !stopping_.load()) waiter_.wait_until(next_deadline());
    sleeping_.store(false);
  }
  waiter_.end();
}

void Loop::stop() {
  mail_.close();
  stopping_.store(true);
  if (sleeping_.exchange(false)) waiter_.wake();
}

}  // namespace freshet
