#include "app/daemon/upkeep.h"

#include <algorithm>
#include <utility>

#include "app/daemon/notify.h"
#include "base/allocation.h"

namespace freshet {

namespace {

constexpr uint64_t kMuchMemory = 1u << 20;
constexpr seconds kMemoryEvery{10};

Async<void> set_when_durable(Tables& store, Promise<bool> done) {
  const auto durable = co_await store.durable();
  done.set(durable.has_value());
}

Async<void> set_when_over(Async<void> work, Promise<bool> over) {
  co_await work;
  over.set(true);
}

}  // namespace

void Upkeep::begin(const EmbeddedTables& store) {
  store_ = &store;
  if (const auto interval = watchdog_interval()) keep_watchdog(*interval);
  give_back_memory();
}

// After large deletions, the cache of the loop's thread holds pages that nobody uses.
void Upkeep::give_back_memory() {
  const uint64_t now = store_->stats().memory_bytes;
  if (now + kMuchMemory < most_memory_) {
    return_thread_cache();
    most_memory_ = now;
  }
  most_memory_ = std::max(most_memory_, now);
  loop_.call_after(kMemoryEvery, [this] { give_back_memory(); });
}

void Upkeep::keep_watchdog(milliseconds interval) {
  notify_service_manager("WATCHDOG=1");
  loop_.call_after(interval, [this, interval] { keep_watchdog(interval); });
}

BootTime later_of(BootTime deadline, milliseconds least, const Scheduler& scheduler) {
  return std::max(deadline, scheduler.clock().boot() + least);
}

Async<bool> over_by(BootTime end, Async<void> work, Scheduler& scheduler, Scope& scope) {
  Promise<bool> over(scheduler);
  scope.spawn(set_when_over(std::move(work), over));
  if (!over.is_set()) scheduler.call_at(end, [over] { over.set(false); });
  const bool is_over = co_await over.future();
  co_return is_over;
}

Async<bool> durable_within(Tables& store, Scheduler& scheduler, Scope& scope, milliseconds limit) {
  Promise<bool> done(scheduler);
  scope.spawn(set_when_durable(store, done));
  scheduler.call_after(limit, [done] { done.set(false); });
  const bool durable = co_await done.future();
  co_return durable;
}

}  // namespace freshet
