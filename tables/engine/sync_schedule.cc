#include "tables/engine/sync_schedule.h"

#include <algorithm>

namespace freshet {
namespace {

constexpr milliseconds kRest{5};  // How long unhurried writes are left unsynced.
// A disk that stalls often does so several times within seconds (a virtual disk had several stalls of 55 to 400 ms
// within 15 s). After a commit that took this long, syncs run beside the loop, so that the next stall does not stop it:
// for 500 times as long (5 s after 10 ms), but for a minute at most.
constexpr milliseconds kStall{10};
constexpr int kStalling = 500;
constexpr seconds kLongestStalling{60};

}  // namespace

void SyncSchedule::appended(uint64_t sequence, BootTime at, Streams streams, bool hurried) {
  // With other modes than `sync`, a turn has no sync of its own that could be delayed.
  const bool at_once = hurried || !waiters_.empty() || options_.durability.mode != DurabilityMode::kSync;
  if (at_once) wanted_ = sequence;
  unreleased_.push_back({sequence, at, std::move(streams), std::move(waiters_), at_once});
  waiters_.clear();
}

BootTime SyncSchedule::rest_due() const {
  if (unreleased_.empty() || unreleased_.back().sequence <= wanted_) return BootTime::max();
  const auto first = std::partition_point(unreleased_.begin(), unreleased_.end(),
                                          [this](const Release& one) { return one.sequence <= wanted_; });
  return first->appended_at + kRest;
}

Waiting SyncSchedule::waiting(BootTime now) const {
  if (now < beside_until_) return Waiting::kBusy;
  return in_bulk_ ? Waiting::kFew : Waiting::kMany;
}

void SyncSchedule::release_first(Catalog& catalog) {
  Release release = std::move(unreleased_.front());
  unreleased_.pop_front();
  if (release.hurried) count_commit(release.appended_at);
  for (const auto& [number, sequence] : release.streams) {
    if (ChangeStream* stream = catalog.stream_of(number, sequence - 1)) stream->release_before(sequence);
  }
  for (const auto& waiter : release.waiters) waiter.set({});
}

void SyncSchedule::count_commit(BootTime appended_at) {
  const BootTime now = scheduler_.clock().boot();
  const nanoseconds took = now - appended_at;
  commits_.add(took);
  if (took < kStall || options_.durability.mode != DurabilityMode::kSync) return;
  beside_until_ = std::max(beside_until_, now + std::min<nanoseconds>(kStalling * took, kLongestStalling));
}

void SyncSchedule::fail_all(const Error& error) {
  for (auto& release : unreleased_) {
    for (const auto& waiter : release.waiters) waiter.set(fail(error));
  }
  for (const auto& waiter : waiters_) waiter.set(fail(error));
  unreleased_.clear();
  waiters_.clear();
  end_lulls(true);
}

Async<Result<void>> SyncSchedule::durable(bool pending) {
  Promise<Result<void>> promise(scheduler_);
  if (pending) {
    waiters_.push_back(promise);
  } else {
    wanted_ = std::max(wanted_, unreleased_.back().sequence);
    unreleased_.back().waiters.push_back(promise);
  }
  auto result = co_await promise.future();
  co_return result;
}

Async<void> SyncSchedule::lull(BootTime latest) {
  struct Timer {
    Scheduler& scheduler;
    TimerId id;
    ~Timer() { scheduler.cancel(id); }
  };
  Promise<bool> now(scheduler_);
  lulls_.push_back(now);
  Timer timer{scheduler_, scheduler_.call_at(latest, [now] { now.set(true); })};
  co_await now.future();
}

void SyncSchedule::end_some_lulls(bool now) {
  if (now) {
    for (const auto& lull : lulls_) lull.set(true);
  }
  std::erase_if(lulls_, [](const auto& lull) { return lull.is_set(); });
}

}  // namespace freshet
