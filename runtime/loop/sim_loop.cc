#include "runtime/loop/sim_loop.h"

#include "base/check.h"

namespace freshet {

void SimLoop::run_ready() {
  constexpr int kTooMany = 10'000'000;
  int turns = 0;
  do {
    if (restless_) return;
    loop_.turn();
    FRESHET_CHECK(++turns < kTooMany, "work keeps posting itself: the simulated loop never comes to rest");
    restless_ = most_turns_ > 0 && turns >= most_turns_ && loop_.ready();
  } while (loop_.ready());
}

bool SimLoop::jump(BootTime end) {
  const BootTime next = loop_.next_deadline();
  if (next == BootTime::max() || next > end) return false;
  waiter_.wait_until(next);
  return true;
}

bool SimLoop::run_until_idle(nanoseconds limit) {
  const BootTime end = clock_.boot() + limit;
  run_ready();
  while (!restless_ && jump(end)) run_ready();
  return !restless_ && loop_.next_deadline() == BootTime::max();
}

void SimLoop::run_for(nanoseconds d) {
  const BootTime end = clock_.boot() + d;
  run_until_idle(d);
  if (!restless_ && clock_.boot() < end) {
    clock_.advance_to(end);
    run_ready();
  }
}

}  // namespace freshet
