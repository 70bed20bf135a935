#include "app/daemon/queue_history.h"

#include <chrono>

namespace freshet {

QueueHistory::~QueueHistory() {
  scheduler_.cancel(timer_);
}

void QueueHistory::begin() {
  tick();
}

// At whole seconds, so that a second has one reading even if a turn is late.
void QueueHistory::arm() {
  const auto next = std::chrono::floor<seconds>(scheduler_.clock().boot().time_since_epoch()) + seconds(1);
  timer_ = scheduler_.call_at(BootTime(next), [this] { tick(); });
}

void QueueHistory::tick() {
  arm();
  if (recorder_ != nullptr) recorder_->tick();
  if (reading_) return;
  reading_ = true;
  work_.spawn(read_all());
}

Async<void> QueueHistory::read_all() {
  for (const std::string& name : book_.choose(queues_.names())) {
    const auto queue = queues_.find(name);
    if (queue == nullptr) continue;
    const auto reading = co_await queue->reading();
    if (!reading) continue;
    book_.add(name, *reading, scheduler_.clock().boot());
    if (recorder_ != nullptr) recorder_->read(name, *reading);
  }
  reading_ = false;
}

}  // namespace freshet
