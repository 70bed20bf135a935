#include "wire/http/io_waiter.h"

#include <algorithm>
#include <utility>

namespace freshet {

void DriverRule::count(int change) {
  waited_ = std::clamp(waited_ + change, 0, kMost);
  if (waited_ == 0) loop_drives_ = true;
  if (waited_ == kMost) loop_drives_ = false;
}

IoWaiter::IoWaiter(const Clock& clock) : clock_(clock), plain_(clock) {}

void IoWaiter::attach(IoThread& io, Loop& loop) {
  io_ = &io;
  loop.add(*this);
}

void IoWaiter::wait_until(BootTime until) {
  if (io_ && io_->borrowed_here()) return wait_driving(until);
  if (!io_ || !rule_.loop_drives()) return plain_.wait_until(until);
  io_->lend();
  look();  // The thread's last turn may have delivered something.
}

bool IoWaiter::gave_back() {
  if (io_->turns_wanted_back()) rule_.found_heavy();
  if (rule_.loop_drives()) return false;
  io_->take_back();
  return true;
}

void IoWaiter::wait_driving(BootTime until) {
  if (gave_back()) return;
  // Responses are sent before the loop waits.
  const bool found_more = io_->has_posted() && look();
  if (undecided_) count_long(false);
  if (gave_back()) return;
  if (!found_more && !woken_.load()) {
    io_->turn(until);
    looked_ = true;
    gave_back();
  }
  woken_.store(false);  // The loop looks at its mail now.
}

void IoWaiter::wake() {
  if (io_ && io_->lent()) {
    woken_.store(true);
    if (!io_->borrowed_here()) io_->wake();  // From within a turn of the sockets it is awake.
  } else {
    plain_.wake();  // If the turns are lent a moment later, the loop looks at its mail before it sleeps.
  }
}

void IoWaiter::end() {
  if (io_ && io_->borrowed_here()) io_->take_back();
}

void IoWaiter::run_due() {
  if (io_->borrowed_here() && !std::exchange(looked_, false) && !gave_back()) {
    look();
    looked_ = false;
  }
  began_ = clock_.boot();
  ready_then_ = io_->ready_sockets();
}

void IoWaiter::commit() {
  const uint64_t ready = io_->ready_sockets();
  const uint64_t clients = ready - std::exchange(ready_before_, ready);
  if (clock_.boot() - began_ <= DriverRule::kShort) return rule_.count_short();
  const bool for_many = clients > 1 || ready > ready_then_;
  undecided_ = !for_many && io_->borrowed_here();
  if (!undecided_) count_long(for_many);
}

bool IoWaiter::look() {
  looked_ = true;
  const uint64_t before = io_->ready_sockets();
  io_->turn(BootTime{});
  const bool found = io_->ready_sockets() > before;
  if (undecided_ && found) count_long(true);
  return found;
}

void IoWaiter::count_long(bool for_many) {
  undecided_ = false;
  rule_.count_long(for_many);
}

}  // namespace freshet
