#include "functions/runners/fake_runner.h"

namespace freshet {

Async<RunResult> FakeRunner::run(ItemRef /*task*/, std::string /*lease*/) {
  RunResult out;
  if (busy_ >= slots_) {
    out.kind = RunResult::Kind::kBounced;
    out.reason = "no slot is free";
    out.refusal = DownstreamRefusal::kNoSlot;
    out.delay = bounce_delay_;
    co_return out;
  }
  struct Slot {
    int& busy;
    explicit Slot(int& counter) : busy(counter) { ++busy; }
    ~Slot() { --busy; }
  };
  Slot slot(busy_);
  co_await sleep_for(scheduler_, duration_);
  out.result = Value(Map{{"fake", Value::boolean(true)}});
  co_return out;
}

}  // namespace freshet
