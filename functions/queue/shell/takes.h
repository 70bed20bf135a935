// Claims tasks for processors and workers, lets takes wait for work, and wakes them. Loop thread.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class Takes : QueuePart {
 public:
  using QueuePart::QueuePart;

  Async<Result<std::vector<TakenTask>>> take(TakeInput input);
  // Work may have become available: the take that has waited longest looks for it.
  void wake();
  void wake_all();
  bool anyone_waits() const { return !waiters_.empty(); }

 private:
  class Waiter;     // A take that waits for work.
  class Claiming;   // Marks claims as in flight during its lifetime.
  struct Handover;  // Claims whose taker has not got its tasks yet.

  Async<Result<std::vector<TakenTask>>> claim_newest(TakeInput input);
  void took(TakeOutcome outcome, const std::vector<TakenTask>& taken, size_t begun);
  Async<Result<std::vector<TakenTask>>> carry_claims(Async<Result<std::vector<TakenTask>>> claims);
  Async<void> finish_handover(Async<Result<std::vector<TakenTask>>> claims, std::shared_ptr<Handover> handover);
  void give_back(Result<std::vector<TakenTask>> taken);
  Async<void> give_back_late(std::vector<TakeOutcome::TaskAndLease> late);
  Async<std::vector<TakeOutcome::TaskAndLease>> give_back_once(std::vector<TakeOutcome::TaskAndLease> claims);
  Async<void> give_back_unsure(std::vector<TakeOutcome::TaskAndLease> unsure);
  void wake_soon();

  std::list<Waiter*> waiters_;
  Waiter* rate_watcher_ = nullptr;  // The take that is woken when RATE_LIMIT allows the next start.
  uint64_t work_seen_ = 0;          // Rises whenever work may have become eligible.
};

}  // namespace freshet
