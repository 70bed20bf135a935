#include "tests/sim/sim_scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace freshet {

void SimScheduler::post(Work work) {
  posted_.push_back(std::move(work));
}

TimerId SimScheduler::call_at(BootTime when, Work work) {
  const TimerId id = ++last_timer_;
  timers_.emplace(std::pair(when, id), std::move(work));
  deadlines_.emplace(id, when);
  return id;
}

void SimScheduler::cancel(TimerId id) {
  auto deadline = deadlines_.find(id);
  if (deadline == deadlines_.end()) return;
  // Destroyed last: what the work holds may call back into the scheduler.
  auto dropped = timers_.extract({deadline->second, id});
  deadlines_.erase(deadline);
}

void SimScheduler::remove(TurnParticipant& participant) {
  participants_.erase(std::remove(participants_.begin(), participants_.end(), &participant), participants_.end());
}

void SimScheduler::turn() {
  for (size_t i = 0; i < participants_.size(); ++i) participants_[i]->run_due();
  // Only what is there when the turn reaches it; what that adds comes in the next turn. A timer may cancel another.
  const TimerId newest = last_timer_;
  const BootTime now = clock_.boot();
  for (auto due = timers_.begin(); due != timers_.end() && due->first.first <= now;) {
    if (due->first.second > newest) {
      ++due;
      continue;
    }
    deadlines_.erase(due->first.second);
    const auto position = due->first;
    auto timer = timers_.extract(due);
    timer.mapped()();
    due = timers_.upper_bound(position);
  }
  for (size_t n = posted_.size(); n > 0; --n) {
    Work work = std::move(posted_.front());
    posted_.pop_front();
    work();
  }
  for (size_t i = 0; i < participants_.size(); ++i) participants_[i]->commit();
}

BootTime SimScheduler::next_deadline() const {
  BootTime next = timers_.empty() ? BootTime::max() : timers_.begin()->first.first;
  for (const TurnParticipant* participant : participants_) next = std::min(next, participant->next_due());
  return next;
}

bool SimScheduler::ready() const {
  return !posted_.empty() || next_deadline() <= clock_.boot();
}

void SimScheduler::run_ready() {
  constexpr int kTooMany = 10'000'000;
  int turns = 0;
  do {
    turn();
    FRESHET_CHECK(++turns < kTooMany, "work keeps posting itself: the simulated loop never comes to rest");
  } while (ready());
}

bool SimScheduler::run_until_idle(nanoseconds limit) {
  const BootTime end = clock_.boot() + limit;
  run_ready();
  for (BootTime next = next_deadline(); next != BootTime::max(); next = next_deadline()) {
    if (next > end) return false;
    clock_.advance_to(next);
    run_ready();
  }
  return true;
}

void SimScheduler::advance(nanoseconds d) {
  const BootTime end = clock_.boot() + d;
  run_until_idle(d);
  if (clock_.boot() < end) {
    clock_.advance_to(end);
    run_ready();
  }
}

}  // namespace freshet
