#include "functions/queue/core/agenda.h"

#include <utility>

namespace freshet {

bool Agenda::start_by(BootTime when) {
  if (when >= start_due_) return false;
  start_due_ = when;
  return true;
}

bool Agenda::take_start(BootTime now) {
  if (now < start_due_) return false;
  start_due_ = BootTime::max();
  return true;
}

bool Agenda::hurry(BootTime when, BootTime now) {
  if (!begun_) return false;
  if (!ticking_) return !armed_ || when < armed_for_;
  again_ = again_ || when <= now;
  return false;
}

bool Agenda::arm(BootTime when) {
  if (armed_ && when == armed_for_) return false;
  armed_ = true;
  armed_for_ = when;
  return true;
}

bool Agenda::may_search(BootTime now) {
  return now >= search_due_ && !std::exchange(searching_, true);
}

void Agenda::search_ended(BootTime began, BootTime now) {
  search_due_ = now + std::max<nanoseconds>(kSearchPause, kSearchShare * (now - began));
  searching_ = false;
}

}  // namespace freshet
