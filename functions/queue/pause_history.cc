#include "functions/queue/pause_history.h"

namespace freshet {
namespace {

template <class Parts>
bool apply_pause(Parts& parts, const PauseChange& change) {
  if (change.paused) return parts.try_emplace({change.of, change.name}, change).second;
  return parts.erase({change.of, change.name}) > 0;
}

}  // namespace

void PauseHistory::begin(BootTime now, const std::vector<Pause>& pauses) {
  complete_from_ = now;
  for (const Pause& pause : pauses) now_[{pause.of, pause.name}] = {pause.since, true, pause.of, pause.name, now};
  first_ = now_;
}

void PauseHistory::add(PauseChange change) {
  if (!apply_pause(now_, change)) return;
  kept_.push_back(std::move(change));
  if (kept_.size() <= kMost) return;
  apply_pause(first_, kept_.front());
  complete_from_ = kept_.front().boot;
  kept_.pop_front();
}

PauseChanges PauseHistory::changes() const {
  PauseChanges out;
  for (const auto& [part, change] : first_) out.first.push_back(change);
  out.changes.assign(kept_.begin(), kept_.end());
  out.complete_from = complete_from_;
  return out;
}

}  // namespace freshet
