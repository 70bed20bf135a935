#include "functions/queue/policy_history.h"

#include <algorithm>
#include <utility>

namespace freshet {

void PolicyHistory::add(PolicyChange change) {
  kept_.push_back(std::move(change));
  if (kept_.size() <= kMost) return;
  kept_.pop_front();
  ++forgotten_;
}

PolicyChanges PolicyHistory::from(uint64_t number) const {
  PolicyChanges out;
  out.first = first_;
  out.next = forgotten_ + kept_.size();
  out.missing = forgotten_ - std::min(number, forgotten_);
  for (uint64_t at = std::max(number, forgotten_); at < out.next; ++at) out.changes.push_back(kept_[at - forgotten_]);
  return out;
}

}  // namespace freshet
