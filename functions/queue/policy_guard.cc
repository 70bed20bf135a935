#include "functions/queue/policy_guard.h"

#include <algorithm>

namespace freshet {

void PolicyGuard::begin(const PolicyGuardTerms& terms, QueueSettings before, double share_before,
                        const InTimeCounts& counts, BootTime now) {
  const BootTime first = now + std::min<nanoseconds>(kFirstLook, terms.within);
  aside_.reset();
  watched_.emplace(Watched{terms, std::move(before), share_before, counts, now, first});
}

PolicyGuard::Verdict PolicyGuard::look(const Punctuality& punctuality, BootTime now) {
  if (!watched_ || now < watched_->next_look) return Verdict::kWait;
  watched_->next_look = now + kBetweenLooks;
  const auto share_now = share(punctuality, now);
  if (share_now && (watched_->share_before - *share_now) * 100 > watched_->terms.points) return Verdict::kGoBack;
  if (now < until()) return Verdict::kWait;
  return share_now ? Verdict::kKeep : Verdict::kUnjudged;
}

std::optional<double> PolicyGuard::share(const Punctuality& punctuality, BootTime now) const {
  const InTimeCounts recent = punctuality.counts_after(watched_->since, now);
  if (recent.ended() >= kLeastEnded) return recent.share();
  const InTimeCounts all = punctuality.stats(now).since_start - watched_->counts;
  if (all.ended() >= kLeastEnded) return all.share();
  return std::nullopt;
}

}  // namespace freshet
