// Decides when batches of the log are synced, and resumes those that wait until their batch is durable. Committer does
// the syncs.
//
// A hurried batch is synced at the end of its turn. Others are low priority: they go with the next sync, within 5 ms.
//
// Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "tables/engine/catalog.h"
#include "tables/engine/embedded.h"
#include "tables/log/log.h"

namespace freshet {

class SyncSchedule {
 public:
  // Both outlive it.
  SyncSchedule(Scheduler& scheduler, const EmbeddedOptions& options) : scheduler_(scheduler), options_(options) {}
  SyncSchedule(const SyncSchedule&) = delete;
  SyncSchedule& operator=(const SyncSchedule&) = delete;

  // A table's number, and the sequence up to which its stream becomes readable.
  using Streams = std::vector<std::pair<uint32_t, uint64_t>>;
  // A batch was appended as `sequence`. `at`: when the append began.
  void appended(uint64_t sequence, BootTime at, Streams streams, bool hurried);
  // Requests that everything up to this sequence of the log is synced at once.
  void want(uint64_t sequence) { wanted_ = sequence; }
  // True if something that was to be synced at once is not durable yet.
  bool wants_more_than(uint64_t durable) const { return durable < wanted_; }
  uint64_t wanted() const { return wanted_; }
  // Requests a sync up to `last` if low-priority batches have waited long enough.
  void want_rest(BootTime now, uint64_t last) {
    if (!unreleased_.empty() && now >= rest_due()) wanted_ = last;
  }
  // When they will have waited long enough; max() if none waits.
  BootTime rest_due() const;

  // Tells that one request causes most of this turn's changes, so that few clients wait for them.
  void expect_bulk() { in_bulk_ = true; }
  // Tells a sync that begins now how many clients wait for it; kBusy, so that it runs beside the loop, until
  // `beside_until_`.
  Waiting waiting(BootTime now) const;
  void synced() { in_bulk_ = false; }

  // Everything up to this sequence is durable: resumes its waiters and lets streams show it.
  void release(uint64_t durable, Catalog& catalog) {
    while (!unreleased_.empty() && unreleased_.front().sequence <= durable) release_first(catalog);
  }
  // Nothing will become durable any more: fails all waiters.
  void fail_all(const Error& error);

  // True if nothing that was appended is waiting to be durable.
  bool empty() const { return unreleased_.empty(); }
  // Ends once all that was applied is durable, or with the error of fail_all(). `pending`: this turn's batch has
  // changes; without it, empty() must be false.
  Async<Result<void>> durable(bool pending);

  // See Tables::lull().
  Async<void> lull(BootTime latest);
  // Ends all lulls if `now` is true. Otherwise only forgets those whose time is over.
  void end_lulls(bool now) {
    if (!lulls_.empty()) end_some_lulls(now);
  }

  // The duration of commits, from the append until they were durable.
  const DurationCounts& commits() const { return commits_; }

 private:
  struct Release {
    uint64_t sequence;
    BootTime appended_at;
    Streams streams;
    std::vector<Promise<Result<void>>> waiters;
    bool hurried = false;  // It was to be synced at once.
  };
  void release_first(Catalog& catalog);
  void end_some_lulls(bool now);
  void count_commit(BootTime appended_at);

  Scheduler& scheduler_;
  const EmbeddedOptions& options_;
  std::vector<Promise<Result<void>>> waiters_;  // For the batch of this turn.
  std::deque<Release> unreleased_;              // Batches that are appended and not yet durable.
  uint64_t wanted_ = 0;
  std::vector<Promise<bool>> lulls_;
  BootTime beside_until_{};  // Until then, syncs run beside the loop if they can, however small they are.
  bool in_bulk_ = false;
  DurationCounts commits_;
};

}  // namespace freshet
